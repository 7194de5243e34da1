"""Soak: a long run that misses what is promised fails the whole, and stops none of the others."""

from __future__ import annotations

import pytest

from bench import __main__ as bench


def test_each_run_is_done_and_one_that_fails_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether it says so or ends with an error."""
    done = list[str]()

    def broken() -> int:
        raise RuntimeError("no store")

    def last() -> int:
        done.append("last")
        return 0

    runs = {"good": lambda: 0, "missed": lambda: 1, "broken": broken, "last": last}
    monkeypatch.setattr(bench, "_LONG", runs)
    assert bench._soak([]) == 1
    assert capsys.readouterr().out.endswith("soak: missed, broken failed\n")
    assert done == ["last"]
    assert bench._soak(["good", "last"]) == 0
    assert bench._soak(["nobody"]) == 2


def test_the_attacks_are_among_the_runs() -> None:
    """Each by its name, alone too."""
    attacks = {
        "erased",
        "ways-in",
        "linear",
        "neighbour",
        "pasted",
        "summaries",
        "port",
        "giant",
        "forgery",
        "kills",
        "memory_tool",
    }
    assert attacks <= set(bench._LONG)
