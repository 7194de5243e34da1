"""Handle of tasks: the task stack of one scope, as `agent.tasks`, and tasks that are given to other agents (TASK-4).

`agent.tasks` pushes, pops, blocks and branches tasks, and reads pointers that expand. `agent.delegate` and `agent.delegations`
give a task to another agent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, get_args

from germane.api.arguments import check_conversation, normalise_filters
from germane.api.strategies import DEFAULT
from germane.api.verbs.expand import Expanded, expand_item
from germane.api.wiring import Parts
from germane.dialects.edits import continued
from germane.errors import InvalidInput, NotFound
from germane.kinds.tasks.branch import (
    abandon_branch,
    branch_name,
    check_narrower,
    check_sensitivities,
    delegate_task,
    finish_task,
    inject_branch,
    make_checkpoint,
    open_branch,
    switch_branch,
)
from germane.kinds.tasks.plans import block_task, new_frame, pop_task, push_task, resume_task, task_outcome
from germane.kinds.tasks.reads import BranchesOf, DelegatedFrames, DelegationInto, FramesById, ListFrames, StackView
from germane.kinds.tasks.value import (
    STATUSES,
    Mode,
    TaskArtifact,
    TaskBranch,
    TaskCheckpoint,
    TaskFrame,
    TaskStatus,
    closing_status,
)
from germane.text.secrets.detection import refuse_in_name
from germane.types.candidate import Provenance
from germane.types.checks import check_flags, check_one_of, check_text, check_type, check_whole_number
from germane.types.context import BuiltContext, Context
from germane.types.limits import ID, MESSAGES, NAME, PAGE, TASK_GOAL
from germane.types.message import Message
from germane.types.operation import operation
from germane.types.plan import Plan, uuid7
from germane.types.query import Filters
from germane.types.scope import Scope
from germane.types.strategy import SourcePlan, Strategy

T = TypeVar("T")

Artifacts = Iterable[str | tuple[str, str] | TaskArtifact]
"""Ids of stored things that a task points to, each alone or with a title."""


class AgentTasks:
    """What one scope's sessions are working on. Each session has a stack of its own; `session` may be left out where the scope
    names one. Several processes may work on the same stack. Every call raises `InvalidInput` for what it can't use, and
    `NotFound` for tasks, branches and checkpoints that aren't there."""

    def __init__(self, parts: Parts, scope: Scope) -> None:
        self._parts, self._scope = parts, scope
        self._store = parts.store.within(scope)

    @operation("write")
    async def push(
        self, goal: str, *, session: str | None = None, sensitivity: str = "private", provenance: Provenance | None = None
    ) -> TaskFrame:
        """Begins a task below the current one, which may be none, and returns its frame: it is the current one now. Raises
        `InvalidInput` beyond 32 levels, 256 open tasks or 10,000 tasks of the session."""
        frame = new_frame(
            goal,
            session=self._named(session),
            user=self._scope.user,
            at=self._parts.clock.now(),
            sensitivity=sensitivity,
            provenance=provenance,
            secrets=self._parts.secrets,
        )
        return await self._commit(push_task(frame))

    @operation("write")
    async def pop(
        self, result: str, *, session: str | None = None, status: str = "complete", artifacts: Artifacts = ()
    ) -> TaskFrame:
        """Ends the current task with its result and returns its frame; the task above it is the current one now. `status` is
        complete or failed (then `result` says what went wrong). `artifacts` are ids of stored things that belong to the
        result, each alone or with a title; `expand` reads them back. Raises `InvalidInput` where tasks below are open: the
        message has their ids."""
        ended, outcome = closing_status(status), task_outcome(result, artifacts, secrets=self._parts.secrets)
        return await self._commit(pop_task(self._session(session), ended, outcome, at=self._parts.clock.now()))

    @operation("write")
    async def fail(self, result: str, *, session: str | None = None, artifacts: Artifacts = ()) -> TaskFrame:
        """As `pop` with the status failed."""
        return await self.pop(result, session=session, status="failed", artifacts=artifacts)

    @operation("write")
    async def block(self, reason: str, *, session: str | None = None) -> TaskFrame:
        """Marks the current task as blocked and returns its frame. The task above it is the current one then, so that other
        work can go on; `resume` comes back to it."""
        check_text("reason", reason, TASK_GOAL)
        outcome = task_outcome(reason, secrets=self._parts.secrets)
        return await self._commit(block_task(self._session(session), outcome, at=self._parts.clock.now()))

    @operation("write")
    async def resume(self, id: str | None = None, *, session: str | None = None) -> TaskFrame:
        """Makes an open task of the running branch the current one, active again where it was blocked. Without an id: the one
        blocked task that the session stands at, or that lies below."""
        wanted = None if id is None else check_text("id", id, ID)
        return await self._commit(resume_task(self._session(session), wanted, at=self._parts.clock.now()))

    @operation("read")
    async def peek(self, session: str | None = None) -> TaskFrame | None:
        """Returns the current task; None where the stack is empty."""
        view = await self._store.ask(StackView(self._session(session)))
        return None if view is None else view.current

    @operation("read")
    async def path(self, session: str | None = None) -> tuple[TaskFrame, ...]:
        """Returns the tasks from the root to the current one; () where the stack is empty."""
        view = await self._store.ask(StackView(self._session(session)))
        return () if view is None else view.path

    @operation("read")
    async def get(self, id: str) -> TaskFrame:
        """Returns one task, of any session of the scope's own. Raises `NotFound`."""
        found = await self._store.ask(FramesById((check_text("id", id, ID),)))
        if id not in found:
            raise NotFound("no task {} here", id)
        return found[id]

    @operation("read")
    async def list(self, session: str | None = None, *, status: str | None = None, limit: int = 100) -> tuple[TaskFrame, ...]:
        """Returns at most `limit` (1 to 1,000) tasks, the latest first: of one session, or of all where neither the call nor
        the scope names one. `status` is active, complete, blocked or failed."""
        check_whole_number("limit", limit, low=1, high=PAGE.maximum)
        named = self._scope.session if session is None else check_text("session", session, ID)
        return await self._store.ask(ListFrames(named, None if status is None else _status(status), limit))

    @operation("write")
    async def checkpoint(self, name: str, *, session: str | None = None) -> TaskCheckpoint:
        """Remembers under a name where the session stands, so that a branch can begin there later. A checkpoint of that name
        moves here."""
        made = make_checkpoint(self._name(name), self._named(session), at=self._parts.clock.now())
        return await self._commit(made)

    @operation("write")
    async def branch(
        self, name: str, goal: str | None = None, *, session: str | None = None, checkpoint: str | None = None
    ) -> TaskFrame:
        """Opens a branch where the session stands, or at a checkpoint, and switches to it. It begins with a task of its own,
        which is returned: `goal`, or else the goal of the task that it leaves from. What happens on a branch isn't seen on the
        branch that it left until `inject`. Raises `Conflict` where the name is taken."""
        title = self._name(name)
        frame = new_frame(
            title if goal is None else goal,
            session=self._named(session),
            user=self._scope.user,
            at=self._parts.clock.now(),
            secrets=self._parts.secrets,
        )
        place = None if checkpoint is None else branch_name("checkpoint", checkpoint)
        return await self._commit(open_branch(title, frame, checkpoint=place, same_goal=goal is None))

    @operation("write")
    async def switch(self, name: str, *, session: str | None = None) -> TaskBranch:
        """Makes a branch the running one. The first branch of a session is `main`."""
        return await self._commit(switch_branch(branch_name("name", name), self._session(session)))

    @operation("write")
    async def inject(
        self, name: str, result: str | None = None, *, session: str | None = None, artifacts: Artifacts = ()
    ) -> TaskFrame:
        """Brings a branch's result to the running branch and ends that branch: a completed task with the result is added below
        the current one, and returned; it points to the branch's own task. `result` is needed where that task is still open."""
        if result is None and artifacts:
            raise InvalidInput("are given without a result", path="artifacts", advice="give both, or neither")
        outcome = None if result is None else task_outcome(result, artifacts, secrets=self._parts.secrets)
        wanted, now = branch_name("name", name), self._parts.clock.now()
        return await self._commit(inject_branch(wanted, self._session(session), outcome, user=self._scope.user, at=now))

    @operation("write")
    async def abandon(self, name: str, *, session: str | None = None) -> TaskBranch:
        """Ends a branch without a result; its tasks count no more. Idempotent."""
        plan = abandon_branch(branch_name("name", name), self._session(session), at=self._parts.clock.now())
        return await self._commit(plan)

    @operation("read")
    async def branches(self, session: str | None = None) -> tuple[TaskBranch, ...]:
        """Returns the branches of a session, the oldest first."""
        return await self._store.ask(BranchesOf(self._session(session)))

    async def expand(
        self, handle: str, context: Context | BuiltContext | None = None, *, filters: Filters | None = None
    ) -> Expanded:
        """As `agent.expand`, and returns beside the text what it is, and the artifacts of a task. `filters` limits the
        sensitivities as in `assemble` (default: those of `context`). Raises `NotFound`, `InvalidInput`."""
        return await expand_item(self._parts, self._scope, check_text("handle", handle, ID), context, filters)

    def _session(self, session: str | None) -> str:
        named = self._scope.session if session is None else session
        if named is None:
            raise InvalidInput("is missing", path="session", advice="name the conversation that the tasks belong to")
        return self._scope.within(check_text("session", named, ID)).session or ""

    def _named(self, session: str | None) -> str:
        """The session in which something is stored."""
        return refuse_in_name(self._parts.secrets, "the session's name", self._session(session))

    def _name(self, name: str) -> str:
        return refuse_in_name(self._parts.secrets, "the name", branch_name("name", name))

    async def _commit(self, plan: Plan[T]) -> T:
        return await self._store.commit(plan)


