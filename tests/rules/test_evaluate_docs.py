"""Evaluation docs: the examples of data in `docs/use/evaluate.md` load, the code runs, the shown options exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from germane.cli import main
from germane_eval import load
from support.code_blocks import Block, blocks, run
from support.source_tree import ROOT

GUIDE = (ROOT / "docs" / "use" / "evaluate.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```json\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
"""Everyday data, and a request."""


def test_its_code_runs_on_its_own_example_of_a_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request is the only line of a file in an empty folder."""
    _, request = EXAMPLES
    (tmp_path / "requests.jsonl").write_text(request, "utf-8")
    monkeypatch.chdir(tmp_path)
    found = blocks(GUIDE)
    assert found
    run(Block(1, "\n".join(block.code for block in found)), "evaluate.md", {"__name__": "guide"})


def test_its_example_of_everyday_data_loads(tmp_path: Path) -> None:
    """Whole, with a request that needs nothing stored."""
    person, _ = EXAMPLES
    (tmp_path / "nuno.json").write_text(person, "utf-8")
    found = load(tmp_path / "nuno.json")
    assert (found.format, found.dropped) == ("everyday", ())
    assert [bool(question.evidence) for question in found.conversations[0].questions] == [True, False]


def test_its_options_exist(capsys: pytest.CaptureFixture[str]) -> None:
    """Each option that the page shows is in the command's help."""
    assert main(["eval", "--help"]) == 0
    assert main(["--help"]) == 0
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    shown = re.findall(r"^\$ germane eval .*$", GUIDE, re.MULTILINE)
    assert shown
    assert {option for line in shown for option in re.findall(r"--[a-z-]+", line)} <= known
