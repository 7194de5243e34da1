"""Restore: the plans that store the things of an export as they were: with their ids, times, positions and counts.

Each plan takes some things of one owner and says which of them it stored. Restoring the same again stores nothing. What was
forgotten in this store isn't stored again, and nothing that is stored is changed or removed.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from germane.blocks.entry import ArchivalEntry
from germane.blocks.operations import BlocksNamed, IdsOfBlocks, PutBlock, PutEntry, RestoreHistory
from germane.compaction.operations import HistoryIdsInUse
from germane.events.event import Event
from germane.events.operations import EventsById, EventsByMessageId, PositionsTaken, PutEvent, ReservePositions
from germane.graph.operations import GraphStored
from germane.memories.link import ContradictionRecord
from germane.memories.memory import Memory
from germane.memories.operations import (
    ConflictsBetween,
    IdsInUse,
    MemoriesById,
    OwnDirective,
    PutMemory,
    PutTombstones,
    RestoreConflict,
    SetDirective,
)
from germane.profile.marking import LinesNamed, MarkedLine, MarkLine, thing_of
from germane.profile.telling import TellingClause
from germane.search.unit import Analysis
from germane.transfer.placed import OTHER, TAKEN, Clash, Placed, decided
from germane.transfer.stored import StoredBlock
from germane.types.inventory import Tombstone
from germane.types.plan import Change, Decision, Plan, Read, read
from germane.types.scope import Scope

__all__ = [
    "restore_blocks",
    "restore_contradictions",
    "restore_directive",
    "restore_entries",
    "restore_marks",
    "restore_memories",
    "restore_messages",
    "restore_tombstones",
]


def restore_directive(text: str, id: str = "") -> Plan[Placed]:
    """Sets the directive where there is none, unless the one with this id was forgotten here."""
    held = yield from read(OwnDirective())
    use = yield from read(IdsInUse((id,)))
    if id in use.forgotten:
        return Decision((), Placed(forgotten=1))
    if held:
        return Decision((), Placed(known=1) if held == text else Placed(clashes=[Clash(0, "another directive is set here")]))
    return Decision((SetDirective(text, "" if id in use.elsewhere else id),), Placed(added=1))


def restore_memories(memories: Sequence[Memory], *, scope: Scope, strict: bool) -> Plan[Placed]:
    """Stores the memories that aren't there. A memory is there where its id has the same kind and content; its counts and its
    validity may have changed since, and stay. `strict`: where any of them clashes, none is stored."""
    ids = tuple(memory.id for memory in memories)
    known = {id: memory for id, memory in (yield from read(MemoriesById(ids))).items() if memory.user == scope.user}
    use = yield from read(IdsInUse(ids))
    placed, changes = Placed(), list[Change]()
    for index, memory in enumerate(memories):
        held = known.get(memory.id)
        if memory.id in use.forgotten:
            placed.forgotten += 1
        elif memory.id in use.elsewhere:
            placed.clash(index, TAKEN)
        elif held is None:
            known[memory.id] = memory
            changes.append(PutMemory(memory, restored=True))
        elif (held.kind, held.content) == (memory.kind, memory.content):
            placed.known += 1
        else:
            placed.clash(index, OTHER)
    return decided(placed, changes, strict)


def restore_blocks(blocks: Sequence[StoredBlock], *, scope: Scope, strict: bool) -> Plan[Placed]:
    """Stores the blocks that aren't there, each with its document, its history and its shares. A block is there where its id
    has the same label and was created at the same time: its content may have changed since, and stays. A block clashes where
    its label is another block's."""
    use = yield from read(IdsOfBlocks(tuple(one.block.id for one in blocks)))
    placed, changes, known, labels = Placed(), list[Change](), dict(use.blocks), set[str]()
    for index, one in enumerate(blocks):
        block, held = one.block, known.get(one.block.id)
        if block.id in use.forgotten:
            placed.forgotten += 1
        elif block.id in use.elsewhere or block.id in use.entries:
            placed.clash(index, TAKEN)
        elif held is not None and (held.label, held.created_at) == (block.label, block.created_at):
            placed.known += 1
        elif held is not None:
            placed.clash(index, OTHER)
        elif block.deleted_at is None and (block.label in labels or (yield from _labelled(block.label, scope))):
            placed.clash(index, "another block has its label")
        else:
            known[block.id] = block
            if block.deleted_at is None:
                labels.add(block.label)
            history = RestoreHistory(id=block.id, snapshot=one.snapshot, versions=one.versions, shares=one.shares)
            changes += (PutBlock(block), history)
    decision = decided(placed, changes, strict)
    decision.outcome.added = len(decision.changes) // 2
    return decision


def _labelled(label: str, scope: Scope) -> Generator[Read[Any], Any, bool]:
    """Whether a block of the scope's own has the label."""
    found = yield from read(BlocksNamed(label))
    return any(block.shared_from is None and block.user == scope.user for block in found)


def restore_entries(entries: Sequence[ArchivalEntry], *, strict: bool) -> Plan[Placed]:
    """Stores the archival entries that aren't there."""
    use = yield from read(IdsOfBlocks(tuple(entry.id for entry in entries)))
    placed, changes, known = Placed(), list[Change](), dict(use.entries)
    for index, entry in enumerate(entries):
        held = known.get(entry.id)
        if entry.id in use.forgotten:
            placed.forgotten += 1
        elif entry.id in use.elsewhere or entry.id in use.blocks:
            placed.clash(index, TAKEN)
        elif held is None:
            known[entry.id] = entry
            changes.append(PutEntry(entry))
        elif (held.text, held.metadata) == (entry.text, entry.metadata):
            placed.known += 1
        else:
            placed.clash(index, OTHER)
    return decided(placed, changes, strict)


