"""Ledger: what plans about events read, and what they write. A store answers every read and applies every change here."""

from __future__ import annotations

from dataclasses import dataclass

from germane.events.event import Event, EventHead
from germane.search.unit import Analysis
from germane.types.plan import Change, Read

__all__ = ["EventsByMessageId", "PutEvent", "SessionLength", "SessionTail"]


@dataclass(frozen=True, slots=True)
class EventsByMessageId(Read[dict[str, EventHead]]):
    """By the caller's message id, within (agent, user, session)."""

    session: str
    message_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SessionTail(Read[tuple[EventHead, ...]]):
    """The last `limit` events of the session, oldest first: those before position `before` where it is given."""

    session: str
    limit: int
    before: int | None = None


@dataclass(frozen=True, slots=True)
class SessionLength(Read[int]):
    """How many events the session has: the next one's position."""

    session: str


@dataclass(frozen=True, slots=True)
class PutEvent(Change):
    """Append to its session, which comes into being with its first event. Its search row and vector are derived in the same
    transaction; `analysis` is that of its text, where it has been made before."""

    event: Event
    analysis: Analysis | None = None
