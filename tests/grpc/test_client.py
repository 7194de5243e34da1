"""Client: whatever the server does, the caller gets messages, and never an exception."""

from __future__ import annotations

import asyncio
import logging
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import grpc
import pytest

from germane.api.remote.answer import Answer
from germane.errors import InvalidInput
from germane.grpc.blocking import Client as Blocking
from germane.grpc.client import Client, asyncio_calls
from germane.grpc.messages import context_pb2
from germane_testing.time_warp import warped
from support.loopback import ADDED, Response, answering_bytes, enriched, hanging, refusing, serving, unused_port

ASKED: list[Any] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Where did we go?", "name": "caroline"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "nowhere"},
    {
        "role": "user",
        "content": [{"type": "text", "text": "And then? \ud800"}, {"type": "image_url", "image_url": {"url": "x"}}],
    },
]
LONG = 30.0
"""Seconds that no test waits: where it is the limit, something else ends the call."""


def same(answer: Answer, messages: list[Any] = ASKED) -> bool:
    """The very objects, in a list of their own."""
    return answer.messages is not messages and [*map(id, answer.messages)] == [*map(id, messages)]


def reason(answer: Answer) -> str:
    assert answer.metadata.degradation_level == (3 if answer.metadata.fallback_reason else 0)
    return answer.metadata.fallback_reason


@pytest.mark.requirement("RPC-3")
async def test_an_answer_has_what_was_added_and_the_callers_own_objects() -> None:
    """What travelled as JSON comes back as the object it was made from."""
    with serving(enriched) as address:
        async with Client(address, limit=LONG) as client:
            answer = await client.assemble(ASKED, model="gpt-4o", request_id="r1")
    assert answer.messages[0] == ADDED
    assert [*map(id, answer.messages[1:])] == [*map(id, ASKED)]
    assert (answer.metadata.memory_ids, answer.metadata.request_id, reason(answer)) == (("a",), "r1", "")


@pytest.mark.requirement("RPC-3")
@pytest.mark.parametrize("code", [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK])
async def test_every_status_gives_the_messages_back_with_its_name(code: grpc.StatusCode) -> None:
    """`grpc_error:<CODE>`, and nothing is raised."""
    with serving(refusing(code)) as address:
        async with Client(address, limit=LONG) as client:
            answer = await client.assemble(ASKED, model="gpt-4o")
    assert same(answer)
    assert reason(answer) == f"grpc_error:{code.name}"


@pytest.mark.requirement("RPC-3")
@warped
async def test_the_client_keeps_its_limit_by_its_own_clock() -> None:
    """gRPC's deadline is thirty real seconds away; the loop's clock has jumped there, and nothing has answered."""
    with hanging() as (address, _):
        async with Client(address, limit=LONG) as client:
            answer = await client.assemble(ASKED, model="gpt-4o")
            assert asyncio.get_running_loop().time() == LONG
    assert same(answer)
    assert reason(answer) == "grpc_error:DEADLINE_EXCEEDED"


@pytest.mark.requirement("RPC-3")
async def test_the_server_is_told_the_limit() -> None:
    """So it stops in time to answer with what it has."""
    seen: list[float] = []

    def answer(request: Any, context: Any) -> Response:
        seen.append(context.time_remaining())
        return enriched(request)

    with serving(answer) as address:
        async with Client(address, limit=LONG) as client:
            await client.assemble(ASKED, model="gpt-4o")
    assert 0 < seen[0] < LONG + 1  # gRPC rounds up


