"""Restore: the plans that store the things of an export as they were: ids, times, positions and counts.

Each plan takes some things of one owner and says which of them it stored. Restoring the same again stores nothing. What was
forgotten in this store isn't stored again, and nothing that is stored is changed or removed.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from germane.kinds.blocks.reads import BlocksNamed, IdsOfBlocks, PutBlock, PutEntry, RestoreVersions
from germane.kinds.blocks.value import ArchivalEntry
from germane.kinds.conversations.reads import CompactionIdsInUse, HandlesKept, PutArchived, PutSummary, SummariesKept
from germane.kinds.conversations.value import KeptEntry, KeptSummary
from germane.kinds.events.reads import EventsById, EventsByMessageId, PositionsTaken, PutEvent, ReservePositions
from germane.kinds.events.value import Event
from germane.kinds.memories.conflicts import ContradictionRecord
from germane.kinds.memories.directive import CurrentDirective, SetDirective
from germane.kinds.memories.reads import (
    ConflictsBetween,
    IdsInUse,
    MemoriesById,
    PutMemory,
    PutTombstones,
    RestoreConflict,
)
from germane.kinds.memories.value import Memory
from germane.kinds.profile.reads import LinesNamed, MarkedLine, MarkLine, thing_of
from germane.kinds.profile.telling import TellingClause
from germane.kinds.tasks.reads import FramesById, HeadOf, PutBranch, PutCheckpoint, PutFrame, PutHead
from germane.kinds.tasks.value import TaskFrame
from germane.search.unit import Analysis
from germane.transfer.contents import StoredBlock, StoredStack
from germane.types.inventory import Tombstone
from germane.types.plan import Change, Decision, Plan, Read, read
from germane.types.scope import Scope


def restore_directive(text: str, id: str = "", *, scope: Scope) -> Plan[Placed]:
    """Sets the directive of the scope's own user (agent-wide where it has none) where there is none, unless the one with this
    id was forgotten here."""
    found = yield from read(CurrentDirective())
    held = found.agent if scope.user is None else found.own
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
            placed.clash(index, TAKEN_ID)
        elif held is None:
            known[memory.id] = memory
            changes.append(PutMemory(memory, restored=True))
        elif (held.kind, held.content) == (memory.kind, memory.content):
            placed.known += 1
        else:
            placed.clash(index, OTHER_CONTENT)
    return decided(placed, changes, strict)


def restore_blocks(blocks: Sequence[StoredBlock], *, scope: Scope, strict: bool) -> Plan[Placed]:
    """Stores the blocks that aren't there, each with its document, its versions and its shares. A block is there where its id
    has the same label and was created at the same time: its content may have changed since, and stays. A block clashes where
    its label is another block's."""
    use = yield from read(IdsOfBlocks(tuple(one.block.id for one in blocks)))
    placed, changes, known, labels = Placed(), list[Change](), dict(use.blocks), set[str]()
    for index, one in enumerate(blocks):
        block, held = one.block, known.get(one.block.id)
        if block.id in use.forgotten:
            placed.forgotten += 1
        elif block.id in use.elsewhere or block.id in use.entries:
            placed.clash(index, TAKEN_ID)
        elif held is not None and (held.label, held.created_at) == (block.label, block.created_at):
            placed.known += 1
        elif held is not None:
            placed.clash(index, OTHER_CONTENT)
        elif block.deleted_at is None and (block.label in labels or (yield from _labelled(block.label, scope))):
            placed.clash(index, "another block has its label")
        else:
            known[block.id] = block
            if block.deleted_at is None:
                labels.add(block.label)
            kept = RestoreVersions(id=block.id, snapshot=one.snapshot, versions=one.versions, shares=one.shares)
            changes += (PutBlock(block), kept)
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
            placed.clash(index, TAKEN_ID)
        elif held is None:
            known[entry.id] = entry
            changes.append(PutEntry(entry))
        elif (held.text, held.metadata) == (entry.text, entry.metadata):
            placed.known += 1
        else:
            placed.clash(index, OTHER_CONTENT)
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
            placed.clash(index, TAKEN_ID)
        elif held is not None:
            if _same(held, event):
                placed.known += 1
            else:
                placed.clash(index, OTHER_CONTENT)
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
    placed, new = Placed(), dict[str, Tombstone]()
    for index, stone in enumerate(tombstones):
        if stone.id in use.forgotten or stone.id in new:
            placed.known += 1
        elif stone.id in use.elsewhere or stone.id in use.own:
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


# Archived entries and summaries.


