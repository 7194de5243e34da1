"""HTTP API: the API over a real store on a real port, and requests to it."""

from __future__ import annotations

import io
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from germane import Germane
from germane.grpc.server.admission import Limits, Ports
from germane.grpc.server.assembly_servicer import Assemblies
from germane.grpc.server.authorisation import AgentResolver, Keys
from germane.grpc.server.call import RpcObserver
from germane.service.http.api import Api, takes_body
from germane.service.http.server import HttpServer
from germane.settings.values import Address

__all__ = ["Answered", "HttpApi", "serving_api"]


@dataclass(frozen=True)
class Answered:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class HttpApi:
    """`headers` are sent with each request."""

    address: Address
    session: aiohttp.ClientSession
    headers: dict[str, str] = field(default_factory=dict)

    async def __call__(self, method: str, path: str, given: Any = None, /, **query: Any) -> Answered:
        """Sends a request; `given` is its JSON body. `query` are strings, or lists of them."""
        return await self.raw(method, path + (f"?{urlencode(query, doseq=True)}" if query else ""), given)

    async def raw(self, method: str, target: str, given: Any = None, **headers: str) -> Answered:
        sent = {**self.headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
        written = given if isinstance(given, bytes) or given is None else json.dumps(given).encode()
        data = None if written is None else io.BytesIO(written)  # the client warns of bytes above 1 MiB
        if data is not None:
            sent.setdefault("content-type", "application/json")
        url = URL(f"http://{self.address.host}:{self.address.port}{target}", encoded=True)
        async with self.session.request(method, url, data=data, headers=sent, allow_redirects=False) as answer:
            body = await answer.read()
            return Answered(answer.status, {name.lower(): value for name, value in answer.headers.items()}, body)


@asynccontextmanager
async def serving_api(
    germane: Germane,
    *,
    keys: Keys | None = None,
    limits: Limits | None = None,
    observer: RpcObserver | None = None,
    max_bytes: int = 1 << 20,
    deadline: float = 30.0,
    closed: str = "",
    tls: ssl.SSLContext | None = None,
    **headers: str,
) -> AsyncIterator[HttpApi]:
    """Serves the API until the block ends."""
    ports = Ports(keys=keys, limits=limits)
    assemblies = Assemblies(AgentResolver(germane), ports.bridge, ports.clock, deadline)
    api = Api(germane, ports, assemblies, max_bytes=max_bytes, observer=observer, closed=closed)
    server = HttpServer(api, Address(host="127.0.0.1", port=0), takes_body=takes_body, tls=tls)
    await ports.open()
    try:
        await ports.bridge.on_port(server.start)
        async with aiohttp.ClientSession() as session:
            yield HttpApi(server.address, session, {name.replace("_", "-"): value for name, value in headers.items()})
        await ports.bridge.on_port(server.stop)
    finally:
        await ports.close()
