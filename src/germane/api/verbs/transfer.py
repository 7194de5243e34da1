"""Transfer: one call of `restore` or `export`: stores the lines of an export as they were, or gives them (MEM-3).

Each batch of a restore is durable by itself. Restoring again after an interruption completes it: what is stored already isn't
stored twice. Texts are stored as they stand, without the checks of new texts: an export of ours comes back byte for byte.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, cast

from germane.api.wiring import Parts
from germane.errors import Conflict, GermaneError, InvalidInput
from germane.extraction.messages import told_by
from germane.kinds.blocks.value import ArchivalEntry
from germane.kinds.conversations.value import KeptEntry, KeptSummary
from germane.kinds.events.value import Event
from germane.kinds.memories.conflicts import ContradictionRecord
from germane.kinds.memories.value import Memory
from germane.kinds.profile.reads import MarkedLine
from germane.kinds.profile.telling import TellingClause
from germane.kinds.tasks.value import TaskFrame
from germane.ports.background import Background
from germane.search.unit import Analysis, analyse_parts
from germane.stores.contract import Store
from germane.transfer.contents import (
    Contents,
    Owned,
    Owner,
    Reach,
    SessionRecord,
    StoredBlock,
    StoredDirective,
    StoredEntity,
    StoredPattern,
    StoredRelation,
    StoredStack,
    Thing,
)
from germane.transfer.lines import Header, header_line, line_of, parse_line, read_line
from germane.transfer.restore import (
    Placed,
    restore_archived,
    restore_blocks,
    restore_contradictions,
    restore_directive,
    restore_entries,
    restore_marks,
    restore_memories,
    restore_messages,
    restore_stacks,
    restore_summaries,
    restore_tasks,
    restore_tombstones,
)
from germane.transfer.restore_graph import restore_entities, restore_patterns, restore_relations
from germane.types.candidate import LONG_TEXT
from germane.types.inventory import Tombstone
from germane.types.limits import VALUES_IN_ALL
from germane.types.nested_data import bounded
from germane.types.plan import Plan
from germane.types.scope import Scope

Line = Mapping[str, Any] | str | bytes
"""A line of an export: the dict, or its JSON."""

_MAX_THINGS = 128
"""Things that are written at once: about 20 ms of the writer."""
_MAX_CHARACTERS = 65_536
"""Characters of their texts likewise. A longer text is written alone."""


@dataclass(slots=True, kw_only=True)
class Restored:
    """What a restoring did. The counts are of what was stored by it. `known` was stored before, `forgotten` was forgotten in
    this store and isn't stored again, `conflicts` are the numbers of the lines that were skipped because something else is
    stored in their place."""

    directives: int = 0
    memories: int = 0
    contradictions: int = 0
    blocks: int = 0
    entries: int = 0
    messages: int = 0
    entities: int = 0
    relations: int = 0
    patterns: int = 0
    tasks: int = 0
    task_stacks: int = 0
    """Sessions whose stack was restored."""
    archived: int = 0
    """Entries of the archive: what compactions took out."""
    summaries: int = 0
    profile_marks: int = 0
    """Lines of profiles that were pinned or hidden."""
    tombstones: int = 0
    known: int = 0
    forgotten: int = 0
    conflicts: list[int] = field(default_factory=list)


async def restore_lines(
    parts: Parts,
    lines: Iterable[Line] | AsyncIterable[Line],
    *,
    target: Reach | None = None,
    into: bool = False,
    skip_conflicts: bool = False,
) -> Restored:
    """Restores the lines of an export, and then gives the texts the vectors that they lack.

    Without `target` each line goes where it came from. With it every line has to be of that scope; with `into` what is of the
    export's scope goes into the target instead. `skip_conflicts` skips lines whose place is taken."""
    restoring = _Restoring(parts.store, parts.background, target=target, into=into, skip_conflicts=skip_conflicts)
    try:
        return await restoring.run(lines)
    finally:
        for scope in restoring.directives:
            parts.engine.directive_cache.replace(scope)
        if not parts.embedder.quick or restoring.long:
            await parts.catch_up.settle()


class _Planned(NamedTuple):
    """A batch that waits to be written: what it holds, for whom, its plan, and the numbers of its lines."""

    name: str
    scope: Scope
    plan: Plan[Placed]
    numbers: list[int]


