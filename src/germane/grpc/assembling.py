"""Assembling: `AssembleContext`, under both names it is served by. Whatever goes wrong on germane's side, the caller gets its
messages, in time, and the reason beside them (ENGINE-2)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import ClassVar

from germane.access.key import Right
from germane.clock import Clock
from germane.errors import InvalidInput
from germane.grpc.agent_resolver import AgentResolver
from germane.grpc.assemble_request import Asking, Request
from germane.grpc.assemble_response import Answers, Response
from germane.grpc.call import Call
from germane.grpc.loop_bridge import LoopBridge
from germane.grpc.refusals import Refused
from germane.types.context import Context, Metadata
from germane.types.ids import uuid7

__all__ = ["Assembling"]

ANSWER = 0.048
"""Seconds at most, as of the engine itself."""
_LAST = 0.002
"""Seconds after that at which the engine isn't waited for any more: it answers in time by itself, unless it is kept from it."""
_AT_ONCE = 0.001
"""The shortest time the engine is given: enough for the directive as it was last known."""
_LONGEST = 128
"""Characters of a caller's request id that are logged."""
_WITHOUT = ("model", "provider", "session", "strategy")
"""What still matters when nothing is searched."""
_MOST, _MOST_OF_ONE = 96, 32
"""Calls that wait for the engine, in all and of one org. What would be late the engine refuses by itself, with the directive;
beyond these that would be late as well."""


class Assembling:
    """`answers` makes the responses of one contract. Runs on the port's loop, the engine at home."""

    rights: ClassVar[Mapping[str, Right]] = MappingProxyType({"AssembleContext": "read"})

    def __init__(self, reach: AgentResolver, answers: Answers, apart: LoopBridge, clock: Clock) -> None:
        self._reach, self._answers, self._apart, self._clock = reach, answers, apart, clock
        self._waiting: Counter[str] = Counter()
        self._begun: Counter[str] = Counter()

    async def assemble_context(self, request: Request, call: Call) -> Response:
        """Raises `Refused` and `InvalidInput` for what the caller can put right."""
        request_id = request.request_id or uuid7(int(self._clock.now().timestamp() * 1000))
        call.seen.request_id = request_id[:_LONGEST]
        org = self._reach.admit(call, org=request.org_id, agent=request.agent_id)
        asked = replace(Asking.of(request), org=org)
        try:
            found = await self._within(asked, call, call.due(min(ANSWER, asked.deadline or ANSWER)))
        except (InvalidInput, Refused):
            raise
        except Exception as error:
            found = f"assembly_error:{type(error).__name__}"
        try:
            context = found if isinstance(found, Context) else await self._without(asked, call, found)
            call.seen.metadata = context.metadata
            return self._answers.full(context, asked, request_id)
        except Exception as error:
            reason = found if isinstance(found, str) else f"assembly_error:{type(error).__name__}"
        call.seen.metadata = told = Metadata(fallback_reason=reason, degradation_level=3)
        return self._answers.untouched(request, told, request_id)

    async def _within(self, asked: Asking, call: Call, due: float) -> Context | str:
        """The context, or why there is none. The engine keeps to its deadline by itself; that it does isn't relied upon."""
        left = due - self._clock.steady()
        if any(counts[asked.org] >= _MOST_OF_ONE or counts.total() >= _MOST for counts in (self._waiting, self._begun)):
            return "shed"
        self._waiting[asked.org] += 1
        task = asyncio.create_task(self._apart.home(lambda: self._assembled(asked, call, due)))
        try:
            await asyncio.wait([task], timeout=max(_AT_ONCE, left) + _LAST)
        finally:
            _less(self._waiting, asked.org)
            if not task.done():
                task.cancel()
        if not task.done():
            return "assembly_timeout"
        return "assembly_error:CancelledError" if task.cancelled() else task.result()

    async def _without(self, asked: Asking, call: Call, reason: str) -> Context:
        """With the directive alone, as it was last known. Here and now: the engine's loop isn't asked."""
        agent = self._reach.agent(call, org=asked.org, agent=asked.agent, user=asked.user, zone=asked.zone)
        chosen = {name: value for name, value in asked.arguments.items() if name in _WITHOUT}
        return await agent.fallback(asked.conversation.raw, reason=reason, **chosen)

    async def _assembled(self, asked: Asking, call: Call, due: float) -> Context:
        """At home. What doesn't end though it was cancelled counts as begun until it does."""
        self._begun[asked.org] += 1
        try:
            agent = self._reach.agent(call, org=asked.org, agent=asked.agent, user=asked.user, zone=asked.zone)
            seconds = max(_AT_ONCE, due - self._clock.steady())
            return await agent.assemble(asked.conversation.raw, deadline=seconds, **asked.arguments)
        finally:
            _less(self._begun, asked.org)


def _less(counts: Counter[str], org: str) -> None:
    """One fewer of `org`; an org without any isn't kept."""
    counts[org] -= 1
    if not counts[org]:
        del counts[org]
