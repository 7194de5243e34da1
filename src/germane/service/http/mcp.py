"""MCP over HTTP: `/mcp/{agent}` on the port, with the tools of `germane mcp` and the keys and rights of `/v1`.

Stateless: each request stands for itself, with the scope in its URL, so any worker answers it. The SDK is imported by the first
request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextvars import ContextVar
from http import HTTPStatus
from importlib import import_module
from typing import TYPE_CHECKING, Any

from starlette.types import Message, Receive, Send
from starlette.types import Scope as AsgiScope

from germane.api.germane import Germane
from germane.api.operations import operations
from germane.errors import GermaneError, MissingExtra
from germane.grpc.server.admission import Ports
from germane.grpc.server.authorisation import AgentResolver
from germane.grpc.server.call import RpcCall, RpcObserver, observed
from germane.grpc.server.refusals import Refused, refusal
from germane.kinds.keys.value import Grant
from germane.service.http.problems import HttpRefused
from germane.service.http.requests import HttpRequest
from germane.service.http.routes import query_of, scope_of, unquoted

if TYPE_CHECKING:
    from germane.integrations.mcp_server import Call

ROOT = "/mcp/"
_SERVER = "germane.integrations.mcp_server"
_KEY_PARTS = 6
"""Pseudonyms of 48 bits that the key of asked questions is made of."""

_current: ContextVar[Call] = ContextVar("current MCP request")


class McpPort:
    """The MCP server on the loop of `ports`. `max_bytes` bounds a body."""

    def __init__(self, germane: Germane, ports: Ports, *, max_bytes: int, observer: RpcObserver | None) -> None:
        self._germane, self._ports, self._max_bytes, self._observer = germane, ports, max_bytes, observer
        self._resolver = AgentResolver(germane)
        self._manager: asyncio.Task[Any] | None = None
        self._running: asyncio.Task[None] | None = None

    async def answer(self, request: HttpRequest, scope: AsgiScope, send: Send) -> None:
        """Answers one request. Raises what refuses it before it is read: `HttpRefused`, `Refused`, `InvalidInput`."""
        agent = agent_in(request.raw_path)
        if request.method != "POST":
            raise HttpRefused(HTTPStatus.METHOD_NOT_ALLOWED, "MCP takes POST here: there are no sessions", allow="POST")
        started = self._ports.clock.steady()
        grant = await self._ports.admission.admit(request.metadata, "write", lambda: request.peer)
        waited = self._ports.clock.steady() - started
        named = scope_of(query_of(request.query), keyless=self._ports.keys is None)
        body = await request.body(self._max_bytes, self._ports.limits.body_seconds)
        manager = await self._started()
        _current.set(self._calls(request, agent, named, grant, started, waited))  # the request's task has a context of its own
        await manager.handle_request(scope, _received(body, request.gone), send)

    def _calls(
        self, request: HttpRequest, agent: str, named: Mapping[str, str], grant: Grant | None, started: float, waited: float
    ) -> Call:
        """Returns what calls operations for this request: each with the right that it needs, observed as one call."""
        from germane.integrations.mcp_server import calls_of

        async def call(name: str, /, **arguments: Any) -> Any:
            with observed(self._observer, "Http", request.metadata, waited) as record:
                record.operation = name
                rpc = RpcCall(operations()[name].right, record, arrived=started, ends=None)
                rpc.grant = grant
                try:
                    handle = self._resolver.handle(rpc, agent=agent, **named)
                    return await self._ports.bridge.on_engine(lambda: calls_of(self._germane, handle)(name, **arguments))
                except Exception as error:
                    code, _ = refusal(error)
                    record.code, record.error = code.name, error
                    if grant is not None and isinstance(error, GermaneError | Refused):
                        await asyncio.sleep(self._ports.pace.delay(grant.org, self._ports.clock.steady()))
                    if isinstance(error, Refused):
                        raise GermaneError(error.text) from error
                    raise

        return call

    async def _started(self) -> Any:
        """The SDK's session manager, which is started by the first request."""
        if self._manager is None or (self._manager.done() and self._manager.exception() is not None):
            self._manager = asyncio.ensure_future(self._start())
        return await asyncio.shield(self._manager)

    async def _start(self) -> Any:
        try:
            server = await asyncio.to_thread(import_module, _SERVER)
        except MissingExtra as error:
            raise HttpRefused(HTTPStatus.NOT_IMPLEMENTED, str(error)) from error

        async def call(name: str, /, **arguments: Any) -> Any:
            return await _current.get()(name, **arguments)

        key = "".join(self._germane.pseudonym(f"key {part} of what MCP asks") for part in range(_KEY_PARTS))
        manager = server.http_manager(call, key=key, max_bytes=self._max_bytes)
        running, begun = manager.run(), asyncio.get_running_loop().create_future()

        async def run() -> None:
            async with running:
                begun.set_result(None)
                await asyncio.get_running_loop().create_future()

        self._running = asyncio.ensure_future(run())
        await begun
        return manager


def agent_in(raw_path: bytes) -> str:
    """Returns the agent that the path names. Raises `HttpRefused`."""
    written = raw_path.decode("ascii", "replace").removeprefix(ROOT)
    if not written or "/" in written:
        raise HttpRefused(HTTPStatus.NOT_FOUND, "MCP is at /mcp/ and the agent's name")
    return unquoted(written)


def _received(body: bytes, gone: Any) -> Receive:
    """What the SDK receives: the body, and then the end of the connection."""
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if parts:
            return parts.pop()
        await gone()
        return {"type": "http.disconnect"}

    return receive
