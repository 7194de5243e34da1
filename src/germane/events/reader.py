"""Event reader: the protocol for reading the stored events and sessions of one scope (SCOPE-2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from germane.events.event import Event, Session
from germane.search.hit import Found
from germane.types.query import Filters, Query

__all__ = ["EventReader"]


class EventReader(Protocol):
    """Every method sees only the scope that the reader was made for. Cancelling a call stops its work."""

    async def get(self, ids: Sequence[str]) -> tuple[Event, ...]:
        """Returns the events with these ids of germane's, in this order; ids that don't exist in the scope are left out."""

    async def search(self, query: Query, limit: int, *, keywords: bool, vectors: bool, wait: bool) -> Found[Event]:
        """Returns at most `limit` results, best first; of a long text, the passage that matches. What can't be worth its tokens
        at the query's price isn't read. `keywords` and `vectors` say which evidence is used. With `wait` false it raises
        `Warming` where the events aren't in memory yet, and loads them in the background."""

    async def recent(
        self, limit: int, *, session: str | None = None, filters: Filters, whole: bool = False
    ) -> tuple[Event, ...]:
        """Returns the latest `limit` events, newest first, of `session` or else of the five latest sessions. Long texts are cut
        to their beginning and `raw` is empty, unless `whole`."""

    async def speakers(self) -> tuple[str, ...]:
        """Returns the distinct names under which messages were recorded, sorted."""

    async def sessions(self, limit: int) -> tuple[Session, ...]:
        """Returns the latest `limit` sessions, latest first."""
