"""The page on testing: its code runs, and the tables that it links to list all rules and oddities."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from germane_testing.conversations import ODDITIES
from germane_testing.validators import RULES
from support.code_blocks import blocks, run
from support.source_tree import ROOT

PAGE = (ROOT / "docs" / "use" / "testing.md").read_text("utf-8")
TABLES = (ROOT / "docs" / "reference" / "conversation-rules.md").read_text("utf-8")


def test_the_code_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The blocks share their names, and print what the page shows."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(PAGE):
        run(block, "testing.md", names)
    pin, shown = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert pin.startswith("AssertionError")
    assert capsys.readouterr().out == shown


def test_the_tables_list_every_rule_and_every_oddity() -> None:
    """With the sentence that the validators give."""
    rows = dict(re.findall(r"^\| `([\w -]+)` \| ([^|]+?) \|", TABLES, re.MULTILINE))
    assert {name: rows.get(name) for name in RULES} == dict(RULES)
    assert set(rows) == {*RULES, *ODDITIES}