def restore_contradictions(records: Sequence[ContradictionRecord], *, scope: Scope, strict: bool) -> Plan[Placed]:
    """Records the contradictions that aren't recorded. One that is recorded stays as it is here, resolved or not; one whose
    memory is forgotten here isn't recorded. `strict`: where any of them clashes, none is recorded."""
    pairs = tuple((record.older, record.newer) for record in records)
    sides = tuple(dict.fromkeys(id for pair in pairs for id in pair))
    here = {id for id, memory in (yield from read(MemoriesById(sides))).items() if memory.user == scope.user}
    use = yield from read(IdsInUse(sides))
    held = yield from read(ConflictsBetween(pairs, tuple(record.id for record in records)))
    known, taken = set(held.pairs), set(held.taken)
    placed, changes = Placed(), list[Change]()
    for index, (record, pair) in enumerate(zip(records, pairs, strict=True)):
        if pair in known:
            placed.known += 1
        elif not use.forgotten.isdisjoint(pair):
            placed.forgotten += 1
        elif not here.issuperset(pair):
            placed.clash(index, "one of its memories isn't stored here")
        elif record.id in taken:
            placed.clash(index, "its id stands for another contradiction of this store")
        else:
            known.add(pair)
            taken.add(record.id)
            changes.append(RestoreConflict(record))
    return decided(placed, changes, strict)


def restore_messages(
    events: Sequence[Event],
    analyses: Sequence[tuple[Analysis, ...]],
    telling: Sequence[tuple[TellingClause, ...]],
    *,
    next: int,
    strict: bool,
) -> Plan[Placed]:
    """Stores the messages of one session that aren't there, each at its position. `analyses` are those of their texts, and
    `telling` their telling clauses; `next` is the position of the session's next message. A message clashes where its position
    or the caller's id is another message's. `strict`: where any of them clashes, none is stored."""
    session, ids = events[0].session, tuple(event.id for event in events)
    use = yield from read(IdsInUse(ids))
    known = yield from read(EventsById(ids))
    named, positions = set[str](), set[int]()
    if any(event.id not in known for event in events):
        message_ids = tuple(event.message_id for event in events if event.message_id is not None)
        named |= (yield from read(EventsByMessageId(session, message_ids))).keys()
        first, last = min(event.position for event in events), max(event.position for event in events)
        positions |= yield from read(PositionsTaken(session, first, last))
    placed, changes = Placed(), list[Change]()
    for index, (event, analysis, told) in enumerate(zip(events, analyses, telling, strict=True)):
        held = known.get(event.id)
        if event.id in use.forgotten:
            placed.forgotten += 1
        elif event.id in use.elsewhere:
            placed.clash(index, TAKEN)
        elif held is not None:
            if _same(held, event):
                placed.known += 1
            else:
                placed.clash(index, OTHER)
        elif event.position in positions:
            placed.clash(index, "another message has its position in the session")
        elif event.message_id in named:
            placed.clash(index, "another message of the session has its id")
        else:
            known[event.id] = event
            positions.add(event.position)
            if event.message_id is not None:
                named.add(event.message_id)
            changes.append(PutEvent(event, analysis, told))
    decision = decided(placed, changes, strict)
    if not decision.changes or next <= max(event.position for event in events) + 1:
        return decision
    return Decision((*decision.changes, ReservePositions(session=session, next=next)), decision.outcome)


def restore_marks(marks: Sequence[MarkedLine], *, strict: bool) -> Plan[Placed]:
    """Marks the lines that aren't marked. A line that is stays as it is here; one whose message or memory is forgotten here
    isn't marked. `strict`: where any of them clashes, none is marked."""
    use = yield from read(IdsInUse(tuple(thing_of(one.line) for one in marks)))
    known = yield from read(LinesNamed(tuple(one.line for one in marks)))
    placed, changes, marked = Placed(), list[Change](), set(known.marks)
    for index, one in enumerate(marks):
        if one.line in marked:
            placed.known += 1
        elif thing_of(one.line) in use.forgotten:
            placed.forgotten += 1
        elif thing_of(one.line) not in known.things:
            placed.clash(index, "its message or memory isn't stored here")
        else:
            marked.add(one.line)
            changes.append(MarkLine(one.line, one.mark, one.at))
    return decided(placed, changes, strict)


def restore_tombstones(tombstones: Sequence[Tombstone], *, ownerless: bool) -> Plan[Placed]:
    """Keeps the ids of what was forgotten. Where something is stored under such an id it stays: restoring removes nothing."""
    ids = tuple(stone.id for stone in tombstones)
    use = yield from read(IdsInUse(ids))
    stored = use.elsewhere | (yield from read(MemoriesById(ids))).keys() | (yield from read(EventsById(ids))).keys()
    archive = yield from read(IdsOfBlocks(ids))
    stored |= archive.blocks.keys() | archive.entries.keys()
    stored |= yield from read(GraphStored(ids))
    stored |= (yield from read(HistoryIdsInUse(ids))).own.keys()
    placed, new = Placed(), dict[str, Tombstone]()
    for index, stone in enumerate(tombstones):
        if stone.id in use.forgotten or stone.id in new:
            placed.known += 1
        elif stone.id in stored:
            placed.clash(index, "what was forgotten there is stored here, and stays: forget it here too, or leave the line out")
        else:
            new[stone.id] = stone
    changes = [PutTombstones(tombstones=tuple(new.values()), ownerless=ownerless)] if new else []
    placed.added = len(new)
    return Decision(tuple(changes), placed)


def _same(held: Event, event: Event) -> bool:
    return _identity(held) == _identity(event)


def _identity(event: Event) -> tuple[object, ...]:
    return event.session, event.position, event.role, event.text, event.message_id
