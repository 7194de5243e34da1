"""Sections: the blocks of `docs/use/sections.md` run one after the other."""

from __future__ import annotations

from typing import Any

import pytest

from support.code_blocks import blocks, run
from support.source_tree import ROOT

PAGE = (ROOT / "docs" / "use" / "sections.md").read_text("utf-8")


@pytest.mark.requirement("FORMAT-2", "GRAPH-6")
def test_the_page_runs_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    """What it shows of a section is what is written."""
    names: dict[str, Any] = {"__name__": "sections"}
    for block in blocks(PAGE):
        run(block, "sections.md", names)
    said = capsys.readouterr().out
    assert said.index("## Recent Activity") < said.index("## Known Entities")
