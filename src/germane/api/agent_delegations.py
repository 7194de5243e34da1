"""Agent delegations: tasks that are given to other agents, as `agent.delegate` and `agent.delegations` (TASK-4)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from germane.api.agent_tasks import Artifacts
from germane.api.arguments import flags, normalise_filters, number
from germane.api.check_messages import conversation
from germane.api.delegation import Delegation
from germane.api.strategies import DEFAULT
from germane.api.wiring import Parts
from germane.dialects.closing import continued
from germane.errors import InvalidInput
from germane.tasks.delegation import check_narrower, check_sensitivities, delegate_task, finish_task
from germane.tasks.frame import Mode, TaskFrame, closing_status
from germane.tasks.new_frame import new_frame, task_outcome
from germane.types.context import Context
from germane.types.ids import uuid7
from germane.types.limits import ID, MESSAGES, NAME, PAGE, shown
from germane.types.limits import text as string
from germane.types.message import Message
from germane.types.query import Filters
from germane.types.scope import Scope
from germane.types.strategy import SourcePlan, Strategy

__all__ = ["BRIEF", "ISOLATED", "Assembling", "Delegations"]

Assembling = Callable[[Scope], Callable[..., Awaitable[Context]]]

BRIEF = replace(DEFAULT, name="brief", need=0.0, effort=None, placement="first")
"""What a brief is assembled with: the default strategy, which uses the tokens it is given, all text first."""
ISOLATED: Strategy = replace(BRIEF, name="isolated", sources=(SourcePlan(name="directive"),))
"""The directive alone."""
_MODES: tuple[Mode, ...] = get_args(Mode)
_CLOSED = "This call was handed to another agent. You are that agent: your task follows."
_TASK = "Your task: {}\nDo only this task, and answer with its result."


class Delegations:
    """The tasks that sessions of one scope gave to other agents."""

    def __init__(self, parts: Parts, scope: Scope, assembling: Assembling) -> None:
        """`assembling` returns the `assemble` of a scope."""
        self._parts, self._scope, self._assembling = parts, scope, assembling
        self._store = parts.store.within(scope)

    async def begin(
        self,
        task: str,
        *,
        mode: str = "brief",
        model: str,
        session: str | None = None,
        messages: Sequence[Mapping[str, Any] | Message] | None = None,
        max_tokens: int = 2000,
        provider: str | None = None,
        filters: Filters | None = None,
        scope: Scope | None = None,
        deadline: float | None = 5.0,
    ) -> Delegation:
        """See `Agent.delegate`."""
        how, named = _mode(mode), self._scope.session if session is None else string("session", session, ID)
        if named is None:
            raise InvalidInput("session is missing: name the conversation that delegates the task")
        if (messages is None) == (how == "fork"):
            wanted = "needs the parent's messages" if how == "fork" else "takes no messages, as it reads what is stored"
            raise InvalidInput(f"mode {how!r} {wanted}")
        child = self._scope if scope is None else scope
        if not isinstance(child, Scope):
            raise InvalidInput(f"scope must be a Scope, not {type(child).__name__}")
        check_narrower(self._scope, child)
        asked = normalise_filters(filters, self._scope.zone)
        shape = self._shape(model, provider)
        prefix = () if messages is None else conversation(messages, MESSAGES)
        forked = continued(prefix, shape, result=_CLOSED, said=_TASK.format(task)) if how == "fork" else None
        frame = await self._opened(task, how, named, asked)
        finish = self._finish
        where = replace(child, session=frame.child_session)
        own = self._assembling(child)
        if forked is not None:
            return Delegation(frame=frame, scope=where, messages=forked, finish=finish, assembling=own)
        context = await self._brief(frame, child, asked, model, shape, max_tokens, deadline, isolated=how == "isolated")
        return Delegation(
            frame=frame,
            scope=where,
            messages=context.messages,
            system=context.system,
            context=context,
            finish=finish,
            assembling=own,
        )

    async def finish(self, id: str, result: str, *, status: str = "complete", artifacts: Artifacts = ()) -> TaskFrame:
        """Ends a delegated task with the result that its agent brought, and returns its frame: a completed (or failed) task
        below the one that delegated it, which `agent.expand` reads back whole. Raises `NotFound`, and `InvalidInput`
        where it has ended already."""
        return await self._finish(id, result, status, artifacts)

    async def list(self, session: str | None = None, *, open: bool = False, limit: int = 100) -> tuple[TaskFrame, ...]:
        """Returns at most `limit` (1 to 1,000) delegated tasks of a session, the latest first; with `open` those that run."""
        number("limit", limit, minimum=1, maximum=PAGE.maximum)
        flags(open=open)
        named = self._scope.session if session is None else string("session", session, ID)
        if named is None:
            raise InvalidInput("session is missing: name the conversation that delegated the tasks")
        return await self._store.tasks.delegations(named, open=open, limit=limit)

    async def allowed(self, session: str, filters: Filters | None = None) -> Filters:
        """Returns the filters that an agent in this session may use: `filters`, or as wide ones as it may. Raises
        `NotPermitted` where the session is that of a delegated task, and `filters` ask for more than its parent allowed."""
        frame = await self._store.tasks.delegated(string("session", session, ID))
        if frame is None:
            return filters or Filters()
        if filters is None:
            return Filters(sensitivities=frame.allowed)
        check_sensitivities(filters.sensitivities, frame.allowed)
        return filters

    async def _opened(self, task: str, mode: Mode, session: str, filters: Filters | None) -> TaskFrame:
        now = self._parts.clock.now()
        frame = new_frame(task, session=session, user=self._scope.user, at=now, delegated=mode, secrets=self._parts.secrets)
        frame = replace(frame, child_session=uuid7(int(now.timestamp() * 1000)))
        allowed = None if filters is None else filters.sensitivities
        return await self._store.journal.commit(delegate_task(frame, limits=self._parts.delegation, allowed=allowed))

    async def _brief(
        self,
        frame: TaskFrame,
        scope: Scope,
        filters: Filters | None,
        model: str,
        provider: str,
        max_tokens: int,
        deadline: float | None,
        *,
        isolated: bool,
    ) -> Context:
        """The context of the other agent: its task is the query over what the parent may see, or nothing but the directive."""
        wanted = replace(filters or Filters(), sensitivities=frame.allowed)
        return await self._assembling(scope)(
            [{"role": "user", "content": frame.goal}],
            model=model,
            provider=provider,
            session=frame.session,
            deadline=deadline,
            max_tokens=max_tokens,
            filters=wanted,
            strategy=ISOLATED if isolated else BRIEF,
            task=False if isolated else None,
        )

    async def _finish(self, id: str, result: str, status: str, artifacts: Artifacts) -> TaskFrame:
        outcome = task_outcome(result, artifacts, secrets=self._parts.secrets)
        plan = finish_task(string("id", id, ID), closing_status(status), outcome, at=self._parts.clock.now())
        return await self._store.journal.commit(plan)

    def _shape(self, model: str, provider: str | None) -> str:
        return self._parts.catalog.find(model).provider if provider is None else string("provider", provider, NAME)


def _mode(value: object) -> Mode:
    for mode in _MODES:
        if value == mode:
            return mode
    raise InvalidInput(f"mode must be one of {', '.join(_MODES)}, not {shown(value)}")
