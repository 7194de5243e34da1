"""Memory reader: the protocol for reading and searching the stored memories of one scope (SCOPE-2)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from germane.memories.consolidation.holding import Stored
from germane.memories.link import Contradiction
from germane.memories.memory import Memory, Page
from germane.search.hit import Found
from germane.types.query import Filters, Query

__all__ = ["MemoryReader", "Page"]


class MemoryReader(Protocol):
    """Every method sees only the scope that the reader was made for. Cancelling a call stops its work."""

    async def get(self, ids: Sequence[str]) -> tuple[Memory, ...]:
        """Returns the memories with these ids, in this order; ids that don't exist in the scope are left out."""

    async def list(self, filters: Filters, *, at: datetime, limit: int, cursor: str | None = None) -> Page:
        """Returns a page of at most `limit` memories that pass `filters` and are valid at `at`, newest first. `cursor` is that
        of the page before. Raises `InvalidInput` for a limit below 1 or a cursor of another listing."""

    async def pinned(self, keys: Sequence[str], tags: Sequence[str], *, at: datetime, filters: Filters) -> tuple[Memory, ...]:
        """Returns the pinned memories, the newest valid fact of each key in `keys` (in that order), and the memories with any
        of `tags`, each once."""

    async def search(self, query: Query, limit: int, *, keywords: bool, vectors: bool, wait: bool) -> Found[Memory]:
        """Returns at most `limit` results, best first. What can't be worth its tokens at the query's price needn't be read, nor
        anything where the query needs no texts. `keywords` and `vectors` say which evidence is used. With `wait` false it
        raises `Warming` where the memories aren't in memory yet, and loads them in the background."""

    async def conflicts(self, *, at: datetime, limit: int) -> tuple[Contradiction, ...]:
        """Returns at most `limit` open conflicts between memories of the scope's own user, oldest first; those between two
        texts only while both memories are valid at `at`."""

    async def stored(self, *, after: int, limit: int) -> tuple[Stored, ...]:
        """Returns at most `limit` memories of the scope's own user, ended ones too, in the order in which they were stored,
        with their sizes. `after` is the position of the last one read; 0 begins."""

    async def history(self, id: str) -> tuple[Memory, ...]:
        """Returns the memory, those that superseded it and those that it superseded, directly or not, oldest first."""