class _Restoring:
    """The state of one `restored`."""

    def __init__(self, store: Store, background: Background, *, target: Reach | None, into: bool, skip_conflicts: bool) -> None:
        self._store, self._background = store, background
        self._target, self._into, self._strict = target, into, not skip_conflicts
        self.long = False
        """Whether a message is so long that its parts may be left without vectors."""
        self.directives: list[Scope] = []
        """The scopes whose directive was set."""
        self._restored = Restored()
        self._header: Header | None = None
        self._seen = 0
        self._batch: list[tuple[int, Owned]] = []
        self._planned: list[_Planned] = []
        self._waiting = self._characters = 0
        self._session: tuple[Owner, SessionRecord] | None = None

    async def run(self, lines: Iterable[Line] | AsyncIterable[Line]) -> Restored:
        """Restores all lines. Raises `InvalidInput` for a line that can't be read, for an export of another scope, and for one
        that was cut off; and `Conflict`. Each names the line's number; what stands before it may be stored then."""
        number = 0
        async for line in _each(lines):
            number += 1
            if isinstance(line, str | bytes) and not line.strip():
                continue
            try:
                thing = parse_line(read_line(line) if isinstance(line, str | bytes) else line)
                if isinstance(thing, Header):
                    self._begin(thing)
                    continue
                owned = self._placed(thing)
            except InvalidInput as error:
                await self._write()
                raise error.under(f"line {number}") from None
            await self._take(number, owned)
        await self._write()
        if self._header is None:
            raise InvalidInput("there is nothing in it", advice="give the lines of an export, its header first")
        if self._seen < self._header.contents.total:
            raise InvalidInput(
                f"the export was cut off after {self._seen:,} of {self._header.contents.total:,} things, which are stored",
                advice="get the whole of it and import it again",
            )
        return self._restored

    def _begin(self, header: Header) -> None:
        if self._header is not None:
            raise InvalidInput("a second header", advice="import the exports one by one")
        target = self._target
        if target is not None and not self._into and not _is_inside(header.reach, target):
            raise InvalidInput(
                f"the export is of {header.reach}, not of {target}",
                advice=(
                    "import it without naming a scope, so that it goes where it came from, or say that "
                    "it is to go into another one"
                ),
            )
        several = header.reach.agent is None or (header.reach.all_users and target is not None and target.user is not None)
        if target is not None and self._into and several:
            raise InvalidInput(
                f"the export is of {header.reach}: only that of one agent, or one user, can go into another scope"
            )
        self._header = header

    def _placed(self, owned: Owned) -> Owned:
        """Returns the thing with the owner that it gets."""
        if self._header is None:
            raise InvalidInput("the header is missing: the first line of an export says what follows")
        self._seen += 1
        reach, target, owner = self._header.reach, self._target, owned.owner
        if not reach.covers(owner):
            raise InvalidInput(f"it isn't of {reach}, of which the header says that the export is")
        if target is None or not self._into:
            return owned
        user = target.user if owner.user == reach.user else owner.user
        moved, thing = Owner(target.org, target.agent, user), owned.thing
        if isinstance(thing, StoredBlock):
            return Owned(moved, replace(thing, block=replace(thing.block, agent=target.agent or "", user=user)))
        if isinstance(thing, StoredEntity):
            return Owned(moved, replace(thing, entity=replace(thing.entity, user=user)))
        if isinstance(thing, StoredRelation):
            return Owned(moved, replace(thing, relation=replace(thing.relation, user=user)))
        if isinstance(thing, StoredPattern):
            return Owned(moved, replace(thing, pattern=replace(thing.pattern, user=user)))
        if isinstance(thing, Event):
            return Owned(moved, thing._replace(user=user))
        if isinstance(thing, Memory | ArchivalEntry | TaskFrame):
            return Owned(moved, replace(thing, user=user))
        return Owned(moved, thing)

    async def _take(self, number: int, owned: Owned) -> None:
        """Adds the thing to its batch; what doesn't belong into the same batch begins another one."""
        thing = owned.thing
        if self._batch and not _share_batch(self._batch[-1][1], owned):
            await self._finish()
        if isinstance(thing, SessionRecord):
            self._session = (owned.owner, thing)
            return
        size = _size(thing)
        if self._waiting == _MAX_THINGS or (self._waiting and self._characters + size > _MAX_CHARACTERS):
            await self._write()
        self._batch.append((number, owned))
        self._waiting += 1
        self._characters += size
        self.long = self.long or size > LONG_TEXT // 4

    async def _finish(self) -> None:
        """Makes the plan of the batch, which is written together with those of other batches."""
        batch, self._batch = self._batch, []
        if batch:
            owner = batch[0][1].owner
            scope = Scope() if owner.org is None else Scope(org=owner.org, agent=owner.agent or "", user=owner.user)
            name, plan = await self._plan([owned.thing for _, owned in batch], owner, scope)
            self._planned.append(_Planned(name, scope, plan, [number for number, _ in batch]))

    async def _write(self) -> None:
        """Writes the batches that wait, in one commit where the writer has nothing else to do."""
        await self._finish()
        planned, self._planned = self._planned, []
        self._waiting = self._characters = 0
        if not planned:
            return
        async with self._background.step():
            commits = [self._store.within(batch.scope).commit(batch.plan) for batch in planned]
            outcomes = await asyncio.gather(*commits, return_exceptions=True)
        for batch, placed in zip(planned, outcomes, strict=True):
            if isinstance(placed, GermaneError):
                raise type(placed)(f"lines {batch.numbers[0]} to {batch.numbers[-1]}: {placed}") from placed
            if isinstance(placed, BaseException):
                raise placed
            if batch.name == "directives" and placed.added:
                self.directives.append(batch.scope)
            self._count(batch.name, placed, batch.numbers)

    async def _plan(self, things: list[Any], owner: Owner, scope: Scope) -> tuple[str, Plan[Placed]]:
        match things[0]:
            case StoredDirective(text, id):
                return "directives", restore_directive(text, id, scope=scope)
            case Memory():
                return "memories", restore_memories(things, scope=scope, strict=self._strict)
            case ContradictionRecord():
                return "contradictions", restore_contradictions(things, scope=scope, strict=self._strict)
            case StoredBlock():
                return "blocks", restore_blocks(things, scope=scope, strict=self._strict)
            case ArchivalEntry():
                return "entries", restore_entries(things, strict=self._strict)
            case StoredEntity():
                return "entities", restore_entities(things, strict=self._strict)
            case StoredRelation():
                return "relations", restore_relations(things, strict=self._strict)
            case StoredPattern():
                return "patterns", restore_patterns(things, strict=self._strict)
            case TaskFrame():
                return "tasks", restore_tasks(things, strict=self._strict)
            case StoredStack():
                return "task_stacks", restore_stacks(things)
            case KeptEntry():
                return "archived", restore_archived(things, strict=self._strict)
            case KeptSummary():
                return "summaries", restore_summaries(things, strict=self._strict)
            case MarkedLine():
                return "profile_marks", restore_marks(things, strict=self._strict)
            case Tombstone():
                return "tombstones", restore_tombstones(things, ownerless=owner.org is None)
        record, session = self._session, things[0].session
        follows = record[1].next if record is not None and (record[0], record[1].id) == (owner, session) else 0
        analyses, telling = await self._background.run(partial(self._derived, things))
        return "messages", restore_messages(things, analyses, telling, next=follows, strict=self._strict)

    def _derived(self, events: list[Event]) -> tuple[list[tuple[Analysis, ...]], list[tuple[TellingClause, ...]]]:
        """The analyses of the events' texts, and their telling clauses."""
        analyses = [analyse_parts(event.text, self._background.breath) for event in events]
        return analyses, [told_by(event) for event in events]

    def _count(self, name: str, placed: Placed, numbers: list[int]) -> None:
        clashes = [(numbers[clash.place], clash.why) for clash in placed.clashes]
        if clashes and self._strict and name != "tombstones":
            number, why = clashes[0]
            raise Conflict(f"line {number}: {why}. Nothing of this line is stored: skip conflicts, or take the line out")
        restored = self._restored
        setattr(restored, name, getattr(restored, name) + placed.added)
        restored.known += placed.known
        restored.forgotten += placed.forgotten
        restored.conflicts += [number for number, _ in clashes]