def _status(value: object) -> TaskStatus:
    return check_one_of("status", value, STATUSES)


# Delegations, as `agent.delegate` and `agent.delegations`.


Assembling = Callable[[Scope], Callable[..., Awaitable[Context]]]

BRIEF = replace(DEFAULT, name="brief", need=0.0, effort=None, placement="first")
"""What a brief is assembled with: the default strategy, which uses the tokens it is given, all text first."""
ISOLATED: Strategy = replace(BRIEF, name="isolated", sources=(SourcePlan(name="directive"),))
"""The directive alone."""
_MODES: tuple[Mode, ...] = get_args(Mode)
_CLOSED_CALL = "This call was handed to another agent. You are that agent: your task follows."
_TASK_MESSAGE = "Your task: {}\nDo only this task, and answer with its result."


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
        how, named = _mode(mode), self._scope.session if session is None else check_text("session", session, ID)
        if named is None:
            raise InvalidInput("is missing", path="session", advice="name the conversation that delegates the task")
        if (messages is None) == (how == "fork"):
            wanted = "needs the parent's messages" if how == "fork" else "takes no messages, as it reads what is stored"
            raise InvalidInput(f"{{}} {wanted}", how, path="mode")
        child = self._scope if scope is None else scope
        check_narrower(self._scope, check_type("scope", child, Scope, "a Scope"))
        asked = normalise_filters(filters, self._scope.zone)
        shape = self._shape(model, provider)
        prefix = () if messages is None else check_conversation(messages, MESSAGES)
        forked = continued(prefix, shape, result=_CLOSED_CALL, said=_TASK_MESSAGE.format(task)) if how == "fork" else None
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

    @operation("write")
    async def finish(self, id: str, result: str, *, status: str = "complete", artifacts: Artifacts = ()) -> TaskFrame:
        """Ends a delegated task with the result that its agent brought, and returns its frame: a completed (or failed) task
        below the one that delegated it, which `agent.expand` reads back whole. Raises `NotFound`, and `InvalidInput`
        where it has ended already."""
        return await self._finish(id, result, status, artifacts)

    @operation("read")
    async def list(self, session: str | None = None, *, open: bool = False, limit: int = 100) -> tuple[TaskFrame, ...]:
        """Returns at most `limit` (1 to 1,000) delegated tasks of a session, the latest first; with `open` those that run."""
        check_whole_number("limit", limit, low=1, high=PAGE.maximum)
        check_flags(open=open)
        named = self._scope.session if session is None else check_text("session", session, ID)
        if named is None:
            raise InvalidInput("is missing", path="session", advice="name the conversation that delegated the tasks")
        return await self._store.ask(DelegatedFrames(named, open=open, limit=limit))

    async def allowed(self, session: str, filters: Filters | None = None) -> Filters:
        """Returns the filters that an agent in this session may use: `filters`, or as wide ones as it may. Raises
        `NotPermitted` where the session is that of a delegated task, and `filters` ask for more than its parent allowed."""
        frame = await self._store.ask(DelegationInto(check_text("session", session, ID)))
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
        return await self._store.commit(delegate_task(frame, limits=self._parts.delegation, allowed=allowed))

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
        plan = finish_task(check_text("id", id, ID), closing_status(status), outcome, at=self._parts.clock.now())
        return await self._store.commit(plan)

    def _shape(self, model: str, provider: str | None) -> str:
        return self._parts.catalog.find(model).provider if provider is None else check_text("provider", provider, NAME)


