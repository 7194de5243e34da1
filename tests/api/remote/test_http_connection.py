"""The HTTP connection of a client: what it sends where, and what it makes of a service that doesn't behave."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from germane import Germane, GermaneError, InvalidInput, StoreUnavailable
from germane.api.remote import http_connection
from germane.api.remote.http import RemoteAgent
from germane.service.http.health import app
from germane.service.http.server import HttpServer
from support.http_requests import LOOPBACK

pytestmark = pytest.mark.requirement("HTTP-1")

ASKED = [{"role": "user", "content": "When does the warehouse open?"}]
HANG = b""


def answer(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    """An answer with a content-length, after which the connection stays open."""
    head = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", *headers]
    return "\r\n".join([*head, "", ""]).encode() + body


@asynccontextmanager
async def saying(said: bytes, *, end: bool = False) -> AsyncIterator[tuple[str, list[bytes]]]:
    """Serves `said` for each request, and the list of the heads that came; with `end` the connection is closed then."""
    heads: list[bytes] = []
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                heads.append(head)
                lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
                await reader.readexactly(int(lengths[0].split(b":")[1]) if lengths else 0)
                writer.write(said)
                if end:
                    writer.close()
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", heads
    finally:
        server.close()
        for writer in writers:
            writer.close()


@asynccontextmanager
async def agent_at(url: str, *, limit: float = 10.0, **given: float) -> AsyncIterator[RemoteAgent]:
    async with Germane.connect(url, key="gk_test", limit=limit, **given) as germane:  # type: ignore[arg-type]
        yield germane.agent("support")


async def reason(agent: RemoteAgent) -> str:
    """Assembles, and returns why the messages came back."""
    answered = await agent.assemble(ASKED, model="gpt-4o")
    assert answered.messages == ASKED
    assert answered.messages is not ASKED
    return answered.metadata.fallback_reason


@pytest.mark.parametrize(
    ("said", "end", "reason_given", "raised"),
    [
        (answer(b"", "302 Found", "location: http://127.0.0.1:1/"), False, "http_error:302", "redirect"),
        (answer(b"", "308 Permanent Redirect", "location: /v1/x"), False, "http_error:308", "redirect"),
        (answer(b"<html>", "502 Bad Gateway", "content-type: text/html"), False, "http_error:502", "no service of germane's"),
        (answer(b"{", "400 Bad Request", "content-type: application/problem+json"), False, "http_error:UNAVAILABLE", "asked"),
        (answer(b"[1]", "400 Bad Request", "content-type: application/problem+json"), False, "http_error:400", "no service"),
        (answer(b"\x1f\x8b", "200 OK", "content-encoding: gzip"), False, "http_error:UNREADABLE", "read"),
        (answer(b"x" * 2000), False, "http_error:OVERSIZED", "asked"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{", True, "http_error:UNAVAILABLE", "asked"),
        (b"SSH-2.0\r\n\r\n", True, "http_error:UNAVAILABLE", "asked"),
        (answer(b"[" * 900), False, "http_error:UNREADABLE", "read"),
        (answer(b'{"messages": "none"}'), False, "http_error:UNREADABLE", "read"),
    ],
)
async def test_whatever_answers_the_messages_come_back(
    said: bytes, end: bool, reason_given: str, raised: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each request is sent once, and to that address only; what isn't `assemble` raises."""
    monkeypatch.setattr(http_connection, "_MAX_ANSWER", 1000)
    async with saying(said, end=end) as (url, heads), agent_at(url) as agent:
        assert await reason(agent) == reason_given
        assert len(heads) == 1
        with pytest.raises(GermaneError, match=raised):
            await agent.memories.list()
        assert len(heads) == 2


async def test_a_service_that_hangs_is_left_alone() -> None:
    """`assemble` ends at its limit; after some in a row none is sent for a while. Other calls end too."""
    async with saying(HANG) as (url, heads), agent_at(url, limit=0.03, patience=0.03, breaker=2, cooldown=60.0) as agent:
        assert [await reason(agent) for _ in range(3)] == ["http_error:DEADLINE_EXCEEDED"] * 2 + ["client_breaker_open"]
        assert len(heads) == 2
        with pytest.raises(StoreUnavailable, match="DEADLINE"):
            await agent.memories.list()
        with pytest.raises(StoreUnavailable, match="DEADLINE"):
            [line async for line in agent.export()]


