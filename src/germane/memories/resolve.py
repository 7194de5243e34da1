"""Resolve: the plan that closes a conflict by the decision of a person: one of the two memories is kept, or both."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from germane.errors import InvalidInput, NotFound
from germane.memories.link import Contradiction
from germane.memories.memory import Memory
from germane.memories.operations import ConflictById, EndMemory, PutMemory, ResolveConflict
from germane.types.plan import Change, Decision, Plan, read

__all__ = ["BOTH", "resolve"]

BOTH = "both"


def resolve(id: str, keep: str, *, at: datetime) -> Plan[Contradiction]:
    """Closes the conflict; the outcome is the conflict as it was resolved. `keep` is the id of one of its two memories, or
    `both`, which changes nothing else.

    The memory that isn't kept ends at `at`, superseded by the other one. Where the kept memory is a fact that the other one had
    superseded, the other one was never true: it ends where it began, and the kept one takes its place in the timeline. Nothing
    is forgotten. Resolving a conflict again the same way changes nothing. Raises `NotFound`, and `InvalidInput` for another
    `keep`, and for a conflict that was resolved otherwise before.
    """
    conflict = yield from read(ConflictById(id))
    if conflict is None:
        raise NotFound(f"no conflict {id!r} here")
    if keep not in (BOTH, conflict.older.id, conflict.newer.id):
        raise InvalidInput(f"keep {keep[:80]!r} is none of {conflict.older.id}, {conflict.newer.id} and {BOTH}")
    if conflict.resolved_at is not None:
        if conflict.kept != keep:
            raise InvalidInput(f"conflict {id!r} was resolved before: {conflict.kept} was kept")
        return Decision((), conflict)
    changes: list[Change] = [ResolveConflict(id=id, kept=keep, at=at)]
    if keep != BOTH:
        kept, other = conflict.older, conflict.newer
        if keep == other.id:
            kept, other = other, kept
        changes += _decided(kept, other, at)
    return Decision(tuple(changes), replace(conflict, resolved_at=at, kept=keep))


def _decided(kept: Memory, other: Memory, at: datetime) -> list[Change]:
    if kept.superseded_by == other.id:
        restored = replace(kept, valid_to=other.valid_to, superseded_by=other.superseded_by, updated_at=at)
        return [EndMemory(id=other.id, at=other.valid_from, superseded_by=kept.id), PutMemory(restored)]
    if other.holds(at):
        return [EndMemory(id=other.id, at=at, superseded_by=kept.id)]
    return []
