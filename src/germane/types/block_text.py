"""Block text: a memory block as it is shown in a prompt, whatever keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["BlockText", "BlockType"]

BlockType = Literal["core", "working", "archival", "log"]
"""Core blocks are always in the context; working ones where they are pinned or referenced; archival ones are found by
searching; a log grows by entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockText:
    """`text` is the rendered content; `permission` is shown as it is (`ReadOnly` … `Admin`). `shared_from` is the agent that
    owns the block, None for one of the reader's own. `schema` is shown on request only. `id` and `label` are what a reference
    may name."""

    id: str
    label: str
    type: BlockType
    text: str
    description: str = ""
    permission: str = "ReadWrite"
    shared_from: str | None = None
    pinned: bool = False
    schema: str = ""
