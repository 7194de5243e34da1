"""Proxy memory: what a model call gets on its way to the upstream, and what is kept of it when it was answered.

The call's body gets what an assembly adds, spliced into its own bytes. Nothing here raises, and none of it takes longer than
the deadline: where anything is wrong the call goes on as it came, or with what its session's earlier calls were sent, and a
header of the answer says why (PROXY-2).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Any

from germane.api.agent import Agent
from germane.api.germane import Germane
from germane.api.workers.threads import abandon
from germane.dialects.model_calls import ModelCall, read_call
from germane.errors import InvalidInput
from germane.grpc.server.admission import Ports
from germane.grpc.server.assembly_servicer import GRACE, AskedAssembly, Assemblies, unassembled
from germane.grpc.server.authorisation import AgentResolver
from germane.grpc.server.call import RESERVE, RpcCall, RpcObserver, may_write, observed
from germane.grpc.server.operation_servicer import INLINE_BYTES, aside
from germane.grpc.server.refusals import Refused
from germane.service.proxy.callers import Caller, Whose, whose
from germane.service.proxy.headers import Headers, with_betas
from germane.service.proxy.recorder import Turn
from germane.service.proxy.requests import ProxyRequest
from germane.service.proxy.routes import ProxyRoute
from germane.service.proxy.sessions import Sessions
from germane.types.plan import uuid7
from germane.types.reports import Metadata

_LEAST = 0.5
"""The share of a short deadline that the assembly gets at least."""
_FINDING = 0.3
"""The share of the deadline in which the call's session must be found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A call for the upstream, with its `headers`; None for those that came. `told` are headers for the answer. `turn` is what
    the recorder gets with the answer, None where nothing is kept."""

    body: bytes
    headers: Headers | None = None
    told: Headers = ()
    turn: Turn | None = None


class ProxyMemory:
    """Prepares model calls, on the loop of `ports`. A call is on its way after `seconds` at the latest: the assembly is due
    `RESERVE` before, as what it found has yet to be written, and the call to be sent."""

    def __init__(
        self,
        germane: Germane,
        ports: Ports,
        assemblies: Assemblies,
        sessions: Sessions,
        *,
        seconds: float,
        observer: RpcObserver | None,
    ) -> None:
        self._resolver, self._ports, self._assemblies, self._sessions = AgentResolver(germane), ports, assemblies, sessions
        self._seconds, self._observer = seconds, observer

    async def prepare(self, request: ProxyRequest, route: ProxyRoute, caller: Caller, body: bytes) -> Prepared:
        """Returns the call with what is known; as it came where it isn't a model call. Raises nothing but cancellation."""
        clock = self._ports.clock
        with observed(self._observer, "Proxy", request.http.metadata, 0.0) as record:
            record.request_id = uuid7(int(clock.now().timestamp() * 1000))
            preparing = _Preparing(RpcCall("read", record, arrived=clock.steady(), ends=None), body)
            preparing.call.grant = caller.grant
            task = asyncio.ensure_future(self._prepare(preparing, request, route, caller))
            try:
                await asyncio.wait([task], timeout=self._seconds)
            finally:
                abandon(task)
            if not task.done() or task.cancelled():
                preparing.failed("assembly_timeout")
            elif (error := task.exception()) is not None:
                preparing.failed(_reason(error))
            if preparing.report is not None:
                record.metadata = preparing.report
            return preparing.prepared

    async def _prepare(self, preparing: _Preparing, request: ProxyRequest, route: ProxyRoute, caller: Caller) -> None:
        """Puts into `preparing` what is known, step by step. Raises what goes wrong."""
        body, path = preparing.body, route.target.decode("latin-1")
        asked_at = self._ports.clock.now()
        call = await aside(len(body) > INLINE_BYTES, lambda: read_call(path, body))
        if call is None:
            return
        preparing.report = Metadata()
        if caller.unknown:
            preparing.failed(caller.unknown)
            return
        owner, rpc = whose(caller, request, route, call.body), preparing.call
        agent = self._resolver.handle(rpc, org=owner.org, agent=owner.agent, user=owner.user or "", zone=owner.zone)
        session = await self._session(agent, owner, call, request)
        if may_write(rpc):
            preparing.turn = Turn.of(agent.scope, session, call, (), asked_at=asked_at, answered_at=asked_at, size=len(body))
        context = await self._assemblies.context(owner.org, self._asked(owner, session, call), rpc)
        if isinstance(context, str):
            preparing.failed(context)
            return
        changed = call.body_with(context)
        if changed is not None:
            preparing.written = await aside(len(body) > INLINE_BYTES, lambda: changed.written(body))
            preparing.headers = with_betas(request.headers, changed)
        preparing.report = context.metadata

    async def _session(self, agent: Agent, owner: Whose, call: ModelCall, request: ProxyRequest) -> str:
        """The call's session. It is looked for on the engine's loop; where that hangs, on this one, in memory alone."""
        found = partial(self._sessions.find, agent, call, named=owner.session, headers=request.http.headers)
        seconds = _FINDING * self._seconds
        finding = asyncio.ensure_future(self._ports.bridge.on_engine(lambda: found(deadline=seconds)))
        await asyncio.wait([finding], timeout=seconds + GRACE)
        if finding.done():
            return finding.result()
        abandon(finding)
        return await found(deadline=0)

    def _asked(self, owner: Whose, session: str, call: ModelCall) -> AskedAssembly:
        options: dict[str, Any] = {**call.asking, "session": session, "tools": call.tools}
        return AskedAssembly(
            agent=owner.agent,
            user=owner.user or "",
            zone=owner.zone,
            messages=call.messages,
            options=options,
            deadline=max(_LEAST * self._seconds, self._seconds - RESERVE),
        )


class _Preparing:
    """A call while it is prepared: what goes on if nothing more comes. Only the loop changes it."""

    def __init__(self, call: RpcCall, body: bytes) -> None:
        self.call, self.body, self.written = call, body, body
        self.headers: Headers | None = None
        self.report: Metadata | None = None
        """What is told of a model call; None for any other request."""
        self.turn: Turn | None = None

    def failed(self, reason: str) -> None:
        """The call goes on as it came."""
        if self.report is not None:
            self.written, self.headers, self.report = self.body, None, unassembled(reason)

    @property
    def prepared(self) -> Prepared:
        return Prepared(
            body=self.written, headers=self.headers, told=_told(self.report, self.call.record.request_id), turn=self.turn
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
    if isinstance(error, Refused) and error.code.name == "PERMISSION_DENIED":
        return "denied"
    return "invalid_input" if isinstance(error, InvalidInput | Refused) else f"assembly_error:{type(error).__name__}"
