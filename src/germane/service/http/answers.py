"""Answers: what is sent back: a whole answer with its headers, or one JSON value after the other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from http import HTTPStatus
from typing import Any

from starlette.types import Send

from germane.service.http.problems import PROBLEM_TYPE, Problem
from germane.service.http.requests import Disconnected, HttpRequest
from germane.service.http.routes import Route
from germane.types.json_text import write_json

LINES, EVENTS = "application/x-ndjson", "text/event-stream"
_HASH = "content_hash"
"""The field of a result that its ETag begins with."""
_PART_BYTES = 64 * 1024
"""Bytes of a stream that are sent at once."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A whole answer. `headers` are in lower case."""

    status: HTTPStatus
    headers: Mapping[str, str]
    body: bytes = b""

    async def send(self, request: HttpRequest, send: Send) -> None:
        """Sends it; to HEAD without the body. No cache keeps it without asking again."""
        headers = {"cache-control": "no-store", "content-length": str(len(self.body)), **self.headers}
        encoded = [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": self.status.value, "headers": encoded})
        await send({"type": "http.response.body", "body": b"" if request.method == "HEAD" else self.body})


class HttpStream:
    """An answer of one JSON value after the other: lines, or server-sent events for a caller who accepts these."""

    def __init__(self, request: HttpRequest, send: Send, request_id: str) -> None:
        self._request = request
        self._events = EVENTS in request.headers.get("accept", "")
        self._send, self._head_only, self._begun = send, request.method == "HEAD", False
        kind = EVENTS if self._events else LINES
        self._headers = {"content-type": kind, "cache-control": "no-store", "x-request-id": request_id}

    async def send(self, values: AsyncIterator[Any]) -> None:
        """Sends the values. A failure before the first are sent is raised on; later, it ends the connection without the end of
        the answer, so that nobody takes a part for the whole, and raises `Disconnected`."""
        waiting, gone = bytearray(), asyncio.ensure_future(self._request.gone())
        try:
            async for value in values:
                if gone.done():
                    raise Disconnected
                written = write_json(value)
                waiting += b"data: " + written + b"\n\n" if self._events else written + b"\n"
                if len(waiting) >= _PART_BYTES:
                    await self._flush(waiting, more=True)
        except Exception:
            if self._begun:
                raise Disconnected from None
            raise
        finally:
            gone.cancel()
        await self._flush(waiting, more=False)

    async def _flush(self, waiting: bytearray, *, more: bool) -> None:
        if not self._begun:
            self._begun = True
            headers = [(name.encode(), value.encode("latin-1", "replace")) for name, value in self._headers.items()]
            await self._send({"type": "http.response.start", "status": HTTPStatus.OK.value, "headers": headers})
        body = b"" if self._head_only else bytes(waiting)
        await self._send({"type": "http.response.body", "body": body, "more_body": more})
        waiting.clear()


def answer_of(request: HttpRequest, found: Route, result: bytes) -> HttpAnswer:
    tag = _tag(found, result)
    headers = {"content-type": "application/json", "etag": tag}
    known = [one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")]
    if request.method != "POST" and tag.removeprefix("W/") in known:
        return HttpAnswer(HTTPStatus.NOT_MODIFIED, {"etag": tag})
    return HttpAnswer(HTTPStatus.OK, headers, result)


def _tag(found: Route, result: bytes) -> str:
    """Returns the ETag of a result. It begins with the hash of the content where the result has one, for `If-Match`."""
    whole = blake2b(result, digest_size=8).hexdigest()
    if _HASH not in getattr(found.operation.result, "__dataclass_fields__", ()):
        return f'W/"{whole}"'
    return f'"{json.loads(result).get(_HASH, "")}-{whole}"'


def refusal_of(told: Problem) -> HttpAnswer:
    return HttpAnswer(told.status, {"content-type": PROBLEM_TYPE, **told.headers}, told.body)
