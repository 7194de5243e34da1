"""Sections: the blocks of `docs/use/sections.md` run one after the other."""

from __future__ import annotations

import pytest

from support.code_blocks import Block, blocks, run
from support.source_tree import ROOT

PAGE = (ROOT / "docs" / "use" / "sections.md").read_text("utf-8")


@pytest.mark.requirement("FORMAT-2", "GRAPH-6")
def test_the_page_runs_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    """What it shows of a section is what is written."""
    run(Block(1, "\n".join(block.code for block in blocks(PAGE))), "sections.md", {"__name__": "sections"})
    said = capsys.readouterr().out
    assert said.index("## Recent Activity") < said.index("## Known Entities")
