"""Task source: the stack of the running session: root goal, current task, the tasks above, results, and the task's activity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from germane.pipeline.gather.candidates import from_event
from germane.pipeline.gather.source import Skipped
from germane.store import ScopedStore
from germane.tasks.frame import TaskFrame
from germane.tasks.shown import TASK_CATEGORY, shown_task, task_hash, task_text
from germane.tasks.view import TaskView
from germane.types.candidate import Candidate
from germane.types.evidence import Evidence
from germane.types.query import Query
from germane.types.strategy import SourcePlan

__all__ = ["TaskSource"]

_ACTIVITY = 30
"""Events of the current task that are offered, the latest."""
_HALF_LIFE = 8
"""Events after which the evidence for being recent has fallen to a half."""


class TaskSource:
    """Offers the frames of a view as required candidates, in the order in which they are written, and the latest events of the
    current task as others (TASK-2). `read` returns the view, None where no task is open, or raises what reading it raised."""

    def __init__(self, store: ScopedStore, read: Callable[[], TaskView | None]) -> None:
        self._store, self._read = store, read

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        if self._store.scope.session is None:
            raise Skipped("no_session")
        view = self._read()
        if view is None:
            raise Skipped("no_task")
        frames = [one for one in _frames(view) if one.id not in query.filters.exclude][: plan.limit]
        return [*frames, *await self._activity(view, query)]

    async def _activity(self, view: TaskView, query: Query) -> list[Candidate]:
        filters = replace(query.said_by_then, task=view.current.id)
        events = await self._store.events.recent(_ACTIVITY, session=self._store.scope.session, filters=filters)
        return [
            from_event(event, "tasks", Evidence(history=0.5 ** (turns / _HALF_LIFE)), at=query.at)
            for turns, event in enumerate(events)
            if view.holds(event.task, event.created_at)
        ]


def _frames(view: TaskView) -> list[Candidate]:
    """Each frame once, in the order in which they are written: from the root down to the results, the current task last."""
    above = [(frame, "above") for frame in reversed(view.ancestors)]
    results = [(frame, "result") for frame in view.results]
    current = [(view.current, "current")] if view.current.id != view.root.id else []
    role = "root" if current else "current"
    listed = [(view.root, role), *above, *results, *current]
    return [_candidate(frame, role, position, view.moves) for position, (frame, role) in enumerate(listed)]


def _candidate(frame: TaskFrame, role: str, position: int, moves: int) -> Candidate:
    name = shown_task(frame, moves if role == "current" else None)
    return Candidate(
        id=name,
        source="tasks",
        category=TASK_CATEGORY,
        text=task_text(frame, role),
        created_at=frame.updated_at,
        kinds=(TASK_CATEGORY, f"task_{role}"),
        evidence=Evidence(),
        sensitivity=frame.sensitivity,
        required=True,
        session=frame.session,
        position=position,
        content_hash=task_hash(name),
        provenance=frame.provenance,
    )
