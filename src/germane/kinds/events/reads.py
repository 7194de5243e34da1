"""Reads: what a store answers about events, messages among them: the reads and changes of plans, and the reader (SCOPE-2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import log
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.extraction.memories.endings import MIN_CUE, RestatingTerm
from germane.kinds.events.value import Event, EventHead
from germane.kinds.events.value import MessagePage as MessagePage
from germane.kinds.events.value import SessionPage as SessionPage
from germane.kinds.profile.telling import TellingClause
from germane.search.unit import Analysis
from germane.text.specifics import temporal
from germane.text.terms import hashed
from germane.types.plan import Change, Read, TextOf
from germane.types.query import Filters

# What a user has said lately, to find which of it a new message may speak of as changed. It is told by words alone:
# those that the two messages have in common, weighed by how rare they are in what this user says. A link isn't a
# judgement: the newer message is read beside the older one where a request asks for both.


_MIN_WEIGHT, _MIN_MESSAGES = 0.6, 20
"""What the common words must weigh at least, as a share of what a word weighs that was said in one message only; of fewer
messages than `_FEWEST` too little is known."""
_MIN_SECOND_SHARE = 0.6
"""The share of the best one's weight that a second one must have."""
_MAX_OLDER = 2
_LOW_BITS = 0xFFFF


class SaidBefore(NamedTuple):
    """Messages of a user: their ids, their speakers' names, whether they name a time, and the hashes of their
    words, each with the place of its message."""

    ids: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    timed: tuple[bool, ...] = ()
    places: NDArray[np.intp] = np.empty(0, np.intp)
    hashes: NDArray[np.uint32] = np.empty(0, np.uint32)

    @classmethod
    def of(cls, said: Iterable[tuple[str, str, bool, bytes]]) -> SaidBefore:
        """Of rows of id, name, whether it names a time, and the hashes as little-endian bytes."""
        rows = tuple(said)
        if not rows:
            return cls()
        ids, names, timed, terms = zip(*rows, strict=True)
        places = np.repeat(np.arange(len(rows)), [len(one) // 4 for one in terms])
        return cls(ids, names, timed, places, np.frombuffer(b"".join(terms), "<u4"))

    def and_then(self, id: str, name: str, text: str) -> SaidBefore:
        """With one more message."""
        found = np.frombuffer(hashed(text), "<u4")
        return SaidBefore(
            ids=(*self.ids, id),
            names=(*self.names, name),
            timed=(*self.timed, temporal(text)),
            places=np.concatenate((self.places, np.full(len(found), len(self.ids)))),
            hashes=np.concatenate((self.hashes, found)),
        )

    def restated_by(self, terms: Sequence[RestatingTerm], name: str) -> tuple[str, ...]:
        """Returns the ids of at most two messages of this speaker that a message with these terms may speak of as changed."""
        count, found = len(self.ids), [(hash, number) for number, term in enumerate(terms) for hash in term.hashes]
        if not count or not found:
            return ()
        wanted, numbers = (np.array(one) for one in zip(*sorted(found), strict=True))
        likely = np.flatnonzero(_endings_of(wanted)[self.hashes & _LOW_BITS])
        near = np.searchsorted(wanted, self.hashes[likely]).clip(max=len(wanted) - 1)
        same = wanted[near] == self.hashes[likely]
        pairs = np.unique(numbers[near[same]] * count + self.places[likely[same]])
        number, place = pairs // count, pairs % count
        held = np.bincount(number, minlength=len(terms))[number]
        timed = np.array(self.timed, np.bool_)[place]
        weight = np.where(
            timed, np.array([term.dated for term in terms])[number], np.array([term.weight for term in terms])[number]
        )
        rarity = np.log(1 + (count - held + 0.5) / (held + 0.5))
        weights = np.bincount(place, rarity * weight, minlength=count)
        cues = np.bincount(place, weight >= MIN_CUE, minlength=count) > 0
        least = _MIN_WEIGHT * log(1 + max(count, _MIN_MESSAGES))
        fitting = cues & (weights >= least) & (np.array(self.names, object) == name)
        best = sorted(np.flatnonzero(fitting).tolist(), key=lambda place: (-weights[place], self.ids[place]))[:_MAX_OLDER]
        return tuple(self.ids[place] for place in best if weights[place] >= _MIN_SECOND_SHARE * weights[best[0]])


def _endings_of(hashes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which lowest 16 bits the hashes have: most of all hashes are excluded by a look at this table."""
    table = np.zeros(_LOW_BITS + 1, np.bool_)
    table[hashes & _LOW_BITS] = True
    return table


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


# Listings, and what sources read, outside of plans as within.


@dataclass(frozen=True, slots=True)
class SeenEvents(Read[tuple[Event, ...]]):
    """The events with these ids of germane's that the scope sees, in this order; ids that don't exist in the scope are left
    out."""

    ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class ListEvents(Read[MessagePage]):
    """A page of at most `limit` events that pass `filters`, newest first over all sessions. Passages of documents are among
    them only where `filters` name their session or their type. Unless `whole`, long texts are cut to their beginning and `raw`
    is empty. `typed` asks for messages alone (False) or for typed events alone (True). `cursor` is that of the page before.
    Raises `InvalidInput` for a limit below 1 or a cursor of another listing."""

    filters: Filters
    limit: int
    cursor: str | None = None
    whole: bool = True
    typed: bool | None = None


@dataclass(frozen=True, slots=True)
class RecentEvents(Read[tuple[Event, ...]]):
    """The latest `limit` events, newest first, of `session` or else of the five latest sessions. Passages of documents aren't
    among them. Long texts are cut to their beginning and `raw` is empty, unless `whole`. `typed` asks for messages alone
    (False) or for typed events alone (True)."""

    quick: ClassVar[bool] = True
    limit: int
    filters: Filters
    session: str | None = None
    whole: bool = False
    typed: bool | None = None


@dataclass(frozen=True, slots=True)
class LatestHighlights(Read[tuple[Event, ...]]):
    """The highlights (`kinds/events/highlights.py`) of the `sessions` latest sessions, the latest session first and each one's
    events oldest first, at most `limit` of a session. `but` leaves out a session, such as the running one. Long texts are cut
    to their beginning and `raw` is empty. Only the 256 latest events of a session are looked at."""

    quick: ClassVar[bool] = True
    sessions: int
    limit: int
    filters: Filters
    but: str | None = None


@dataclass(frozen=True, slots=True)
class ListSessions(Read[SessionPage]):
    """A page of at most `limit` sessions, the one with the latest event first; documents aren't among them. A session that
    grows while pages are read moves to the front. `cursor` is that of the page before. Raises `InvalidInput` for a limit below
    1 or a cursor of another listing."""

    limit: int
    cursor: str | None = None
