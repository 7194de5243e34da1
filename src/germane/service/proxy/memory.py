"""Proxy memory: what a model call gets on its way to the upstream, and what is kept of it when it was answered.

The call's body gets what an assembly adds, spliced into its own bytes. Nothing here raises, and none of it takes longer than the
deadline: where anything is wrong the call goes on as it came, or with what its session's earlier calls were sent, and a header
of the answer says why (PROXY-2).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from germane.dialects.model_calls import ModelCall, read_call
from germane.errors import InvalidInput
from germane.grpc.server.admission import Ports
from germane.grpc.server.assembly_servicer import GRACE, Asked, Assemblies, unassembled
from germane.grpc.server.call import RpcCall, RpcObserver, observed
from germane.grpc.server.operation_servicer import INLINE_BYTES, aside
from germane.grpc.server.refusals import Refused
from germane.service.proxy.callers import Caller, Whose, whose
from germane.service.proxy.headers import Headers
from germane.service.proxy.recorder import Recorder, Turn
from germane.service.proxy.requests import ProxyRequest
from germane.service.proxy.routes import ProxyRoute
from germane.service.proxy.sessions import Sessions
from germane.types.plan import uuid7
from germane.types.reports import Metadata

_SPLICING = 0.004
"""Seconds after the deadline at which a call goes on as it came, whatever is still under way: what comes after the assembly,
whose own limit is `GRACE`."""
assert _SPLICING > GRACE
_FINDING = 0.4
"""The share of the deadline in which the call's session must be found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A call for the upstream. `betas` are for its header `anthropic-beta`, `told` are headers for the answer. `turn` is what
    the recorder gets with the answer, None where nothing is kept."""

    body: bytes
    betas: Sequence[str] = ()
    told: Headers = ()
    turn: Turn | None = None


class ProxyMemory:
    """Prepares model calls, on the loop of `ports`. A call is on its way after `seconds` at the latest."""

    def __init__(
        self,
        ports: Ports,
        assemblies: Assemblies,
        sessions: Sessions,
        recorder: Recorder,
        *,
        seconds: float,
        observer: RpcObserver | None,
    ) -> None:
        self._ports, self._assemblies, self._sessions, self._recorder = ports, assemblies, sessions, recorder
        self._seconds, self._observer = seconds, observer

    async def prepare(self, request: ProxyRequest, route: ProxyRoute, caller: Caller, body: bytes) -> Prepared:
        """Returns the call with what is known; as it came where it isn't a model call. Raises nothing but cancellation."""
        clock = self._ports.clock
        arrived = clock.steady()
        with observed(self._observer, "Proxy", request.http.metadata, 0.0) as record:
            record.request_id = uuid7(int(clock.now().timestamp() * 1000))
            preparing = _Preparing(RpcCall("read", record, arrived=arrived, ends=None), Prepared(body=body))
            preparing.call.grant = caller.grant
            task = asyncio.ensure_future(self._prepare(preparing, request, route, caller))
            try:
                await asyncio.wait([task], timeout=self._seconds + _SPLICING)
            finally:
                task.cancel()
            if not task.done():
                preparing.failed("assembly_timeout")
            elif not task.cancelled() and (error := task.exception()) is not None:
                preparing.failed("invalid_input" if isinstance(error, InvalidInput | Refused) else _reason(error))
            record.metadata = preparing.report
            return preparing.result

    async def _prepare(self, preparing: _Preparing, request: ProxyRequest, route: ProxyRoute, caller: Caller) -> None:
        """Puts into `preparing` what is known, step by step. Raises what goes wrong."""
        body = preparing.result.body
        path = route.target.decode("latin-1")
        call = await aside(len(body) > INLINE_BYTES, lambda: read_call(path, body))
        if call is None:
            return
        preparing.report = Metadata()
        if caller.unknown:
            preparing.failed(caller.unknown)
            return
        owner = whose(caller, request, route, call.body)
        if owner is None:
            preparing.failed("denied")
            return
        preparing.call.record.org, preparing.call.record.agent = owner.org, owner.agent
        session = await self._session(owner, call, request)
        if owner.keeps:
            preparing.keep(Turn.of(owner.scope, session, call))
        context = await self._assemblies.context(owner.org, self._asked(owner, session, call), preparing.call)
        if isinstance(context, str):
            preparing.failed(context)
            return
        preparing.report = context.metadata
        await aside(len(body) > INLINE_BYTES, lambda: preparing.write(call, context))

    async def _session(self, owner: Whose, call: ModelCall, request: ProxyRequest) -> str:
        if owner.session is not None:
            return owner.session

    def _asked(self, owner: Whose, session: str, call: ModelCall) -> Asked:
        tools = call.body.get("tools")
        options: dict[str, Any] = {**call.asking, "session": session}
        if isinstance(tools, list) and not call.held:
            options["tools"] = tools
        return Asked(
            agent=owner.agent,
            user=owner.user or "",
            zone=owner.zone,
            messages=call.messages,
            options=options,
            deadline=self._seconds,
        )


class _Preparing:
    """A call while it is prepared: what goes on if nothing more comes. Only the loop changes it."""

    def __init__(self, call: RpcCall, body: bytes) -> None:
        self.call, self.body, self.written = call, body, body
        self.betas: Sequence[str] = ()
        self.report: Metadata | None = None
        """What is told of a model call; None for any other request."""
        self.turn: Turn | None = None

    def failed(self, reason: str) -> None:
        """The call goes on as it came."""
        if self.report is not None:
            self.written, self.betas, self.report = self.body, (), unassembled(reason)

    @property
    def prepared(self) -> Prepared:
        return Prepared(
            body=self.written, betas=self.betas, told=_told(self.report, self.call.record.request_id), turn=self.turn
        )


def _told(report: Metadata | None, request_id: str) -> Headers:
    """The headers of the answer that say what the call got."""
    if report is None:
        return ()
    told = {
        "X-Germane-Memories": str(report.memories_injected),
        "X-Germane-Tokens": str(report.total_tokens_injected),
        "X-Germane-Context": request_id,
    }
    if report.fallback_reason:
        told["X-Germane-Fallback"] = report.fallback_reason
    return tuple((name.encode(), value.encode("latin-1", "replace")) for name, value in told.items())


def _reason(error: BaseException) -> str:
    """Why a call goes on as it came, as `metadata.fallback_reason` says it."""
    return "invalid_input" if isinstance(error, InvalidInput | Refused) else f"assembly_error:{type(error).__name__}"
