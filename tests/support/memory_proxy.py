"""Memory proxy: the proxy over a real store on a real port, in front of a local provider, and requests through it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from yarl import URL

from germane import Germane
from germane.grpc.server.admission import Limits, Ports
from germane.grpc.server.assembly_servicer import Assemblies
from germane.grpc.server.authorisation import AgentResolver, Keys
from germane.grpc.server.call import RpcObserver
from germane.service.http.server import HttpServer
from germane.service.http.sockets import Sockets
from germane.service.proxy.proxy import Proxy, proxying
from germane.service.proxy.routes import is_proxied
from germane.settings.serving import ServiceSettings
from germane.settings.upstreams import Upstream
from germane_testing.provider import LocalProvider, provider_in_thread
from support.http_api import Answered
from support.http_requests import LOOPBACK

__all__ = ["MemoryProxy", "memory_proxy", "user"]

_KEY = {"authorization": "Bearer sk-provider-secret", "anthropic-version": "2023-06-01"}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


@dataclass
class MemoryProxy:
    """`url` is that of the upstream `llm`, without a path. `headers` are sent with each request."""

    germane: Germane
    provider: LocalProvider
    proxy: Proxy
    ports: Ports
    url: str
    session: aiohttp.ClientSession
    headers: dict[str, str] = field(default_factory=dict)

    async def post(self, path: str, body: Any, /, **headers: str) -> Answered:
        """Sends a body, as it is where it is bytes."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"content-type": "application/json", **self.headers}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        url = URL(f"{self.url}{path}", encoded=True)
        async with self.session.post(url, data=data, headers=sent, allow_redirects=False) as answer:
            found = {name.lower(): value for name, value in answer.headers.items()}
            return Answered(answer.status, found, await answer.read())

    async def chat(self, *messages: Mapping[str, Any], path: str = "", model: str = "gpt-5.4", **headers: str) -> Answered:
        return await self.post(f"{path}/v1/chat/completions", {"model": model, "messages": messages}, **headers)

    async def messages(self, *messages: Mapping[str, Any], model: str = "claude-opus-5-5", **headers: str) -> Answered:
        return await self.post("/v1/messages", {"model": model, "max_tokens": 50, "messages": messages}, **headers)

    @property
    def sent(self) -> bytes:
        """The body that the provider received last."""
        return self.provider.requests[-1].body

    async def recorded(self) -> None:
        """Waits until what was answered is recorded."""
        await self.ports.bridge.on_port(lambda: self.proxy.running.ended(60.0))
        assert await self.proxy.recorder.flush(60.0)


@asynccontextmanager
async def memory_proxy(
    germane: Germane,
    folder: Path,
    *,
    deadline: float = 30.0,
    keys: Keys | None = None,
    limits: Limits | None = None,
    observer: RpcObserver | None = None,
    max_bytes: int = 1 << 20,
    **upstream: Any,
) -> AsyncIterator[MemoryProxy]:
    """Serves until the block ends. `upstream` are fields of the upstream."""
    async with AsyncExitStack() as stack:
        provider = stack.enter_context(provider_in_thread())
        service = ServiceSettings(
            db=folder / "proxied.db",
            http=LOOPBACK,
            deadline_ms=1000 * deadline,
            max_message_bytes=max_bytes,
            shutdown_seconds=0.5,
            upstreams={"llm": Upstream(**{"name": "llm", "url": provider.url, **upstream})},
        )
        ports = Ports(keys=keys, limits=limits)
        assemblies = Assemblies(AgentResolver(germane), ports.bridge, ports.clock, deadline)
        await ports.open()
        stack.push_async_callback(ports.close)
        proxy = await stack.enter_async_context(proxying(service, germane, ports, assemblies, observer))
        assert proxy is not None
        sockets = Sockets(takes=is_proxied, max_bytes=max_bytes)
        server = HttpServer(proxy, LOOPBACK, takes_body=is_proxied, sockets=sockets)
        await ports.bridge.on_port(server.start)
        stack.push_async_callback(ports.bridge.on_port, server.stop)
        session = await stack.enter_async_context(aiohttp.ClientSession())
        url = f"http://{server.address.host}:{server.address.port}/proxy/llm"
        yield MemoryProxy(germane, provider, proxy, ports, url, session, dict(_KEY))