async def test_a_connection_that_is_gone_is_not_tried_again() -> None:
    """The service closes it after its first answer: the caller is told, and the next call opens a new one."""
    async with saying(HANG, end=True) as (url, heads), agent_at(url) as agent:
        assert await reason(agent) == "http_error:UNAVAILABLE"
        with pytest.raises(StoreUnavailable):
            await agent.remember("once")
        assert len(heads) == 2


async def test_a_stream_that_breaks_off_is_no_export() -> None:
    """Its lines come, and then the error."""
    said = b'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n8\r\n{"a":1}\n\r\n'
    lines = []
    async with saying(said, end=True) as (url, _), agent_at(url) as agent:
        with pytest.raises(StoreUnavailable):  # noqa: PT012
            async for line in agent.export():
                lines.append(line)  # noqa: PERF401
    assert lines == [{"a": 1}]


async def test_the_environment_leads_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy, and no key but the given one."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    said = answer(b'{"memories": [], "cursor": null}', "200 OK", "set-cookie: a=b")
    async with saying(said) as (url, heads), agent_at(f"{url.replace('127.0.0.1', 'localhost')}/behind/") as agent:
        assert (await agent.memories.list()).memories == ()
        assert (await agent.memories.list()).memories == ()
    assert heads[0].startswith(b"POST /behind/v1/agents/support/memories/list HTTP/1.1")
    assert b"authorization: bearer gk_test" in heads[0].lower()
    assert b"cookie" not in heads[1].lower()


@pytest.mark.parametrize("url", ["http://10.0.0.1:7412", "http://memory.example.com", "http://localhost.example.com"])
def test_a_key_stays_on_this_machine_without_tls(url: str) -> None:
    """Unless the caller allows it; https always does."""
    with pytest.raises(InvalidInput, match="could be read on its way") as wrong:
        Germane.connect(url, key="gk_secret")
    assert "gk_secret" not in str(wrong.value)
    Germane.connect(url)
    Germane.connect(url, key="gk_secret", plaintext=True)
    Germane.connect(url.replace("http", "https", 1), key="gk_secret")
    for local in ("http://localhost:1", "http://127.0.0.1:1", "http://[::1]:1"):
        assert "gk_secret" not in repr(Germane.connect(local, key="gk_secret"))


@pytest.mark.parametrize(
    "given",
    [
        {"url": "127.0.0.1:7412"},
        {"url": ""},
        {"url": None},
        {"url": "grpc://127.0.0.1:7411"},
        {"url": "http://"},
        {"url": "http://[::1"},
        {"url": "http://h:99999"},
        {"url": "http://h/?org=x"},
        {"url": "http://h/#x"},
        {"url": "http://h/\r\nx"},
        {"url": "http://me:secret@h"},
        {"key": ""},
        {"key": "a\r\nb"},
        {"org": ""},
        {"limit": 45},
        {"limit": 0},
        {"patience": -1},
    ],
)
def test_what_cannot_be_used_is_refused_at_once(given: dict[str, object]) -> None:
    """And no password or key is shown."""
    with pytest.raises(InvalidInput) as wrong:
        Germane.connect(**{"url": "http://localhost:1", **given})  # type: ignore[arg-type]
    assert "secret" not in str(wrong.value)


async def test_ping_says_whether_germane_answers() -> None:
    """Another service is none; neither is a stopped one."""
    server = HttpServer(app(reasons=tuple), LOOPBACK)
    await server.start()
    async with Germane.connect(f"http://{server.address}") as germane:
        await germane.ping()
        await server.stop()
        with pytest.raises(StoreUnavailable):
            await germane.ping()
    for body in (b"{}", b"[]", b"hello", json.dumps({"status": "ok"}).encode()):
        async with saying(answer(body)) as (url, _), Germane.connect(url) as germane:
            with pytest.raises(StoreUnavailable, match="another service"):
                await germane.ping()


async def test_a_connection_belongs_to_one_event_loop() -> None:
    """In another one the messages come back."""
    async with saying(HANG) as (url, heads), agent_at(url) as agent:
        assert await asyncio.to_thread(lambda: asyncio.run(reason(agent))) == "client_error:other_loop"
        assert heads == []
