"""Graph docs: the code of `docs/use/graph.md` runs as one program."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.code_blocks import Block, blocks, run
from support.source_tree import ROOT

PAGE = (ROOT / "docs" / "use" / "graph.md").read_text("utf-8")


def test_the_code_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks continue from one another."""
    monkeypatch.chdir(tmp_path)
    run(Block(1, "\n".join(block.code for block in blocks(PAGE))), "graph.md", {"__name__": "graph"})