def _mode(value: object) -> Mode:
    return check_one_of("mode", value, _MODES)


# One delegated task: its messages, and what becomes of it.


Finish = Callable[[str, str, str, Artifacts], Awaitable[TaskFrame]]
"""Ends a delegated task: its id, the result, the status, what the result points to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegation:
    """`messages` are what the other agent's model gets, and `system` its system prompt where the provider keeps that apart.
    `frame` is the task in the parent's stack; its `child_session` is the session that the other agent works in. `scope` is the
    other agent's: never wider than the parent's. `context` is what a brief was made of; None for the other modes."""

    frame: TaskFrame
    scope: Scope
    messages: list[Mapping[str, Any] | Message]
    system: str | list[dict[str, Any]] | None = None
    context: Context | None = None
    finish: Finish = field(repr=False, compare=False)
    assembling: Callable[..., Awaitable[Context]] = field(repr=False, compare=False)

    @property
    def id(self) -> str:
        return self.frame.id

    @property
    def mode(self) -> Mode:
        return self.frame.delegated or "isolated"

    @property
    def session(self) -> str:
        """The session that the other agent works in."""
        return self.frame.child_session or ""

    @property
    def tokens(self) -> int:
        """Tokens of what germane added to the other agent's messages."""
        return 0 if self.context is None else self.context.metadata.total_tokens_injected

    def explain(self) -> str:
        """Says what the other agent gets and why: for a brief each candidate, in or out, with the reason."""
        if self.mode == "fork":
            return f"fork: the parent's messages as they are, open calls closed, and the task: {len(self.messages)} messages"
        return f"{self.mode}: the task and the directive" if self.context is None else self.context.explain()

    async def assemble(
        self, messages: Sequence[Mapping[str, Any] | Message], *, model: str, filters: Filters | None = None, **options: Any
    ) -> Context:
        """Assembles a later request of the other agent, in its own session and scope. `options` are the others of
        `Agent.assemble`. Raises `NotPermitted` where `filters` ask for more than the parent allowed, and `InvalidInput`."""
        if "session" in options:
            raise InvalidInput("is the delegated agent's own", path="session", advice="leave it out")
        wanted = Filters(sensitivities=self.frame.allowed) if filters is None else filters
        check_sensitivities(wanted.sensitivities, self.frame.allowed)
        return await self.assembling(messages, model=model, session=self.session, filters=wanted, **options)

    async def complete(self, result: str, *, artifacts: Artifacts = ()) -> TaskFrame:
        """Brings the result back: ends the task in the parent's stack and returns its frame. As `agent.delegations.finish`."""
        return await self.finish(self.id, result, "complete", artifacts)

    async def fail(self, reason: str, *, artifacts: Artifacts = ()) -> TaskFrame:
        """As `complete`, where the other agent couldn't do it."""
        return await self.finish(self.id, reason, "failed", artifacts)

    def __repr__(self) -> str:
        return f"<Delegation {self.id} {self.mode} {len(self.messages)} messages>"
