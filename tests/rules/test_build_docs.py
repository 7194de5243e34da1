"""Build docs: the code of `docs/use/build.md` runs as one program."""

from __future__ import annotations

import re
from typing import get_args

from germane.types.context import ComponentType
from germane.types.strategy import Shortening
from support.code_blocks import Block, blocks, run
from support.source_tree import ROOT

PAGE = (ROOT / "docs" / "use" / "build.md").read_text("utf-8")


def test_the_code_runs_from_top_to_bottom() -> None:
    """The blocks continue from one another."""
    run(Block(1, "\n".join(block.code for block in blocks(PAGE))), "build.md", {"__name__": "build"})


def test_the_page_lists_every_way_to_shorten_and_every_type() -> None:
    """By the names that the code has."""
    rows = re.findall(r"^\| `(\w+)`", PAGE, re.MULTILINE)
    assert sorted(name for name in rows if name != "shorten") == sorted(get_args(Shortening))
    assert all(f"`{name}`" in PAGE for name in get_args(ComponentType))
