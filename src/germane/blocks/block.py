"""Block: a labelled text of bounded size that an agent keeps and edits, with its schema and its permission."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import get_args

from germane.blocks.permission import Permission
from germane.blocks.schema import Schema
from germane.errors import InvalidInput
from germane.types.block_text import BlockType
from germane.types.limits import shown

__all__ = ["BLOCK_TYPES", "DEFAULT_LIMIT", "Block", "BlockType", "block_type", "content_hash_of"]

BLOCK_TYPES: tuple[BlockType, ...] = get_args(BlockType)
DEFAULT_LIMIT = 5_000
"""Characters that a block's rendered text may have, unless its owner sets another limit."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Block:
    """One block as a scope sees it. `user` None stands for an agent-wide block, `agent` is the owner. `text` is the rendered
    content, `content_hash` its SHA-256 in hex, `version` the number of the latest entry of its history. `shared_from` is the
    owner where another agent shares the block; None for an own one. `granted` is what the reading scope may do: the block's
    permission, at most that of the share, and `read_only` for an agent-wide block in the scope of a user. `secrets` counts the
    secrets that the call which returned the block has found, by kind; it isn't stored."""

    id: str
    label: str
    description: str = ""
    type: BlockType = "working"
    schema: Schema
    permission: Permission = "read_write"
    limit: int = DEFAULT_LIMIT
    pinned: bool = False
    user: str | None = None
    agent: str
    version: int = 0
    text: str = ""
    content_hash: str
    created_at: datetime
    updated_at: datetime
    shared_from: str | None = None
    granted: Permission = "read_write"
    deleted_at: datetime | None = None
    secrets: Mapping[str, int] = field(default_factory=dict, compare=False, hash=False)

    @property
    def standing(self) -> bool:
        """Whether the block is in every context: a core block, or a pinned working one."""
        return self.deleted_at is None and (self.type == "core" or (self.type == "working" and self.pinned))

    def __repr__(self) -> str:
        state = "" if self.deleted_at is None else ", deleted"
        return (
            f"<Block {shown(self.label)}: {self.type}, version {self.version}, {len(self.text):,} characters{state}, {self.id}>"
        )


def block_type(value: object) -> BlockType:
    """Returns a block's type by its name. Raises `InvalidInput`."""
    for known in BLOCK_TYPES:
        if value == known:
            return known
    raise InvalidInput(f"type must be one of {', '.join(BLOCK_TYPES)}, not {shown(value)}")


def content_hash_of(text: str) -> str:
    """Returns the SHA-256 of a rendered text in hex; lone surrogates count as their own three bytes."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
