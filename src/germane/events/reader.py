"""Event reader: the protocol for reading the stored events and sessions of one scope (SCOPE-2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from germane.events.event import Event, MessagePage, SessionPage
from germane.search.hit import Found
from germane.types.query import Filters, Query

__all__ = ["EventReader", "MessagePage", "SessionPage"]


class EventReader(Protocol):
    """Every method sees only the scope that the reader was made for. Cancelling a call stops its work."""

    async def get(self, ids: Sequence[str]) -> tuple[Event, ...]:
        """Returns the events with these ids of germane's, in this order; ids that don't exist in the scope are left out."""

    async def page(
        self,
        filters: Filters,
        *,
        limit: int,
        cursor: str | None = None,
        whole: bool = True,
        typed: bool | None = None,
    ) -> MessagePage:
        """Returns a page of at most `limit` events that pass `filters`, newest first over all sessions. Passages of
        documents are among them only where `filters` name their session or their type. Unless `whole`, long texts are cut to
        their beginning and `raw` is empty. `typed` asks for messages alone (False) or for typed events alone (True). `cursor`
        is that of the page before. Raises `InvalidInput` for a limit below 1 or a cursor of another listing."""

    async def search(self, query: Query, limit: int, *, keywords: bool, vectors: bool, wait: bool) -> Found[Event]:
        """Returns at most `limit` results, best first; of a long text, the passage that matches. What can't be worth its tokens
        at the query's price needn't be read, nor anything where the query needs no texts. `keywords` and `vectors` say which
        evidence is used. With `wait` false it raises `Warming` where the events aren't in memory yet, and loads them in the
        background."""

    async def recent(
        self,
        limit: int,
        *,
        session: str | None = None,
        filters: Filters,
        whole: bool = False,
        typed: bool | None = None,
    ) -> tuple[Event, ...]:
        """Returns the latest `limit` events, newest first, of `session` or else of the five latest sessions. Passages of
        documents aren't among them. Long texts are cut to their beginning and `raw` is empty, unless `whole`. `typed` asks for
        messages alone (False) or for typed events alone (True)."""

    async def highlights(self, sessions: int, *, limit: int, filters: Filters, but: str | None = None) -> tuple[Event, ...]:
        """Returns the highlights (`events/highlights.py`) of the `sessions` latest sessions, the latest session first and each
        one's events oldest first, at most `limit` of a session. `but` leaves out a session, such as the running one. Long texts
        are cut to their beginning and `raw` is empty. Only the 256 latest events of a session are looked at."""

    async def speakers(self, said_in: str | None = None) -> tuple[str, ...]:
        """Returns the distinct names under which messages were recorded, sorted. With `said_in`, only those that have a word in
        common with it."""

    async def sessions(self, limit: int, cursor: str | None = None) -> SessionPage:
        """Returns a page of at most `limit` sessions, the one with the latest event first; documents aren't among them. A
        session that grows while pages are read moves to the front. `cursor` is that of the page before. Raises `InvalidInput`
        for a limit below 1 or a cursor of another listing."""
