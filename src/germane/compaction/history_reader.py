"""History reader: the protocol for reading a scope's own archive, summaries and outlines, outside of any plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from germane.compaction.kept_history import KeptEntry, KeptSummary
from germane.compaction.outline import OutlineLine, OutlinePage
from germane.types.query import Filters

__all__ = ["HistoryReader"]


class HistoryReader(Protocol):
    """Every method but `latest_lines` sees what belongs to the scope's own user, or the agent-wide things where the scope has
    no user."""

    async def archived(self, handles: Sequence[str], session: str | None = None) -> tuple[KeptEntry, ...]:
        """Returns the entries with these handles whose content is as it was written, each once and in this order; of one
        session, or of the latest session that has the handle. Unknown handles are left out."""

    async def handles(self, session: str, handles: Sequence[str]) -> frozenset[str]:
        """Returns those of these handles that the session's archive has, without reading their content."""

    async def forgotten(self, handles: Sequence[str]) -> frozenset[str]:
        """Returns those of these handles whose entries were forgotten in this scope, in whatever session, also where all that
        the scope held was forgotten."""

    async def summaries_of(self, session: str, fingerprint: str) -> tuple[KeptSummary, ...]:
        """Returns the session's summaries with this fingerprint, oldest first."""

    async def summaries(self, session: str, limit: int) -> tuple[KeptSummary, ...]:
        """Returns the last `limit` summaries of the session, oldest first."""

    async def outline_page(self, session: str, *, limit: int, cursor: str | None = None) -> OutlinePage:
        """Returns a page of the session's outline, oldest line first; the exchange that goes on is its last line. Raises
        `InvalidInput` for a cursor of another listing."""

    async def latest_lines(self, limit: int, *, filters: Filters) -> tuple[OutlineLine, ...]:
        """Returns the last `limit` lines of the outlines of all sessions that the scope sees, agent-wide ones too, by the time
        of their first message. `filters` narrow them by session, by the times of their messages, by sensitivity and by the ids
        of their first and last message; filters for what a line doesn't have let none pass. Exchanges of one message, which
        says itself, and those that go on aren't among them."""

    async def outline_left(self, session: str) -> bool:
        """Whether exchanges have ended that have no line yet."""
