"""API: every operation over HTTP with JSON, under `/v1`; what is under `/mcp` goes to `mcp.py`.

A request is admitted as a call of gRPC is: by its key, before anything of its body is read, with a slot of its org. It runs on
the ports' loop; the operation runs on the engine's. Errors are problem details (`problems.py`).

What is edited has an `ETag`, the hash of its content: `If-Match` with it lets an edit fail with 412 where the content has
changed since, and `If-None-Match` is answered 304 where it hasn't.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Mapping
from contextlib import aclosing, suppress
from dataclasses import replace
from http import HTTPStatus
from typing import Any, TypeVar

from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from germane.api.agent import Agent
from germane.api.germane import Germane
from germane.grpc.server.admission import Ports
from germane.grpc.server.assembly_servicer import AskedAssembly, Assemblies, unassembled
from germane.grpc.server.authorisation import AgentResolver
from germane.grpc.server.call import RpcCall, RpcObserver, observed
from germane.grpc.server.operation_servicer import INLINE_BYTES, answered, aside, names_in
from germane.kinds.remote_values import Assembled
from germane.service.http.answers import HttpAnswer, HttpStream, answer_of, refusal_of
from germane.service.http.mcp import ROOT as MCP_ROOT
from germane.service.http.mcp import McpPort
from germane.service.http.openapi import page
from germane.service.http.problems import HttpRefused, problem
from germane.service.http.requests import Disconnected, HttpRequest, RunningRequests
from germane.service.http.routes import Route, arguments_of, query_of, route, scope_of
from germane.settings.serving import ServiceSettings
from germane.types.checks import check_answer_time
from germane.types.codec import encode
from germane.types.json_text import read_object, write_json
from germane.types.operation import ROOT
from germane.types.plan import uuid7
from germane.types.scope import Scope

T = TypeVar("T")

_MAX_ID = 128
"""Characters of a caller's request id that are used."""
_ROOT, _MCP = f"{ROOT}/".encode(), MCP_ROOT.encode()
_ASSEMBLE = "AssembleContext"
"""The RPC that the operation has over gRPC."""
_BYTES_OF_MESSAGE = 500
"""About what a message has, by which is decided whether an answer is written in a thread."""
_IF_HASH = "if_hash"
"""The argument that `If-Match` gives."""


def takes_body(target: bytes) -> bool:
    """Whether a request for this target is the API's, MCP included."""
    return target.startswith((_ROOT, _MCP))


def closed_for(settings: ServiceSettings) -> str:
    """Returns why a service with these settings calls no operation over HTTP, empty where it does. Health is answered on every
    address; what is stored isn't, where others could read it on its way, or call without a key."""
    if settings.http is None or settings.http.loopback:
        return ""
    if not settings.keys_required:
        return f"the service asks for no keys, and {settings.http} is reached from elsewhere: serve 127.0.0.1, or ask for keys"
    if settings.tls_cert is None and not settings.plaintext:
        return (
            f"{settings.http} is reached from elsewhere without TLS: give tls_cert and tls_key, serve 127.0.0.1 behind a proxy"
            " that ends TLS, or say plaintext = true where the network itself is trusted"
        )
    return ""


