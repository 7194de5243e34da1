"""Export docs: docs/reference/export-lines.md has every field of every line of an export."""

from __future__ import annotations

import re

from germane.transfer.lines import HOLDS, VERSION
from support.exported_things import BESIDE, LINES
from support.source_tree import ROOT

PAGE = (ROOT / "docs" / "reference" / "export-lines.md").read_text("utf-8")
OF_MEMORIES = {"key", "value", "observed_at", "text", "title", "summary", "occurred_at"}
"""Fields of other kinds than the memory among the lines."""


def test_the_page_has_every_field_of_every_line() -> None:
    """A section for each type of line, and no field that isn't there."""
    header, _, *sections = PAGE.split("\n## ")[1:]
    shown = {}
    for section in sections:
        columns = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", section, re.MULTILINE)
        shown[section.partition("\n")[0].strip("`")] = {name for column in columns for name in re.findall(r"\w+", column)}
    held = {line["type"]: set(line) - BESIDE | (OF_MEMORIES if line["type"] == "memory" else set()) for line in LINES.values()}
    assert shown == held
    assert f"| `version` | {VERSION};" in header
    assert [name for name in HOLDS if f"`{name}`" not in header] == []
