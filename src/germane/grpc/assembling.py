"""Assembling: `AssembleContext`, under both names it is served by. Whatever goes wrong on germane's side, the caller gets its
messages, in time, and the reason beside them (ENGINE-2)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from germane.access.key import Right
from germane.agent import Agent
from germane.clock import Clock
from germane.context import Context, Metadata
from germane.errors import InvalidInput
from germane.grpc.answers import Answers, Response
from germane.grpc.asking import Asking, Request
from germane.grpc.call import Call
from germane.grpc.reach import Reach
from germane.grpc.refusals import Refused
from germane.ids import uuid7

__all__ = ["Assembling"]

ANSWER = 0.048
"""Seconds at most, as of the engine itself."""
_LAST = 0.002
"""Seconds after that at which the engine isn't waited for any more: it answers in time by itself, unless it is broken."""
_AT_ONCE = 0.001
"""The shortest time the engine is given: enough for the directive as it was last known."""
_LONGEST = 128
"""Characters of a caller's request id that are logged."""
_MOST_LEFT = 64
"""Assemblies that nobody waits for any more. While there are so many, something hangs, and no more are begun."""


class Assembling:
    """`answers` makes the responses of one contract."""

    rights: ClassVar[Mapping[str, Right]] = MappingProxyType({"AssembleContext": "read"})

    def __init__(self, reach: Reach, answers: Answers, clock: Clock) -> None:
        self._reach, self._answers, self._clock = reach, answers, clock
        self._left: set[asyncio.Task[Context]] = set()

    async def assemble_context(self, request: Request, call: Call) -> Response:
        """Raises `Refused` and `InvalidInput` for what the caller can put right."""
        request_id = request.request_id or uuid7(int(self._clock.now().timestamp() * 1000))
        call.seen.request_id = request_id[:_LONGEST]
        asked = Asking.of(request)
        due = call.due(min(ANSWER, asked.deadline or ANSWER))
        try:
            agent = self._reach.agent(call, org=request.org_id, agent=request.agent_id, user=asked.user, zone=asked.zone)
            found = await self._within(agent, asked, due)
            if isinstance(found, Context):
                call.seen.metadata = found.metadata
                return self._answers.full(found, asked, request_id)
        except (InvalidInput, Refused):
            raise
        except Exception as error:
            found = f"assembly_error:{type(error).__name__}"
        call.seen.metadata = told = Metadata(fallback_reason=found, degradation_level=3)
        return self._answers.untouched(request, told, request_id)

    async def _within(self, agent: Agent, asked: Asking, due: float) -> Context | str:
        """The context, or why there is none. The engine keeps to its deadline by itself; that it does isn't relied upon."""
        if len(self._left) >= _MOST_LEFT:
            return "shed"
        seconds = max(_AT_ONCE, due - self._clock.steady())
        task = asyncio.create_task(agent.assemble(asked.conversation.raw, deadline=seconds, **asked.arguments))
        try:
            await asyncio.wait([task], timeout=seconds + _LAST)
        except asyncio.CancelledError:
            self._leave(task)
            raise
        if not task.done():
            self._leave(task)
            return "assembly_timeout"
        return "assembly_error:CancelledError" if task.cancelled() else task.result()

    def _leave(self, task: asyncio.Task[Context]) -> None:
        """Not waited for: what ignores its cancellation ends when it likes."""
        task.cancel()
        self._left.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[Context]) -> None:
        self._left.discard(task)
        if not task.cancelled():
            task.exception()