def _is_inside(reach: Reach, target: Reach) -> bool:
    """Whether all of `reach` is within `target`."""
    if target.org is None:
        return True
    same = reach.org == target.org and target.agent in (None, reach.agent)
    return same and (target.all_users or (not reach.all_users and reach.user in (None, target.user)))


def _size(thing: Thing) -> int:
    """The characters or bytes of a thing that take long to write."""
    if isinstance(thing, StoredBlock):
        kept = sum(len(delta or b"") for _, delta in thing.versions)
        return len(thing.block.text) + kept + (len(thing.snapshot[1]) if thing.snapshot else 0)
    if isinstance(thing, StoredEntity):
        return 500 * len(thing.mentions)
    if isinstance(thing, StoredRelation):
        return 500 * len(thing.refs)
    if isinstance(thing, TaskFrame):
        return len(thing.result or "")
    if isinstance(thing, KeptEntry):
        return bounded("messages", thing.entry.messages, VALUES_IN_ALL)[1]
    if isinstance(thing, KeptSummary):
        return len(thing.summary.text)
    return len(thing.text) if isinstance(thing, Event | Memory | ArchivalEntry) else 0


def _share_batch(one: Owned, other: Owned) -> bool:
    """Whether two things may be in one batch."""
    if one.owner != other.owner or type(one.thing) is not type(other.thing) or isinstance(one.thing, StoredDirective):
        return False
    return not isinstance(one.thing, Event) or one.thing.session == getattr(other.thing, "session", None)


async def _each(lines: Iterable[Line] | AsyncIterable[Line]) -> AsyncIterator[Line]:
    if isinstance(lines, AsyncIterable):
        async for line in lines:
            yield line
    elif isinstance(lines, Iterable) and not isinstance(lines, str | bytes | Mapping):
        for line in lines:
            yield line
    else:
        raise InvalidInput(f"must be the lines of an export, one by one, not {type(lines).__name__}", path="lines")


# One call of `export`: plain dicts, which `restore` and `germane import` read back.


Exported = dict[str, Any]


async def export_lines(store: Store, reach: Reach) -> AsyncIterator[Exported]:
    """Yields the header, then one dict for each thing: `{"type": "directive" | "memory" | "block" | "entry" | "session" |
    "message" | "tombstone", …}`, all as it was at the first step. Times are ISO 8601. The key of the nonces, API keys, vectors,
    and records of what was injected are never exported."""
    async with aclosing(cast("Any", store.dump(reach))) as portions:
        async for portion in portions:
            for thing in portion:
                yield header_line(reach, thing) if isinstance(thing, Contents) else line_of(thing)
