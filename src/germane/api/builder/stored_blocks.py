"""Stored blocks: the blocks of a scope as a builder reads them, its own and those shared with it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from germane.blocks.label import label_key
from germane.blocks.prompt_text import prompt_text
from germane.blocks.reader import blocks_to_show
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
        found = await blocks_to_show(self.store.blocks, _keys(references))
        return [prompt_text(block, schema=self.schemas) for block in found]


def _keys(references: Sequence[str]) -> list[str]:
    keys = list[str]()
    for reference in references:
        with suppress(InvalidInput):
            keys.append(label_key(reference))
    return keys