class Api:
    """The ASGI application for the paths under `/v1` and `/mcp`, on the loop of `ports`. `max_bytes` bounds a body. With
    `closed`, a reason, no operation is called (see `closed_for`)."""

    def __init__(
        self,
        germane: Germane,
        ports: Ports,
        assemblies: Assemblies,
        *,
        max_bytes: int,
        observer: RpcObserver | None = None,
        closed: str = "",
    ) -> None:
        self._assemblies, self._closed = assemblies, closed
        self._germane, self._ports, self._observer, self._max_bytes = germane, ports, observer, max_bytes
        self._resolver = AgentResolver(germane)
        self._mcp = McpPort(germane, ports, max_bytes=max_bytes, observer=observer)
        self.running = RunningRequests()

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        request = HttpRequest(scope, receive)
        with self.running.one(), suppress(Disconnected):
            await self._answer(request, scope, send)

    async def _answer(self, request: HttpRequest, scope: AsgiScope, send: Send) -> None:
        request_id = request.headers.get("x-request-id", "")[:_MAX_ID]
        if not request_id.isascii() or not request_id.isprintable() or not request_id:
            request_id = uuid7(int(self._ports.clock.now().timestamp() * 1000))
        if (shown := await page(request.method, request.raw_path)) is not None:
            await HttpAnswer(HTTPStatus.OK, *shown).send(request, send)
            return
        try:
            found = None if request.raw_path.startswith(_MCP) else route(request.method, request.raw_path)
            if self._closed:
                raise HttpRefused(HTTPStatus.FORBIDDEN, self._closed)
            if self._ports.keys is None:
                request.check_origin()
            if found is None:
                await self._mcp.answer(request, scope, send)
                return
            answer = await self._called(request, found, request_id, send)
        except Disconnected:
            raise
        except Exception as error:
            answer = refusal_of(problem(error))
        if answer is not None:
            await replace(answer, headers={**answer.headers, "x-request-id": request_id}).send(request, send)

    async def _called(self, request: HttpRequest, found: Route, request_id: str, send: Send) -> HttpAnswer | None:
        """Admits the request, calls the operation, and returns the answer; None for a stream, which is sent. Raises what
        refuses the request before it is admitted."""
        ports = self._ports
        started = ports.clock.steady()
        grant = await ports.admission.admit(request.metadata, found.operation.right, lambda: request.peer)
        with observed(self._observer, "Http", request.metadata, ports.clock.steady() - started) as record:
            record.operation, record.request_id = found.operation.name, request_id
            call, size = RpcCall(found.operation.right, record, arrived=started, ends=None), 0
            call.grant = grant
            conditional = "if-match" in request.headers
            try:
                data = await request.body(self._max_bytes, ports.limits.body_seconds)
                size = len(data)
                if found.operation.streams:
                    await self._stream(request, found, call, HttpStream(request, send, request_id))
                    return None
                result = await _unless_gone(request, self._run(request, found, data, call))
                return answer_of(request, found, result)
            except Disconnected:
                record.code = "CANCELLED"
                raise
            except Exception as error:
                told = problem(error, call.names, conditional=conditional)
                record.code, record.error = told.code, error
                if grant is not None and told.status < HTTPStatus.INTERNAL_SERVER_ERROR:
                    await asyncio.sleep(ports.pace.delay(grant.org, ports.clock.steady(), size))
                return refusal_of(told)

    def _agent(self, found: Route, query: Mapping[str, list[str]], call: RpcCall) -> Agent:
        """Returns the handle on the agent, which the key allows."""
        return self._resolver.handle(call, agent=found.agent, **scope_of(query, keyless=self._ports.keys is None))

    async def _stream(self, request: HttpRequest, found: Route, call: RpcCall, stream: HttpStream) -> None:
        """Sends a result that the operation yields."""
        query = query_of(request.query)
        found.operation.arguments(arguments_of(found.operation, query))
        agent = self._agent(found, query, call)
        async with aclosing(self._ports.bridge.stream(lambda: _generated(found.operation.stream(agent)))) as values:
            await stream.send(values)

    async def _run(self, request: HttpRequest, found: Route, data: bytes, call: RpcCall) -> bytes:
        """Returns the operation's result as JSON."""
        operation, query = found.operation, query_of(request.query)
        agent = self._agent(found, query, call)
        in_query = arguments_of(operation, query)
        condition = _condition(request, found)

        def read() -> Mapping[str, Any]:
            return read_object(data, "body") | in_query | condition

        if operation.declared.rpc == _ASSEMBLE:
            given = await aside(len(data) > INLINE_BYTES, lambda: operation.arguments(read()))
            call.names = names_in(operation, given)
            return await _assembled(self._assemblies, agent.scope, given, call)
        return await self._ports.bridge.on_engine(
            lambda: answered(operation, read, len(data), agent=agent, call=call, germane=self._germane)
        )


async def _generated(values: AsyncIterator[T]) -> AsyncGenerator[T, None]:
    async for value in values:
        yield value


async def _unless_gone(request: HttpRequest, work: Awaitable[T]) -> T:
    """Returns the result of `work`. Cancels it and raises `Disconnected` where the caller goes away meanwhile. The work runs in
    the request's own task: a task for each would cost two more turns of the loop."""
    task, left = asyncio.current_task(), False
    assert task is not None

    def leave(_: object) -> None:
        nonlocal left
        left = True
        task.cancel()

    gone = asyncio.ensure_future(request.gone())
    gone.add_done_callback(leave)
    try:
        return await work
    except asyncio.CancelledError:
        if left and not task.uncancel():
            raise Disconnected from None
        raise
    finally:
        gone.remove_done_callback(leave)
        gone.cancel()


def _condition(request: HttpRequest, found: Route) -> dict[str, str]:
    """Returns the argument that `If-Match` gives. Raises `HttpRefused` for an operation without a precondition."""
    if (given := request.headers.get("if-match")) is None:
        return {}
    if _IF_HASH not in found.operation.parameters:
        raise HttpRefused(HTTPStatus.BAD_REQUEST, "this operation has no precondition: leave if-match out")
    tag = given.strip()
    if len(tag) < 2 or tag[0] != '"' or tag[-1] != '"' or "," in tag:
        raise HttpRefused(HTTPStatus.BAD_REQUEST, "if-match must be one ETag in quotes")
    return {_IF_HASH: tag[1:-1].partition("-")[0]}


# `assemble` answers in time whatever goes wrong (ENGINE-2), as over gRPC: where germane fails, the answer is 200 with the
# caller's own messages, and `metadata.fallback_reason` says why.


async def _assembled(assemblies: Assemblies, scope: Scope, arguments: Mapping[str, Any], call: RpcCall) -> bytes:
    """Returns the context as JSON, for a scope that is authorised. Raises `Refused` and `InvalidInput` for what the caller has
    to correct."""
    options = dict(arguments)
    messages, deadline = options.pop("messages"), options.pop("deadline", None)
    if deadline is not None:
        check_answer_time("deadline", deadline)
    user, zone = scope.user or "", scope.zone
    asked = AskedAssembly(agent=scope.agent, user=user, zone=zone, messages=messages, options=options, deadline=deadline or 0.0)
    context = await assemblies.context(scope.org, asked, call)
    if isinstance(context, str):
        report = unassembled(context)
        told = Assembled(messages=messages, system=options.get("system"), items=(), metadata=report)
    else:
        told = Assembled.of(context)
    call.record.metadata = told.metadata
    return await aside(_BYTES_OF_MESSAGE * len(told.messages) > INLINE_BYTES, lambda: write_json(encode(told, Assembled)))
