"""Assembly servicer: the RPC `AssembleContext` of both contracts, which answers in time whatever goes wrong."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import ClassVar

from germane.access.key import Right
from germane.clock import Clock
from germane.errors import InvalidInput
from germane.grpc.agent_resolver import AgentResolver
from germane.grpc.assemble_request import AssembleArguments, Request
from germane.grpc.assemble_response import Response, Responses
from germane.grpc.call import RpcCall
from germane.grpc.loop_bridge import LoopBridge
from germane.grpc.refusals import Refused
from germane.types.context import Context, Metadata
from germane.types.ids import uuid7

__all__ = ["GRACE", "AssemblyServicer"]

GRACE = 0.002
"""Seconds after the deadline at which the port stops waiting for the engine, or for a sibling. The engine keeps the deadline by
itself, unless its loop is blocked."""
_MIN_SECONDS = 0.001
"""The least time that the engine is given: enough for the directive from its cache."""
_MAX_LOGGED_ID = 128
"""Characters of a caller's request id that are logged."""
_FALLBACK_OPTIONS = ("model", "provider", "session", "strategy", "window", "like", "system", "filters")
"""The arguments of `Agent.assemble` that `Agent.fallback` takes too."""
_MAX_CALLS, _MAX_CALLS_OF_ORG = 96, 32
"""Calls that may wait for the engine, in all and of one org. The engine itself refuses what would be late, and still answers
with the directive; with more calls than these even that answer would be late."""


class _NotAssembled(Exception):
    """The engine gave no context; the text becomes the response's `fallback_reason`."""


class AssemblyServicer:
    """Runs on the port's loop; the assembly runs on the engine's. `responses` writes the responses of one contract.

    Where an assembly fails for a reason that isn't the caller's, the response holds the caller's messages with the cached
    directive or, where that fails too, the messages alone (ENGINE-2). A call must be answered `seconds` after its arrival,
    unless its caller wants the answer earlier.
    """

    rights: ClassVar[Mapping[str, Right]] = MappingProxyType({"AssembleContext": "read"})

    def __init__(self, resolver: AgentResolver, responses: Responses, bridge: LoopBridge, clock: Clock, seconds: float) -> None:
        self._resolver, self._responses, self._bridge, self._clock = resolver, responses, bridge, clock
        self._seconds = seconds
        self._waiting: Counter[str] = Counter()
        self._running: Counter[str] = Counter()

    async def assemble_context(self, request: Request, call: RpcCall) -> Response:
        """Raises `Refused` and `InvalidInput` for a request that its caller has to correct."""
        request_id = request.request_id or uuid7(int(self._clock.now().timestamp() * 1000))
        call.record.request_id = request_id[:_MAX_LOGGED_ID]
        org = self._resolver.authorise(call, org=request.org_id, agent=request.agent_id)
        arguments = await AssembleArguments.of(request)
        due = self.due(call, arguments.deadline)
        try:
            context = await self._assembled(org, arguments, due)
        except _NotAssembled as failure:
            reason = str(failure)
            with suppress(Exception):
                context = await self._directive_only(org, arguments, reason)
                return self._response(context, arguments, call, request_id)
        else:
            try:
                return self._response(context, arguments, call, request_id)
            except Exception as error:
                reason = f"assembly_error:{type(error).__name__}"
        call.record.metadata = report = Metadata(fallback_reason=reason, degradation_level=3)
        return self._responses.unchanged(request, report, request_id)

    def _response(self, context: Context, arguments: AssembleArguments, call: RpcCall, request_id: str) -> Response:
        call.record.metadata = context.metadata
        return self._responses.assembled(context, arguments, request_id)

    def due(self, call: RpcCall, asked: float | None) -> float:
        """When the answer is due on the steady clock. `asked` are the seconds that the caller allows; None or 0 for the usual
        time."""
        return call.due(min(self._seconds, asked) if asked and asked > 0 else self._seconds)

    async def _assembled(self, org: str, arguments: AssembleArguments, due: float) -> Context:
        """Returns the engine's context. Raises `_NotAssembled` where the engine fails, takes too long or has too many calls,
        and `InvalidInput` and `Refused`."""
        if any(counts[org] >= _MAX_CALLS_OF_ORG or counts.total() >= _MAX_CALLS for counts in (self._waiting, self._running)):
            raise _NotAssembled("shed")
        remaining = due - self._clock.steady()
        self._waiting[org] += 1
        task = asyncio.create_task(self._bridge.on_engine(lambda: self._on_engine(org, arguments, due)))
        try:
            await asyncio.wait([task], timeout=max(_MIN_SECONDS, remaining) + GRACE)
        finally:
            _decrement(self._waiting, org)
            if not task.done():
                task.cancel()
        if not task.done():
            raise _NotAssembled("assembly_timeout")
        if task.cancelled():
            raise _NotAssembled("assembly_error:CancelledError")
        try:
            return task.result()
        except (InvalidInput, Refused):
            raise
        except Exception as error:
            raise _NotAssembled(f"assembly_error:{type(error).__name__}") from None
        finally:
            del task  # the traceback of its error holds this frame, as in loop_bridge.py

    async def _directive_only(self, org: str, arguments: AssembleArguments, reason: str) -> Context:
        """Returns the messages with the cached directive. It runs here, on the port's loop, because the engine's may hang."""
        agent = self._resolver.agent(org, arguments.agent, user=arguments.user, zone=arguments.zone)
        options = {name: value for name, value in arguments.options.items() if name in _FALLBACK_OPTIONS}
        return await agent.fallback(arguments.conversation.raw, reason=reason, **options)

    async def _on_engine(self, org: str, arguments: AssembleArguments, due: float) -> Context:
        """Assembles on the engine's loop. A call that was cancelled and doesn't end still counts as running."""
        self._running[org] += 1
        try:
            agent = self._resolver.agent(org, arguments.agent, user=arguments.user, zone=arguments.zone)
            seconds = max(_MIN_SECONDS, due - self._clock.steady())
            return await agent.assemble(arguments.conversation.raw, deadline=seconds, **arguments.options)
        finally:
            _decrement(self._running, org)


def _decrement(counts: Counter[str], org: str) -> None:
    """Drops an org whose count falls to 0, so that the counter stays small."""
    counts[org] -= 1
    if not counts[org]:
        del counts[org]
