"""Evaluation guide: its example request can be read, its code runs, and the options of its commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from germane.cli import main
from support.code_blocks import Block, blocks, run
from support.source_tree import ROOT

GUIDE = (ROOT / "docs" / "evaluate.md").read_text("utf-8")


def test_its_code_runs_on_its_own_example_of_a_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code runs in an empty folder with the example request in a file."""
    (request,) = re.findall(r"^```json\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    (tmp_path / "requests.jsonl").write_text(request, "utf-8")
    monkeypatch.chdir(tmp_path)
    found = blocks(GUIDE)
    assert found
    run(Block(1, "\n".join(block.code for block in found)), "evaluate.md", {"__name__": "guide"})


def test_its_options_exist(capsys: pytest.CaptureFixture[str]) -> None:
    """Every option of a shown command is in the help."""
    assert main(["eval", "--help"]) == 0
    assert main(["--help"]) == 0
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    shown = re.findall(r"^\$ germane eval .*$", GUIDE, re.MULTILINE)
    assert shown
    assert {option for line in shown for option in re.findall(r"--[a-z-]+", line)} <= known
