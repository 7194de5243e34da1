"""Running task: what one assembly knows of its session's task stack, read before the sources run (TASK-2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from germane.events.wording import action_of
from germane.pipeline.assembly_state import PROPAGATED
from germane.pipeline.call_guard import Guard
from germane.pipeline.deadline import Deadline
from germane.pipeline.signals.task import with_goal
from germane.store import ScopedStore
from germane.tasks.view import TaskView
from germane.types.candidate import Candidate, LeftOut, Scored
from germane.types.message import Message
from germane.types.query import Query
from germane.types.request import Request
from germane.types.strategy import Strategy

__all__ = ["NO_TASK", "RunningTask", "running_task"]

_SHARE = 4
"""Reading the stack may take a quarter of the time for gathering."""


@dataclass(frozen=True, slots=True)
class RunningTask:
    """`view` is None where no task is open, and where reading it raised `failure`."""

    view: TaskView | None = None
    failure: BaseException | None = None

    def read(self) -> TaskView | None:
        """Returns the view. Raises what reading it raised."""
        if self.failure is not None:
            raise self.failure
        return self.view

    def joined(self, query: Query, messages: Sequence[Message]) -> Query:
        """The query with the goal of the current task, where there is one that the query's filters allow to be seen."""
        if self.view is None or self.view.current.sensitivity not in query.filters.sensitivities:
            return query
        return with_goal(query, self.view.current.goal, messages)

    def separate(self, ranked: Sequence[Scored]) -> tuple[Sequence[Scored], tuple[LeftOut, ...]]:
        """The candidates of the current task, and those left out: activity of other tasks. Memories and messages belong to
        every task, and so do the session's decisions."""
        view = self.view
        if view is None:
            return ranked, ()
        kept, out = list[Scored](), list[LeftOut]()
        for item in ranked:
            candidate = item.candidate
            if candidate.role or candidate.required or _belongs(view, candidate):
                kept.append(item)
            else:
                out.append(LeftOut(scored=item, reason="other_task"))
        return (kept, tuple(out)) if out else (ranked, ())


def _belongs(view: TaskView, candidate: Candidate) -> bool:
    """Whether the activity is the current task's own, or a decision that binds it."""
    if view.holds(candidate.task, candidate.created_at):
        return True
    decided = action_of(candidate.event_type) == "decision"
    return decided and view.binds(candidate.session, candidate.task, candidate.created_at)


NO_TASK = RunningTask()


async def running_task(
    request: Request, store: ScopedStore, strategy: Strategy, deadline: Deadline, guard: Guard
) -> RunningTask:
    """Reads the stack of the request's session, where the strategy plans the source `tasks` and the request doesn't refuse it.
    Raises nothing but what ends the program: the source reports what failed."""
    planned = any(plan.name == "tasks" and plan.limit > 0 for plan in strategy.sources)
    session = request.scope.session
    if not planned or session is None or request.task is False:
        return NO_TASK
    now = guard.clock.steady()
    patience = None if deadline.gathered is None else max(0.0, deadline.gathered - now) / _SHARE
    named = request.task if isinstance(request.task, str) else None
    try:
        start = partial(store.tasks.view, session, named)
        return RunningTask(await guard.call("task_stack", start, (TaskView, type(None)), patience=patience))
    except PROPAGATED:
        raise
    except BaseException as error:
        return RunningTask(failure=error)
