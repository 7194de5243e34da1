"""Event operations: the reads and changes of plans about events, which every store must support."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from germane.events.event import Event, EventHead
from germane.events.said_before import SaidBefore
from germane.profile.telling import TellingClause
from germane.search.unit import Analysis
from germane.types.plan import Change, Read, TextOf

__all__ = [
    "EventsById",
    "EventsByMessageId",
    "EventsNamed",
    "LastSaid",
    "LatestTyped",
    "PositionsTaken",
    "PutEvent",
    "PutReplacement",
    "ReservePositions",
    "SaidLately",
    "SessionLength",
    "SessionTail",
    "TypedPosition",
]


@dataclass(frozen=True, slots=True)
class EventsById(Read[dict[str, Event]]):
    """The whole events with these ids of germane's that belong to the scope's own user, by id."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EventsByMessageId(Read[dict[str, EventHead]]):
    """The events of a session with these message ids of the caller, by message id. The session is that of the scope's own
    user."""

    session: str
    message_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SessionTail(Read[tuple[EventHead, ...]]):
    """The last `limit` messages of the session, oldest first; with `before`, the last ones before that position."""

    session: str
    limit: int
    before: int | None = None


@dataclass(frozen=True, slots=True)
class LastSaid(Read[str | None]):
    """The id of the last message that a user said in the session, which is the scope's own user's; None where there is none."""

    session: str


@dataclass(frozen=True, slots=True)
class SaidLately(Read[SaidBefore]):
    """The last 600 messages that users said, among those of the scope's own user, without long ones."""


@dataclass(frozen=True, slots=True)
class SessionLength(Read[int]):
    """The position of the session's next message, 0 for a new session."""

    session: str


@dataclass(frozen=True, slots=True)
class TypedPosition(Read[int]):
    """The position of the session's next event that isn't a message."""

    session: str


@dataclass(frozen=True, slots=True)
class EventsNamed(Read[dict[str, Event]]):
    """The whole events of a session with these message ids of the caller, by message id. The session is that of the scope's own
    user."""

    session: str
    message_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LatestTyped(Read[tuple[Event, ...]]):
    """The last `limit` events of the session that aren't messages and happened by `until`, oldest first. Long texts are cut
    to their beginning and end, and a `raw` of more than 8 KB is empty."""

    session: str
    limit: int
    until: datetime


@dataclass(frozen=True, slots=True)
class PositionsTaken(Read[frozenset[int]]):
    """The positions from `first` to `last`, both included, that events of the session have."""

    session: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class PutEvent(Change):
    """Appends an event to its session, which is created with its first event. Its search row, its vector and its telling
    clauses are derived in the same transaction. `analysis` is the analysis of each part of its text, and `telling` its telling
    clauses, where these were made in advance; else they are those of the event (`own_words.told_by`)."""

    text_of: ClassVar[TextOf] = "somebody"
    event: Event
    analysis: tuple[Analysis, ...] | None = None
    telling: tuple[TellingClause, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PutReplacement(Change):
    """Notes of two stored messages, by their ids of germane's, that the later one ended something that the earlier one states.
    Changes nothing where the scope's own user hasn't both. Idempotent."""

    text_of: ClassVar[TextOf] = "nothing"
    older: str
    newer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservePositions(Change):
    """Makes `next` the position of the session's next event, unless that is higher already. A session that doesn't exist is
    skipped."""

    text_of: ClassVar[TextOf] = "nothing"
    session: str
    next: int
