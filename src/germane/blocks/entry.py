"""Entry: a text that an agent keeps for later searches, and never changes (BLK-7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from germane.blocks.block import Block, BlockType

__all__ = ["ArchivalEntry", "FoundBlock", "FoundEntry", "searched_text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivalEntry:
    """One entry of the archive. `user` None stands for agent-wide. `metadata` is JSON whose words are searched too. Where a
    search found a block instead, `id`, `text`, `label`, `version` and `type` are the block's, and `metadata` is empty.
    `secrets` counts the secrets that the call which stored the entry has found, by kind; it isn't stored."""

    id: str
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    user: str | None = None
    created_at: datetime
    label: str | None = None
    version: int | None = None
    type: BlockType | None = None
    secrets: Mapping[str, int] = field(default_factory=dict, compare=False, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEntry:
    """What a search of the archive found. `relevance` is the estimated probability that the entry helps."""

    entry: ArchivalEntry
    relevance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundBlock:
    """What a search of the blocks found, as it is now. `relevance` is the estimated probability that the block helps."""

    block: Block
    relevance: float


def searched_text(entry: ArchivalEntry) -> str:
    """Returns the words that find an entry: those of its text and of its metadata, or of an archival block's label and text."""
    if entry.label is not None:
        return f"{entry.label}\n{entry.text}"
    return "\n".join((entry.text, *_words(entry.metadata)))


def _words(value: Any) -> list[str]:
    """The keys and values of JSON as words, in order. The depth is bounded where an entry is checked."""
    if isinstance(value, Mapping):
        return [word for key, item in value.items() for word in (str(key), *_words(item))]
    if isinstance(value, list | tuple):
        return [word for item in value for word in _words(item)]
    return [] if value is None or isinstance(value, bool) else [str(value)]