@contextmanager
def babbling(said: bytes) -> Iterator[str]:
    """A listener that isn't gRPC: it sends the same bytes to every connection, and closes it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def listen() -> None:
            while True:
                try:
                    other, _ = listener.accept()
                except OSError:
                    return
                with other:
                    other.sendall(said)

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.requirement("RPC-3")
@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\n\r\nhello", bytes(range(256)) * 64, b"\0\0\0\x04\0\0\0\0\0"])
async def test_garbage_from_what_is_no_grpc_server_hurts_nobody(said: bytes) -> None:
    """Hanging up at once, another protocol, any bytes, the beginning of a frame."""
    with babbling(said) as address:
        async with Client(address, limit=5.0) as client:
            answer = await client.assemble(ASKED, model="gpt-4o")
    assert same(answer)
    assert reason(answer) in ("grpc_error:UNAVAILABLE", "grpc_error:DEADLINE_EXCEEDED", "grpc_error:INTERNAL")


Message = context_pb2.Message
GARBAGE: dict[str, bytes] = {
    "nothing": b"",
    "no proto": b"\xff" * 64,
    "half a proto": Response(messages=[Message(role="user", content="x" * 99)]).SerializeToString()[:50],
    "a message that is no JSON": Response(messages=[Message(json="{")]).SerializeToString(),
    "one that is a number": Response(messages=[Message(json="5")]).SerializeToString(),
    "one too deep to read": Response(messages=[Message(json="[" * 100_000)]).SerializeToString(),
    "a system prompt that is a number": Response(system_json="5").SerializeToString(),
    "parts that are no parts": Response(messages=[Message(json='{"role": 5, "content": [5, null, {}]}')]).SerializeToString(),
}


@pytest.mark.requirement("RPC-3")
@pytest.mark.parametrize("garbage", GARBAGE)
async def test_garbage_in_an_answer_hurts_nobody(garbage: str) -> None:
    """A server of something else, or one that is broken."""
    with answering_bytes(GARBAGE[garbage]) as address:
        async with Client(address, limit=LONG) as client:
            answer = await client.assemble(ASKED, model="gpt-4o")
        with Blocking(address, limit=LONG) as blocking:
            again = await asyncio.to_thread(blocking.assemble, ASKED, model="gpt-4o")
    assert same(answer)
    assert same(again)
    assert reason(answer).startswith(("grpc_error:", "client_error:"))
    assert reason(again) == reason(answer)


@pytest.mark.requirement("RPC-3")
@pytest.mark.parametrize("target", ["127.0.0.1:{port}", "unix:nobody.sock", "ipv4:rubbish", ":::"])
async def test_a_server_that_is_not_there_is_unavailable_at_once(target: str) -> None:
    """Nothing listens, or it is no address at all."""
    async with Client(target.format(port=unused_port()), limit=LONG) as client:
        answer = await client.assemble(ASKED, model="gpt-4o")
    assert same(answer)
    assert reason(answer) in ("grpc_error:UNAVAILABLE", "grpc_error:UNKNOWN")


@pytest.mark.requirement("RPC-3")
@pytest.mark.parametrize("roots", [None, b"no certificate"])
async def test_a_handshake_that_fails_hurts_nobody(roots: bytes | None) -> None:
    """TLS towards a server that has none, and with roots that are none."""
    with serving(enriched) as address:
        async with Client(address, tls=True, roots=roots, limit=LONG) as client:
            answer = await client.assemble(ASKED, model="gpt-4o")
    assert same(answer)
    assert reason(answer).startswith("grpc_error:")


KILLED = """
import sys, threading
sys.path.insert(0, sys.argv[1])
from support.loopback import serving
def answer(request, context):
    print("asked", flush=True)
    threading.Event().wait()
with serving(answer) as address:
    print(address, flush=True)
    threading.Event().wait()
