"""Prompt text: a stored block as a prompt shows it."""

from __future__ import annotations

from json import dumps

from germane.blocks.block import Block
from germane.blocks.permission import SHOWN_PERMISSIONS
from germane.types.block_text import BlockText

__all__ = ["prompt_text"]


def prompt_text(block: Block, *, schema: bool = False) -> BlockText:
    """Returns the block with its permission as a prompt names it; with `schema`, its schema as JSON too."""
    return BlockText(
        id=block.id,
        label=block.label,
        type=block.type,
        text=block.text,
        description=block.description,
        permission=SHOWN_PERMISSIONS[block.granted],
        shared_from=block.shared_from,
        pinned=block.pinned,
        schema=dumps(block.schema.as_dict(), ensure_ascii=False) if schema else "",
    )
