"""Plans: stores what was accepted of a model's answers, and takes its messages from the queue, in one transaction."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from germane.extraction.llm.answer import Accepted, EndedKnown
from germane.extraction.llm.entities import GraphReading, found_by_llm
from germane.extraction.llm.queue import Claim, ClaimHeld, FinishClaim
from germane.extraction.memories.extracted import PendingMemories
from germane.extraction.memories.plans import end_meant, remember_found
from germane.kinds.events.reads import EventsById, PutReplacement
from germane.kinds.events.value import Event
from germane.kinds.graph.linking import PendingGraph, link_findings
from germane.kinds.memories.reads import MemoriesById
from germane.kinds.memories.value import Memory
from germane.types.plan import Change, Decision, Plan, Read, read

_NO_READINGS: Mapping[str, GraphReading] = MappingProxyType({})


class StoredAnswer(NamedTuple):
    """The ids of the memories that were stored, and of the memories and messages of which something has ended."""

    memories: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()


class _Present(NamedTuple):
    """What an answer speaks of that is stored still."""

    events: Mapping[str, Event]
    memories: Mapping[str, Memory]

    def has(self, id: str) -> bool:
        return id in self.events or id in self.memories


def store_accepted(
    claim: Claim, answer: Accepted, readings: Mapping[str, GraphReading] = _NO_READINGS
) -> Plan[StoredAnswer | None]:
    """Stores the memories of an answer, unless they are known, ends what it says to have ended, stores what the `readings` (by
    the id of a message) found, and ends the claim, in one transaction. What comes from a message that was forgotten meanwhile
    is dropped. The outcome is None, and nothing is written, where the lease has gone to somebody else."""
    if not (yield from read(ClaimHeld(claim))):
        return Decision((), None)
    present = yield from _present(answer, readings)
    pending = yield from remember_found([one for one in answer.memories if all(map(present.has, one.derived_from))])
    stored = tuple(pending.new)
    ended = list[str]()
    for one in answer.ended:
        if all(map(present.has, (one.said.source, *one.said.also))):
            ended += yield from _end(one, present, pending)
    outdated = (PutReplacement(older=older, newer=newer) for older, newer in sorted(pending.outdated))
    linked = yield from _linked(readings, present.events)
    return Decision((*pending.changes, *outdated, *linked, FinishClaim(claim)), StoredAnswer(stored, tuple(ended)))


def _present(answer: Accepted, readings: Mapping[str, GraphReading]) -> Generator[Read[Any], Any, _Present]:
    ids = tuple(dict.fromkeys((*_named(answer), *readings)))
    if not ids:
        return _Present({}, {})
    return _Present((yield from read(EventsById(ids))), (yield from read(MemoriesById(ids))))


def _named(answer: Accepted) -> Iterator[str]:
    """The ids of the messages and memories that an answer was made of, or speaks of."""
    for memory in answer.memories:
        yield from memory.derived_from
    for ended in answer.ended:
        yield from (ended.said.source, *ended.said.also)
        yield from (one.message or one.id for one in ended.known)


def _end(ended: EndedKnown, present: _Present, pending: PendingMemories) -> Generator[Read[Any], Any, list[str]]:
    """Ends the memories that still hold, and notes of the messages whose clauses have ended that the statement ended them."""
    said = ended.said
    known = [present.memories[one.id] for one in ended.known if one.id in present.memories]
    own = [memory for memory in known if memory.user == said.scope.user]
    meant = [memory for memory in pending.now(own) if memory.holds(said.said_at)]
    yield from end_meant(said, meant, pending)
    messages = [one.message for one in ended.known if one.message in present.events and one.message != said.source]
    pending.outdated.update((message, said.source) for message in messages)
    return [*(memory.id for memory in meant), *messages]


def _linked(
    readings: Mapping[str, GraphReading], present: Mapping[str, Event]
) -> Generator[Read[Any], Any, tuple[Change, ...]]:
    pending, changes = PendingGraph(), list[Change]()
    for id, reading in readings.items():
        event = present.get(id)
        if event is None:
            continue
        entities, relations = found_by_llm(reading, own=event.role == "user")
        found = link_findings(
            entities,
            relations,
            thing=event.id,
            user=event.user,
            at=event.created_at,
            now=event.recorded_at,
            sensitivity=event.sensitivity,
            again=True,
        )
        linked = yield from pending.seen_by(found)
        pending.add(linked.changes)
        changes += linked.changes
    return tuple(changes)
