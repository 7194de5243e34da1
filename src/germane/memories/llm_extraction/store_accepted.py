"""Store accepted: the plan that stores what was accepted of a model's answers, and takes its messages from the queue."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from germane.events.event import Event
from germane.events.operations import EventsById
from germane.graph.llm_extraction.found_by_llm import found_by_llm
from germane.graph.llm_extraction.reading import GraphReading
from germane.graph.pending import PendingGraph
from germane.graph.record_findings import link_findings
from germane.memories.extraction.remember_found import remember_found
from germane.memories.llm_extraction.claim import Claim, ClaimHeld, FinishClaim
from germane.memories.memory import Memory
from germane.memories.operations import PutMemory
from germane.types.plan import Change, Decision, Plan, Read, read

__all__ = ["store_accepted"]

_NO_READINGS: Mapping[str, GraphReading] = MappingProxyType({})


def store_accepted(
    claim: Claim, memories: Sequence[Memory], readings: Mapping[str, GraphReading] = _NO_READINGS
) -> Plan[tuple[str, ...] | None]:
    """Stores `memories`, unless they are known, and what the `readings` (by the id of a message) found, and ends the claim, in
    one transaction. What comes from a message that was forgotten meanwhile is dropped. The outcome is the ids of the memories
    that were stored; None, and nothing is written, where the lease has gone to somebody else."""
    if not (yield from read(ClaimHeld(claim))):
        return Decision((), None)
    ids = tuple(dict.fromkeys((*(id for memory in memories for id in memory.derived_from), *readings)))
    present = (yield from read(EventsById(ids))) if ids else {}
    lasting = [memory for memory in memories if present.keys() >= set(memory.derived_from)]
    changes = (yield from remember_found(lasting)).changes
    stored = tuple(change.memory.id for change in changes if isinstance(change, PutMemory))
    linked = yield from _linked(readings, present)
    return Decision((*changes, *linked, FinishClaim(claim)), stored)


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
