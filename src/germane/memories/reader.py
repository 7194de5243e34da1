"""What is read of stored memories. Every method sees only the scope its reader was made for (SCOPE-2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from germane.memories.memory import Memory
from germane.search.hit import Hit
from germane.types.query import Filters, Query

__all__ = ["MemoryReader", "Page"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """`cursor` continues the listing; None when this is the last page."""

    memories: tuple[Memory, ...]
    cursor: str | None = None


class MemoryReader(Protocol):
    """Cancelling a call stops the work behind it."""

    async def get(self, ids: Sequence[str]) -> tuple[Memory, ...]:
        """Those of `ids` that exist here, in the order asked."""

    async def list(self, filters: Filters, *, at: datetime, limit: int, cursor: str | None = None) -> Page:
        """Newest first."""

    async def pinned(self, keys: Sequence[str], tags: Sequence[str], *, at: datetime, filters: Filters) -> tuple[Memory, ...]:
        """Pinned memories, the newest valid fact of each key (in the order of `keys`), and those with any of `tags`."""

    async def search(self, query: Query, limit: int, *, keywords: bool, vectors: bool, wait: bool) -> tuple[Hit[Memory], ...]:
        """Best first. With `wait` false it raises `Warming` where the partition isn't in memory yet, and loads it behind."""

    async def history(self, id: str) -> tuple[Memory, ...]:
        """The memory and all that superseded it or was superseded by it, oldest first."""
