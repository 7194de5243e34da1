"""Delegation: one task given to another agent: its messages, and what becomes of it (TASK-4)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from germane.api.agent_tasks import Artifacts
from germane.errors import InvalidInput
from germane.tasks.delegation import check_sensitivities
from germane.tasks.frame import Mode, TaskFrame
from germane.types.context import Context
from germane.types.message import Message
from germane.types.query import Filters
from germane.types.scope import Scope

__all__ = ["Delegation", "Finish"]

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
            raise InvalidInput("session is the delegated agent's own: leave it out")
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
