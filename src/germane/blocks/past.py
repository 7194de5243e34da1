"""Past: the content of a block as plain JSON, and its text as it was at a version of its history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from germane.blocks.block import Block
from germane.blocks.document import BlockDocument
from germane.blocks.operations import StoredDocument
from germane.blocks.version import KeptVersion
from germane.errors import NotFound

__all__ = ["past_text", "present_value"]


def present_value(block: Block, stored: StoredDocument) -> Any:
    """Returns the content of the block as plain JSON. Raises `StoreCorrupt`."""
    return BlockDocument.load(block.schema, stored.snapshot, stored.deltas).value()


def past_text(block: Block, stored: StoredDocument, history: Sequence[KeptVersion], version: int) -> str:
    """Returns the rendered text of the block at a version. Raises `NotFound` for a version that isn't kept, or that was made
    under another schema, and `StoreCorrupt`."""
    kept = next((one for one in history if one.version.number == version), None)
    if kept is None:
        first = history[0].version.number if history else 0
        raise NotFound(f"version {version} of block {block.label!r} isn't kept: it has {first} to {block.version}")
    if any(one.version.kind == "schema" and one.version.number > version for one in history):
        raise NotFound(f"version {version} of block {block.label!r} was made under another schema and can't be shown")
    if version == block.version:
        return block.text
    return BlockDocument.load(block.schema, stored.snapshot, stored.deltas).at(kept.frontiers).text()
