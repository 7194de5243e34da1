"""Expand: reads the whole of what a line of a context stands for: a task's result, a message, a memory, what was archived."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from germane.api.arguments import normalise_filters
from germane.api.context_build import ADDITIONAL
from germane.api.identify import find_thing
from germane.api.wiring import Parts
from germane.blocks.shown import stored_id
from germane.compaction.shown_entry import shown_entry
from germane.errors import InvalidInput, NotFound
from germane.memories.memory import Memory
from germane.store import ScopedStore
from germane.tasks.frame import TaskArtifact, TaskFrame
from germane.types.built_context import BuiltContext
from germane.types.candidate import Chosen
from germane.types.context import Context
from germane.types.limits import shown
from germane.types.query import Filters
from germane.types.scope import Scope

__all__ = ["Expanded", "expanded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expanded:
    """The whole text of a stored thing. `kind` is task, memory, message, block, entry, archived (what a compaction took out),
    or the category of another item of the context; `artifacts` are what a task points to: each can be expanded by its id."""

    id: str
    kind: str
    title: str = ""
    text: str
    artifacts: tuple[TaskArtifact, ...] = ()

    def __repr__(self) -> str:
        return f"<Expanded {self.kind} {self.id} {len(self.text)} chars>"


async def expanded(
    parts: Parts, scope: Scope, handle: str, context: Context | BuiltContext | None, filters: Filters | None = None
) -> Expanded:
    """Returns what `handle` stands for: a handle of `context`, one of an artifact (`m3.1`), or an id, as far as it may be
    shown now: by the store's own rules, and by `filters`, which are those of the context where none are given. Raises
    `NotFound`, and `InvalidInput` where several things begin with that id."""
    store, at, filters = parts.store.within(scope), parts.clock.now(), normalise_filters(filters, scope.zone)
    id, number = _named(handle, context)
    item: Chosen | None = None
    if context is not None:
        item = next((one for one in context.items if one.id == id), None)
        query = context.trace.query
        if query is not None:
            filters, at = filters or query.filters, query.at if query.dated else at
    wanted = filters or Filters()
    if item is not None and number is None and item.scored.candidate.only_from(_own(parts, context)):
        return _as_shown(item)
    if (frame := await _task(store, id, wanted)) is not None:
        if number is None:
            return _of_task(frame, frame.result if frame.result and not frame.open else frame.goal)
        if not 1 <= number <= len(frame.artifacts):
            raise NotFound(f"the task of {shown(handle)} has {len(frame.artifacts)} artifacts, counted from 1")
        id, item = frame.artifacts[number - 1].id, None
        if (other := await _task(store, id, wanted)) is not None:
            return _of_task(other, other.result or other.goal)
    elif number is not None:
        raise NotFound(f"{shown(handle)} names an artifact, and the line isn't that of a task")
    return (
        await _thing(store, id, at, wanted) or await _archived(store, id, wanted) or await _other(store, id, item, at, wanted)
    )


def _named(handle: str, context: Context | BuiltContext | None) -> tuple[str, int | None]:
    """The id that a handle stands for, and the number of the artifact that it names."""
    if context is None:
        return handle, None
    if not isinstance(context, Context | BuiltContext):
        raise InvalidInput(f"context must be what assemble or build returned, not {type(context).__name__}")
    known = context.attribution
    if handle in known:
        return known[handle], None
    line, point, number = handle.rpartition(".")
    if point and line in known and 0 < len(number) <= 9 and number.isascii() and number.isdecimal():
        return known[line], int(number)
    return handle, None


def _as_shown(item: Chosen) -> Expanded:
    candidate = item.scored.candidate
    return Expanded(id=item.id, kind=candidate.category, title=candidate.title, text=candidate.text)


def _of_task(frame: TaskFrame, text: str) -> Expanded:
    return Expanded(id=frame.id, kind="task", title=frame.goal, text=text, artifacts=frame.artifacts)


async def _task(store: ScopedStore, name: str, filters: Filters) -> TaskFrame | None:
    found = await store.tasks.frames([stored_id(name)])
    return found[0] if found and found[0].sensitivity in filters.sensitivities else None


async def _thing(store: ScopedStore, name: str, at: datetime, filters: Filters) -> Expanded | None:
    """What has exactly this id and may be shown; None where nothing has."""
    id = stored_id(name)
    if not await store.allowed([name, id], at=at, filters=filters):
        return None
    for event in await store.events.get([id]):
        return Expanded(id=id, kind="message", title=event.name or event.role, text=event.text)
    for memory in await store.memories.get([id]):
        return Expanded(id=id, kind="memory", title=memory.kind, text=memory.text)
    for entry in await store.blocks.entries([id]):
        return Expanded(id=id, kind="entry", text=entry.text)
    for block in await store.blocks.named([id]):
        return Expanded(id=id, kind="block", title=block.label, text=block.text)
    return None


async def _archived(store: ScopedStore, handle: str, filters: Filters) -> Expanded | None:
    """What a compaction took out of a prompt, by its handle; it is private."""
    found = await store.history.archived([handle]) if "private" in filters.sensitivities else ()
    return Expanded(id=handle, kind="archived", title=found[0].entry.title, text=shown_entry(found[0].entry)) if found else None


async def _other(store: ScopedStore, name: str, item: Chosen | None, at: datetime, filters: Filters) -> Expanded:
    """What the context shows and is no text of its own, such as a relation; else what the beginning of an id, or a caller's own
    id of a message, stands for."""
    if item is not None and await store.allowed([name], at=at, filters=filters):
        return _as_shown(item)
    thing = await find_thing(store, name)
    if not await store.allowed([thing.id], at=at, filters=filters):
        raise NotFound(f"nothing that {shown(name)} stands for is here: it was forgotten, has ended, or isn't yours to see")
    if isinstance(thing, Memory):
        return Expanded(id=thing.id, kind="memory", title=thing.kind, text=thing.text)
    return Expanded(id=thing.id, kind="message", title=thing.name or thing.role, text=thing.text)


def _own(parts: Parts, context: Context | BuiltContext | None) -> frozenset[str]:
    """The sources whose items aren't the store's: those that were registered, and what a caller gave to `build`."""
    given = {ADDITIONAL} if isinstance(context, BuiltContext) else set[str]()
    return frozenset({*parts.engine.sources, *given})
