"""Store accepted: the plan that stores what was accepted of an answer, and takes the claim's messages from the queue."""

from __future__ import annotations

from collections.abc import Sequence

from germane.events.operations import EventsById
from germane.memories.extraction.remember_found import remember_found
from germane.memories.llm_extraction.claim import Claim, ClaimHeld, FinishClaim
from germane.memories.memory import Memory
from germane.memories.operations import PutMemory
from germane.types.plan import Decision, Plan, read

__all__ = ["store_accepted"]


def store_accepted(claim: Claim, memories: Sequence[Memory]) -> Plan[tuple[str, ...] | None]:
    """Stores `memories`, unless they are known, and ends the claim, in one transaction. A memory with a source that was
    forgotten meanwhile is dropped. The outcome is the ids of what was stored; None, and nothing is written, where the lease has
    gone to somebody else."""
    if not (yield from read(ClaimHeld(claim))):
        return Decision((), None)
    ids = tuple(dict.fromkeys(id for memory in memories for id in memory.derived_from))
    present = (yield from read(EventsById(ids))) if ids else {}
    lasting = [memory for memory in memories if present.keys() >= set(memory.derived_from)]
    changes = yield from remember_found(lasting)
    stored = tuple(change.memory.id for change in changes if isinstance(change, PutMemory))
    return Decision((*changes, FinishClaim(claim)), stored)
