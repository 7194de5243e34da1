"""What is read of stored events. Every method sees only the scope its reader was made for (SCOPE-2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from germane.events.event import Event, Session
from germane.search.hit import Hit
from germane.types.query import Filters, Query

__all__ = ["EventReader"]


class EventReader(Protocol):
    """Cancelling a call stops the work behind it."""

    async def get(self, ids: Sequence[str]) -> tuple[Event, ...]:
        """Those of `ids` (germane's own) that exist here, in the order asked."""

    async def search(self, query: Query, limit: int, *, keywords: bool, vectors: bool, wait: bool) -> tuple[Hit[Event], ...]:
        """Best first; of long texts a passage that matches. With `wait` false it raises `Warming` where the partition isn't in
        memory yet, and loads it behind."""

    async def recent(
        self, limit: int, *, session: str | None = None, filters: Filters, whole: bool = False
    ) -> tuple[Event, ...]:
        """The latest `limit` events, newest first; of one session where given, else of the five latest sessions. Of long texts
        the beginning, without the callers' own dicts, unless `whole`."""

    async def speakers(self) -> tuple[str, ...]:
        """The distinct names under which messages were recorded."""

    async def sessions(self, limit: int) -> tuple[Session, ...]:
        """Latest first."""