def restore_archived(entries: Sequence[KeptEntry], *, strict: bool) -> Plan[Placed]:
    """Stores the entries whose handle their session's archive doesn't have. `strict`: where any of them clashes, none is
    stored."""
    use = yield from read(CompactionIdsInUse(tuple(one.id for one in entries)))
    held = set[tuple[str, str]]()
    for session in dict.fromkeys(one.session for one in entries):
        handles = tuple(one.entry.handle for one in entries if one.session == session)
        held |= {(session, handle) for handle in (yield from read(HandlesKept(session, handles)))}
    placed, changes, known = Placed(), list[Change](), dict(use.own)
    for index, one in enumerate(entries):
        under = (one.session, one.entry.handle, "")
        if one.id in use.forgotten:
            placed.forgotten += 1
        elif one.id in use.elsewhere:
            placed.clash(index, TAKEN_ID)
        elif known.get(one.id, under) != under:
            placed.clash(index, OTHER_CONTENT)
        elif one.id in known or under[:2] in held:
            placed.known += 1
        else:
            known[one.id] = under
            held.add(under[:2])
            changes.append(PutArchived(one))
    return decided(placed, changes, strict)


def restore_summaries(summaries: Sequence[KeptSummary], *, strict: bool) -> Plan[Placed]:
    """Stores the summaries whose session has none with their fingerprint and method. `strict`: where any of them clashes, none
    is stored."""
    use = yield from read(CompactionIdsInUse(tuple(one.id for one in summaries)))
    held = set[tuple[str, ...]]()
    for session in dict.fromkeys(one.session for one in summaries):
        fingerprints = tuple(one.fingerprint for one in summaries if one.session == session)
        held |= {_under(one) for one in (yield from read(SummariesKept(session, fingerprints)))}
    placed, changes, known = Placed(), list[Change](), dict(use.own)
    for index, one in enumerate(summaries):
        under = _under(one)
        if one.id in use.forgotten:
            placed.forgotten += 1
        elif one.id in use.elsewhere:
            placed.clash(index, TAKEN_ID)
        elif known.get(one.id, under) != under:
            placed.clash(index, OTHER_CONTENT)
        elif one.id in known or under in held:
            placed.known += 1
        else:
            known[one.id] = under
            held.add(under)
            changes.append(PutSummary(one))
    return decided(placed, changes, strict)


def _under(one: KeptSummary) -> tuple[str, ...]:
    return one.session, one.fingerprint, one.summary.method


# Tasks, and the task stack of each session that has none in this store.


def restore_tasks(frames: Sequence[TaskFrame], *, strict: bool) -> Plan[Placed]:
    """Stores the tasks that aren't there. A task is there where its id has the same session and was created at the same time:
    how it stands may have changed since, and stays. `strict`: where any of them clashes, none is stored."""
    ids = tuple(frame.id for frame in frames)
    use, known = (yield from read(IdsInUse(ids))), dict((yield from read(FramesById(ids))))
    placed, changes = Placed(), list[Change]()
    for index, frame in enumerate(frames):
        held = known.get(frame.id)
        if frame.id in use.forgotten:
            placed.forgotten += 1
        elif frame.id in use.elsewhere:
            placed.clash(index, "its id belongs to another scope of this store")
        elif held is None:
            known[frame.id] = frame
            changes.append(PutFrame(frame))
        elif (held.session, held.created_at) == (frame.session, frame.created_at):
            placed.known += 1
        else:
            placed.clash(index, "its id is stored already, with other content")
    if strict and placed.clashes:
        return Decision((), placed)
    placed.added = len(changes)
    return Decision(tuple(changes), placed)


def restore_stacks(stacks: Sequence[StoredStack]) -> Plan[Placed]:
    """Stores where the sessions stand that have no tasks here yet; the others stay where they stand. What a stack says of tasks
    that were forgotten here is left out."""
    placed, changes = Placed(), list[Change]()
    for stack in stacks:
        if (yield from read(HeadOf(stack.session))) is not None:
            placed.known += 1
            continue
        placed.added += 1
        named = {id for one in stack.branches for id in (one.base, one.root, one.current)}
        named |= {one.frame for one in stack.checkpoints}
        here = yield from read(FramesById(tuple(sorted(id for id in named if id is not None))))
        for one in stack.branches:
            base, root, current = (id if id in here else None for id in (one.base, one.root, one.current))
            changes.append(PutBranch(replace(one, base=base, root=root, current=current)))
        for place in stack.checkpoints:
            changes.append(PutCheckpoint(place if place.frame in here else replace(place, frame=None)))
        changes.append(PutHead(stack.session, stack.branch, stack.moves))
    return Decision(tuple(changes), placed)


# What became of the things that were to be restored.


class Clash(NamedTuple):
    """A thing that can't be stored, by its place among those given, and the reason."""

    place: int
    why: str


@dataclass(slots=True)
class Placed:
    """What became of some things: how many were `added`, `known` already, not stored because they are `forgotten` here, or
    `clash` with what is stored."""

    added: int = 0
    known: int = 0
    forgotten: int = 0
    clashes: list[Clash] = field(default_factory=list)

    def clash(self, place: int, why: str) -> None:
        self.clashes.append(Clash(place, why))


TAKEN_ID = "its id belongs to another scope of this store"
OTHER_CONTENT = "its id is stored already, with other content"


def decided(placed: Placed, changes: list[Change], strict: bool) -> Decision[Placed]:
    """Returns the decision, which counts the changes as added; `strict`: where anything clashes, nothing is stored."""
    if strict and placed.clashes:
        return Decision((), placed)
    placed.added = len(changes)
    return Decision(tuple(changes), placed)
