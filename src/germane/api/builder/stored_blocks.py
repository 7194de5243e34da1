"""Stored blocks: the blocks of a scope as a builder reads them, its own and those shared with it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from germane.blocks.block import Block
from germane.blocks.label import label_key
from germane.blocks.prompt_text import prompt_text
from germane.errors import InvalidInput
from germane.store import ScopedStore
from germane.types.block_text import BlockText

__all__ = ["StoredBlocks"]


@dataclass(frozen=True, slots=True)
class StoredBlocks:
    """Implements `PromptBlocks` over the store. With `schemas`, each block has its schema."""

    store: ScopedStore
    schemas: bool = False

    async def blocks_for_prompt(self, references: Sequence[str]) -> Sequence[BlockText]:
        """Returns the core blocks, the pinned working blocks, and those that `references` name; what names none is skipped."""
        blocks, also = self.store.blocks, tuple[Block, ...]()
        if names := _keys(references):
            standing, also = await asyncio.gather(blocks.standing(), blocks.named(names))
        else:
            standing = await blocks.standing()
        found = {block.id: block for block in (*standing, *also) if block.deleted_at is None}
        return [prompt_text(block, schema=self.schemas) for block in found.values()]


def _keys(references: Sequence[str]) -> list[str]:
    keys = list[str]()
    for reference in references:
        with suppress(InvalidInput):
            keys.append(label_key(reference))
    return keys