"""


@pytest.fixture
def doomed() -> Iterator[subprocess.Popen[str]]:
    """A server in a process of its own. It says its address, and that it was asked."""
    command = [sys.executable, "-c", KILLED, str(Path(__file__).parents[1])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        yield server
        server.kill()


@pytest.mark.requirement("RPC-3")
async def test_a_server_killed_in_the_middle_of_a_call_hurts_nobody(doomed: subprocess.Popen[str]) -> None:
    """SIGKILL: no farewell, the connection just ends."""
    assert doomed.stdout is not None
    async with Client(doomed.stdout.readline().strip(), limit=LONG) as client:
        task = asyncio.create_task(client.assemble(ASKED, model="gpt-4o"))
        await asyncio.to_thread(doomed.stdout.readline)
        doomed.kill()
        answer = await task
    assert same(answer)
    assert reason(answer) == "grpc_error:UNAVAILABLE"


@pytest.mark.requirement("RPC-3")
async def test_a_server_that_comes_back_is_found_again() -> None:
    """On the same port, by the same client, with nothing done about it."""
    async with Client(f"127.0.0.1:{(port := unused_port())}", limit=LONG) as client:
        reasons = []
        for _ in range(2):
            reasons.append(reason(await client.assemble(ASKED, model="gpt-4o")))
            with serving(enriched, port):
                assert await client.warm(patience=LONG)
                reasons.append(reason(await client.assemble(ASKED, model="gpt-4o")))
    assert reasons == ["grpc_error:UNAVAILABLE", "", "grpc_error:UNAVAILABLE", ""]


async def test_warming_tells_whether_there_is_a_connection() -> None:
    """And raises nothing."""
    with serving(enriched) as address:
        async with Client(address) as client:
            assert await client.warm(LONG)
    async with Client(f"127.0.0.1:{unused_port()}") as client:
        assert not await client.warm(0.01)
    assert not await client.warm(LONG)


@pytest.mark.requirement("RPC-3")
@pytest.mark.parametrize(
    "messages",
    [None, "text", b"bytes", 5, {"role": "user"}, {1, 2}, [None], [object()], [{"role": "user", "content": {1}}], [[]]],
)
async def test_messages_that_are_none_come_back_as_they_are(messages: Any) -> None:
    """A mistake in the caller's program costs it the context, not the request."""
    async with Client(f"127.0.0.1:{unused_port()}") as client:
        answer = await client.assemble(messages, model="gpt-4o")
    assert answer.messages is messages or same(answer, messages)
    assert reason(answer) == "client_error:InvalidInput"


@pytest.mark.requirement("RPC-3")
@pytest.mark.parametrize(
    "given",
    [
        {"model": None},
        {"model": " "},
        {"user": 5},
        {"org": b"acme"},
        {"at": "today"},
        {"max_tokens": -1},
        {"max_tokens": True},
        {"filters": {"tag": ["x"]}},
        {"filters": {"kinds": []}},
        {"filters": {"sensitivities": ()}},
        {"filters": {"task": 5}},
        {"task": "t"},
        {"task": True},
        {"task": 5, "session": "s"},
        {"task": " ", "session": "s"},
        {"zone": "Nowhere/Land", "filters": {"since": datetime(2026, 1, 1)}},
    ],
)
async def test_an_argument_that_cant_be_used_gives_the_messages_back(given: dict[str, Any]) -> None:
    """A filter that allows nothing too: it can't be said over the wire, where an empty list narrows nothing."""
    async with Client(f"127.0.0.1:{unused_port()}") as client:
        answer = await client.assemble(ASKED, **{"model": "gpt-4o", **given})
    assert same(answer)
    assert reason(answer) == "client_error:InvalidInput"


async def test_what_json_cant_hold_gives_the_messages_back() -> None:
    """A message that contains itself, and one that is nested too deep for JSON."""
    round: dict[str, Any] = {"role": "user"}
    round["content"] = [round]
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    async with Client(f"127.0.0.1:{unused_port()}") as client:
        first = await client.assemble([round], model="gpt-4o")
        second = await client.assemble([{"role": "user", "content": deep}], model="gpt-4o")
    assert reason(first) in ("client_error:ValueError", "client_error:oversized")
    assert reason(second) in ("client_error:RecursionError", "client_error:oversized")


async def test_cancelling_the_caller_cancels_the_call() -> None:
    """Cancellation is the only exception that passes through. No task stays behind, and the server sees the cancellation."""
    gone = threading.Event()
    with hanging(gone) as (address, asked):
        async with Client(address, limit=LONG) as client:
            task = asyncio.create_task(client.assemble(ASKED, model="gpt-4o"))
            await asyncio.to_thread(asked.wait)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(gone.wait, LONG / 3)
            await asyncio.gather(*asyncio_calls._ABANDONED, return_exceptions=True)
            assert not asyncio_calls._ABANDONED


async def test_closing_ends_the_calls_under_way_with_their_messages() -> None:
    """Those made afterwards too."""
    with hanging() as (address, asked):
        client = Client(address, limit=LONG)
        task = asyncio.create_task(client.assemble(ASKED, model="gpt-4o"))
        await asyncio.to_thread(asked.wait)
        await client.close()
        await client.close()
        under_way, later = await task, await client.assemble(ASKED, model="gpt-4o")
    assert same(under_way)
    assert reason(under_way) == "grpc_error:CANCELLED"
    assert reason(later) == "client_error:closed"


