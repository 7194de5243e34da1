"""Received requests: each request of a client as it came, and what it asks, read from the protocol that it speaks."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from germane_testing.provider.fields import Body

__all__ = ["Asked", "OfferedTool", "Protocol", "Received", "Refused"]

Protocol: TypeAlias = Literal["chat", "responses", "messages", "gemini", "other"]


@dataclass(slots=True, eq=False)
class Received:
    """A request as it came, and what was answered.

    `target` is the path with its query as the client wrote it; `headers` are in their order, with duplicates and the client's
    spelling; `body` are the bytes before any decoding. `frames` are the text frames of a WebSocket, `refusals` the reasons for
    which the request was refused. `status` is 0 until the head of the answer was written; `sent` are the bytes of the answer's
    body as far as they were written, with the answer's content encoding, but without the chunks of HTTP. `ended` is set once
    the answer is over, in whatever way.
    """

    method: str
    target: str
    version: str
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    protocol: Protocol = "other"
    frames: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    status: int = 0
    sent: bytearray = field(default_factory=bytearray)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    def json(self) -> Any:
        """The parsed body, without its content encoding (gzip or deflate). Raises `ValueError` where it isn't JSON."""
        encoding = self.header("content-encoding")
        try:
            body = zlib.decompress(self.body, wbits=47) if encoding in ("gzip", "deflate") else self.body
            return json.loads(body)
        except (zlib.error, RecursionError) as error:
            raise ValueError(str(error)) from error

    def header(self, name: str) -> str | None:
        """The first value of the header, whatever the case of its name; None without one."""
        return next(iter(self.header_values(name)), None)

    def header_values(self, name: str) -> Sequence[str]:
        """All values of the header, in their order."""
        wanted = name.lower().encode("latin-1")
        return [value.decode("latin-1") for key, value in self.headers if key.lower() == wanted]

    @property
    def betas(self) -> frozenset[str]:
        """The names in `anthropic-beta`, of all headers of this name."""
        return frozenset(name.strip() for line in self.header_values("anthropic-beta") for name in line.split(","))


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool that the client runs; `schema` describes its arguments. A `custom` tool takes a text."""

    name: str
    schema: Body
    custom: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a request asks, in the same words for all protocols: what rules and scripts choose a reply by.

    `body` is the whole request, with what the provider holds of the conversation (a thread, stored responses) in front of what
    was sent. `text` is the newest text of a user. `answers_tools` says whether a tool's result stands behind it,
    `has_results` whether one stands anywhere. `forced` is the tool that must be called ("" for any tool), or None.
    """

    received: Received
    protocol: Protocol
    model: str
    body: Body
    text: str
    tools: tuple[OfferedTool, ...] = ()
    forced: str | None = None
    answers_tools: bool = False
    has_results: bool = False
    streams: bool = False
    kept: Any = field(default=None, repr=False)
    """What the protocol keeps of the request for its answer."""


@dataclass(slots=True)
class Refused(Exception):
    """A request that the provider refuses, with what its error says."""

    status: int
    reasons: tuple[str, ...]
    code: str = ""
    details: Body | None = None

    @property
    def message(self) -> str:
        return "; ".join(self.reasons)
