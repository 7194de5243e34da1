"""Blocks docs: the code of `docs/use/blocks.md` runs as one program."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.code_blocks import Block, blocks, run
from support.source_tree import ROOT

pytest.importorskip("loro")
PAGE = (ROOT / "docs" / "use" / "blocks.md").read_text("utf-8")


def test_the_code_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks continue from one another."""
    monkeypatch.chdir(tmp_path)
    run(Block(1, "\n".join(block.code for block in blocks(PAGE))), "blocks.md", {"__name__": "blocks"})