def test_a_client_goes_on_in_the_next_event_loop() -> None:
    """After `asyncio.run` has ended the first; not in two at once."""
    with serving(enriched) as address:
        client = Client(address, limit=LONG)

        async def once() -> str:
            return reason(await client.assemble(ASKED, model="gpt-4o"))

        async def two_at_once() -> list[str]:
            return [await once(), await asyncio.to_thread(lambda: asyncio.run(once()))]

        assert asyncio.run(once()) == ""
        assert asyncio.run(two_at_once()) == ["", "client_error:other_loop"]


@warped
async def test_a_server_that_hangs_is_left_alone_for_a_while() -> None:
    """The breaker opens after five calls in a row; after the cooldown one call is the probe."""
    with hanging() as (address, _):
        async with Client(address, limit=1.0, cooldown=10.0) as client:
            reasons = [reason(await client.assemble(ASKED, model="gpt-4o")) for _ in range(7)]
            assert asyncio.get_running_loop().time() == 5.0
            await asyncio.sleep(10.0)
            reasons += [reason(await client.assemble(ASKED, model="gpt-4o")) for _ in range(2)]
    hung, open = "grpc_error:DEADLINE_EXCEEDED", "client_breaker_open"
    assert reasons == [hung] * 5 + [open] * 2 + [hung, open]


async def test_the_log_has_each_reason_once_and_nothing_of_the_content(caplog: pytest.LogCaptureFixture) -> None:
    """Nor the key."""
    with serving(refusing(grpc.StatusCode.INTERNAL)) as address, caplog.at_level(logging.DEBUG):
        async with Client(address, key="gk_secret", limit=LONG) as client:
            for _ in range(3):
                await client.assemble(ASKED, model="gpt-4o")
                await client.assemble(ASKED, model="gpt-4o", query=["a secret"])  # type: ignore[arg-type]
    said = [record.getMessage() for record in caplog.records if record.name.startswith("germane")]
    assert len(said) == 2
    assert "secret" not in str(said)
    assert "gk_" not in repr(client._connection.address)


async def test_the_key_goes_with_each_call() -> None:
    """As a bearer's."""
    seen: list[Any] = []

    def answer(request: Any, context: Any) -> Response:
        seen.append(dict(context.invocation_metadata()).get("authorization"))
        return enriched(request)

    with serving(answer) as address:
        async with Client(address, key="gk_1", limit=LONG) as client:
            await client.assemble(ASKED, model="gpt-4o")
    assert seen == ["Bearer gk_1"]


@pytest.mark.parametrize(
    "given",
    [
        {"target": ""},
        {"target": None},
        {"key": "ä"},
        {"key": ""},
        {"limit": 0},
        {"limit": float("nan")},
        {"limit": 48},
        {"limit": 3600.0},
        {"breaker": -1},
        {"org": ""},
        {"certificate": b"x"},
        {"roots": "no/such/file.pem"},
    ],
)
def test_a_client_that_cant_be_made_says_why(given: dict[str, Any]) -> None:
    """The constructor raises, before any model call depends on the client."""
    with pytest.raises(InvalidInput, match="|".join(given)):
        Client(**{"target": "127.0.0.1:1", **given})


async def test_calls_are_for_whom_the_client_or_the_call_says() -> None:
    """A call's own word goes first. `within` keeps what isn't given, and `user=None` takes the user away."""
    seen: list[context_pb2.AssembleContextRequest] = []

    def answer(request: Any, context: Any) -> Response:
        seen.append(request)
        return enriched(request)

    with serving(answer) as address:
        async with Client(address, org="acme", agent="a", user="u", limit=LONG) as client:
            await client.assemble(ASKED, model="gpt-4o")
            await client.assemble(ASKED, model="gpt-4o", user="v", agent="b", session="s", max_tokens=0)
            await client.within(user="w").assemble(ASKED, model="gpt-4o")
            await client.within(agent="c").assemble(ASKED, model="gpt-4o")
            await client.within(user=None).assemble(ASKED, model="gpt-4o")
    told = [(one.org_id, one.agent_id, one.user_id, one.session_id, one.available_tokens) for one in seen]
    assert told[:2] == [("acme", "a", "u", "", 0), ("acme", "b", "v", "s", 1)]
    assert told[2:] == [("acme", "a", "w", "", 0), ("acme", "c", "u", "", 0), ("acme", "a", "", "", 0)]
