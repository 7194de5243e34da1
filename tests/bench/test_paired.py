"""Two checkouts in turn: what is compared, and that both run."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.paired import compared, main

_HERE = Path(__file__).resolve().parents[2]


def test_the_ratio_is_of_each_pair() -> None:
    """The machine is half as quick in every second pair, and this checkout always a tenth quicker."""
    told = compared([(10.0, 9.0), (20.0, 18.0), (10.0, 9.0), (20.0, 18.0)])
    assert told.split() == ["15.00", "ms", "13.50", "ms", "0.900", "0.90", "to", "0.90"]


def test_both_checkouts_run(capsys: pytest.CaptureFixture[str]) -> None:
    main([str(_HERE), "--of", "20", "--rounds", "2", "--each", "2"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines[-2:]] == ["20, processor", "20, event loop"]
    assert all(float(line.split()[-4]) > 0 for line in lines[-2:])


def test_what_is_no_checkout_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="git worktree add"):
        main([str(tmp_path)])
