"""HTTP requests: sends a raw request to a server, so that a test controls every byte."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NamedTuple

from germane.service.http.server import HttpServer
from germane.settings.values import Address

__all__ = ["LOOPBACK", "Answer", "asked"]

LOOPBACK = Address(host="127.0.0.1", port=0)


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


async def asked(server: HttpServer, path: str, *, method: str = "GET", headers: str = "Host: germane") -> Answer:
    """Sends one request as it is given, and returns the parsed answer."""
    reader, writer = await asyncio.open_connection(server.address.host, server.address.port)
    writer.write(f"{method} {path} HTTP/1.1\r\n{headers}\r\nConnection: close\r\n\r\n".encode())
    raw = await reader.read()
    writer.close()
    await writer.wait_closed()
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *rest = head.decode().split("\r\n")
    return Answer(int(first.split()[1]), {line.split(":")[0].lower(): line.split(": ")[1] for line in rest}, body)
