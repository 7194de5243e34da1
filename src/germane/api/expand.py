"""Expand: reads the whole of what a line of a context stands for: a task's result, a message, a memory, an archival entry."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from germane.blocks.shown import stored_id
from germane.errors import InvalidInput, NotFound
from germane.store import ScopedStore
from germane.tasks.frame import TaskArtifact, TaskFrame
from germane.types.context import Context
from germane.types.limits import shown
from germane.types.query import Filters

__all__ = ["Expanded", "expanded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expanded:
    """The whole text of a stored thing. `kind` is task, memory, message, block or entry; `artifacts` are what a task points
    to: each can be expanded by its id."""

    id: str
    kind: str
    title: str = ""
    text: str
    artifacts: tuple[TaskArtifact, ...] = ()

    def __repr__(self) -> str:
        return f"<Expanded {self.kind} {self.id} {len(self.text)} chars>"


async def expanded(store: ScopedStore, handle: str, context: Context | None, *, at: datetime, filters: Filters) -> Expanded:
    """Returns what `handle` stands for: a handle of `context`, one of an artifact (`m3.1`), or an id. Raises `NotFound`."""
    id, number = _named(handle, context)
    if (frame := await _task(store, id, at, filters)) is not None:
        if number is None:
            text = frame.result if frame.result and not frame.open else frame.goal
            return Expanded(id=frame.id, kind="task", title=frame.goal, text=text, artifacts=frame.artifacts)
        if not 1 <= number <= len(frame.artifacts):
            raise NotFound(f"the task of {shown(handle)} has {len(frame.artifacts)} artifacts, counted from 1")
        id = frame.artifacts[number - 1].id
        if (other := await _task(store, id, at, filters)) is not None:
            text = other.result or other.goal
            return Expanded(id=other.id, kind="task", title=other.goal, text=text, artifacts=other.artifacts)
    elif number is not None:
        raise NotFound(f"{shown(handle)} names an artifact, and the line isn't that of a task")
    return await _thing(store, id, handle, at, filters)


def _named(handle: str, context: Context | None) -> tuple[str, int | None]:
    """The id that a handle stands for, and the number of the artifact that it names."""
    if context is None:
        return handle, None
    if not isinstance(context, Context):
        raise InvalidInput(f"context must be what assemble returned, not {type(context).__name__}")
    known = context.attribution
    if handle in known:
        return known[handle], None
    line, point, number = handle.rpartition(".")
    if point and line in known and 0 < len(number) <= 9 and number.isascii() and number.isdecimal():
        return known[line], int(number)
    return handle, None


async def _task(store: ScopedStore, name: str, at: datetime, filters: Filters) -> TaskFrame | None:
    found = await store.tasks.frames([stored_id(name)])
    return found[0] if found and found[0].sensitivity in filters.sensitivities else None


async def _thing(store: ScopedStore, name: str, handle: str, at: datetime, filters: Filters) -> Expanded:
    id = stored_id(name)
    if await store.allowed([name, id], at=at, filters=filters):
        for event in await store.events.get([id]):
            return Expanded(id=id, kind="message", title=event.name or event.role, text=event.text)
        for memory in await store.memories.get([id]):
            return Expanded(id=id, kind="memory", title=memory.kind, text=memory.text)
        for entry in await store.blocks.entries([id]):
            return Expanded(id=id, kind="entry", text=entry.text)
        for block in await store.blocks.named([id]):
            return Expanded(id=id, kind="block", title=block.label, text=block.text)
    raise NotFound(f"nothing that {shown(handle)} stands for is here: it was forgotten, has ended, or isn't yours to see")
