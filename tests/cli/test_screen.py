"""Progress on a screen that is no terminal, as in a log of a job."""

from __future__ import annotations

import pytest

from germane.cli.screen import told_progress


def test_progress_is_told_in_lines_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """The first step, the last one, and one every few seconds; on stderr, so that stdout stays the command's answer."""
    seconds = iter(range(1000))
    with told_progress("dividing", False, steady=lambda: float(next(seconds))) as told:
        for done in range(13):
            told(done, 12)
    shown = capsys.readouterr()
    assert shown.out == ""
    lines = shown.err.splitlines()
    assert lines[0] == "dividing: 0 of 12"
    assert lines[-1] == "dividing: 12 of 12"
    assert 3 <= len(lines) <= 6


def test_nothing_is_told_where_nothing_is_done_or_quiet_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    """A store of this version shows no progress, and --json none at all."""
    with told_progress("dividing", False):
        pass
    with told_progress("dividing", True) as told:
        told(0, 3)
    assert capsys.readouterr() == ("", "")
