"""The proxy where something is wrong with germane: each call is answered by the provider, in time (PROXY-2)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from http.client import HTTPConnection
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import urlsplit

import pytest

from germane import Agent, Germane
from germane.errors import StoreUnavailable
from germane_testing.provider import Delivery, Reply
from support.listening import opened
from support.memory_proxy import MemoryProxy, memory_proxy, user
from support.proxying import Message, exchanged

pytestmark = pytest.mark.requirement("PROXY-2")

FACT = "Caroline's greyhound is called Biscuit"
ASKED = "What is my greyhound called?"


@pytest.fixture
async def germane(tmp_path: Path) -> AsyncIterator[Germane]:
    async with opened(tmp_path) as found:
        await found.agent().remember(FACT)
        yield found


async def raising(*_: Any, **__: Any) -> Any:
    raise RuntimeError("canary")


async def unavailable(*_: Any, **__: Any) -> Any:
    raise StoreUnavailable("canary")


async def hanging(*_: Any, **__: Any) -> Any:
    await asyncio.Event().wait()


async def garbage(*_: Any, **__: Any) -> Any:
    return object()


def broken(*_: Any, **__: Any) -> Any:
    raise RuntimeError("canary")


def exhausted(*_: Any, **__: Any) -> Any:
    raise MemoryError


ENGINE = (
    "germane.api.agent.Agent.assemble",
    "germane.api.agent.Agent.record",
    "germane.kinds.conversations.handle.AgentConversations.aliased",
)
PROXY = (
    "germane.service.proxy.memory.read_call",
    "germane.service.proxy.memory.whose",
    "germane.dialects.model_calls.splice",
    "germane.dialects.answer_copy.AnswerCopy.keep",
    "germane.service.proxy.recorder.entry_of",
)


@pytest.mark.parametrize(
    ("place", "fault"),
    [
        *((place, fault) for place in ENGINE for fault in (raising, unavailable, hanging, garbage, exhausted)),
        *((place, fault) for place in PROXY for fault in (broken, exhausted)),
    ],
)
async def test_a_call_is_answered_whatever_fails(
    germane: Germane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, fault: Any
) -> None:
    """With what was asked in it, as it came or with what is known; and the next one too."""
    async with memory_proxy(germane, tmp_path, deadline=0.2 if fault is hanging else 30.0) as proxy:
        with monkeypatch.context() as patch:
            patch.setattr(place, fault)
            for call in (proxy.chat(user(ASKED)), proxy.messages(user(ASKED))):
                answer = await call
                assert answer.status == 200, answer.body
                assert ASKED.encode() in proxy.sent
                assert b"canary" not in answer.body + str(answer.headers).encode()
                if place.endswith("assemble"):
                    assert "x-germane-fallback" in answer.headers
        assert proxy.provider.refused == []
        answer = await proxy.chat(user(ASKED))
        assert answer.status == 200
        assert fault is hanging or b"Biscuit" in proxy.sent, answer.headers


async def test_a_call_that_fails_holds_what_earlier_ones_were_sent(
    germane: Germane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing new. So the provider's cache still fits."""
    async with memory_proxy(germane, tmp_path) as proxy:
        talk = [user(ASKED)]
        answer = await proxy.chat(*talk)
        before = json.loads(proxy.sent)["messages"]
        await proxy.recorded()
        talk += [answer.json["choices"][0]["message"], user("And where does Caroline's greyhound sleep?")]
        monkeypatch.setattr(Agent, "assemble", raising)
        answer = await proxy.chat(*talk)
        sent = json.loads(proxy.sent)["messages"]
        assert sent == [*before, *talk[1:]]
        assert answer.headers["x-germane-fallback"] == "assembly_error:RuntimeError"
        assert answer.headers["x-germane-memories"] == "0"


async def test_a_call_is_answered_while_the_engine_computes(
    germane: Germane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ports have a loop of their own. The engine's is blocked until the answer is there."""
    answered = Event()

    async def computing(*_: Any, **__: Any) -> Any:
        assert answered.wait(60)

    def call(url: str) -> tuple[int, str | None]:
        try:
            parts = urlsplit(url)
            connection = HTTPConnection(str(parts.hostname), parts.port)
            body = json.dumps({"model": "gpt-5.4", "messages": [user(ASKED)]})
            connection.request("POST", f"{parts.path}/v1/chat/completions", body, {"content-type": "application/json"})
            found = connection.getresponse()
            found.read()
            connection.close()
            return found.status, found.headers.get("x-germane-fallback")
        finally:
            answered.set()

    async with memory_proxy(germane, tmp_path, deadline=0.1) as proxy:
        monkeypatch.setattr(Agent, "assemble", computing)
        assert await asyncio.to_thread(call, proxy.url) == (200, "assembly_timeout")


@pytest.mark.requirement("PROXY-1")
async def test_what_a_caller_heard_before_it_hung_up_is_recorded(germane: Germane, tmp_path: Path) -> None:
    """Once; and the provider is told that nobody listens."""
    async with memory_proxy(germane, tmp_path) as proxy:
        proxy.provider.script.append(Reply("I will tell you a long story of a dog.", delivery=Delivery(pause=60.0)))
        parts = urlsplit(proxy.url)
        reader, writer = await asyncio.open_connection(str(parts.hostname), parts.port)
        body = json.dumps({"model": "gpt-5.4", "stream": True, "messages": [user("Tell me of your dog")]}).encode()
        head = f"POST {parts.path}/v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        await reader.readuntil(b"data:")
        writer.close()
        await proxy.recorded()
        assert "Tell me of your dog" in [one.text for one in (await germane.agent().messages()).messages]


async def asked_with(proxy: MemoryProxy, *headers: tuple[str, str]) -> Message:
    """Asks with these headers as they stand, repeated ones too."""
    body = json.dumps({"model": "gpt-5.4", "messages": [user(ASKED)]})
    sent = (("Host", "localhost"), ("Content-Type", "application/json"), ("Content-Length", str(len(body))), *headers)
    url = urlsplit(proxy.url)
    head = f"POST {url.path}/v1/chat/completions HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in sent)
    return await exchanged(url.port or 0, f"{head}\r\n{body}".encode())


@pytest.mark.requirement("PROXY-3")
async def test_keys(germane: Germane, tmp_path: Path) -> None:
    """A call needs one of the service's; it never reaches the provider, and the provider's passes."""
    key = await germane.keys.create(org="acme", agents=["default"])
    await germane.agent(org="acme").remember("Acme's greyhound is called Zephyr")
    async with memory_proxy(germane, tmp_path, keys=germane.keys) as proxy:
        for refused in (await proxy.chat(user(ASKED)), await proxy.chat(user(ASKED), x_germane_key="gk_wrong")):
            assert (refused.status, refused.json["error"]["type"]) == (401, "authentication_error")
        assert proxy.provider.requests == []
        assert (await proxy.chat(user(ASKED), x_germane_key=key.token)).status == 200
        assert b"Zephyr" in proxy.sent
        assert b"Biscuit" not in proxy.sent
        sent = proxy.provider.requests[-1].headers
        assert (b"authorization", b"Bearer sk-provider-secret") in [(name.lower(), value) for name, value in sent]
        assert key.token.encode() not in str(sent).encode()
        denied = await proxy.chat(user(ASKED), path="/agent:other", x_germane_key=key.token)
        assert (denied.status, denied.headers["x-germane-fallback"]) == (200, "denied")
        assert b"Zephyr" not in proxy.sent


@pytest.mark.requirement("PROXY-3")
async def test_a_key_of_germanes_isnt_sent_to_a_provider(germane: Germane, tmp_path: Path) -> None:
    """Where the provider's key belongs, with a service that asks for keys or doesn't."""
    key = await germane.keys.create(org="acme")
    for keys in (None, germane.keys):
        async with memory_proxy(germane, tmp_path, keys=keys) as proxy:
            for headers in (
                {"authorization": f"Bearer {key.token}"},
                {"authorization": "x", "x_api_key": key.token},
                {"authorization": "Bearer sk-own", "x_api_key": key.token},
            ):
                answer = await proxy.chat(user(ASKED), **headers)
                assert (answer.status, "X-Germane-Key" in answer.body.decode()) == (400, True)
            twice = (("Authorization", "Bearer sk-own"), ("Authorization", f"Bearer {key.token}"))
            assert (await asked_with(proxy, *twice)).first.startswith(b"HTTP/1.1 400 ")
            assert proxy.provider.requests == []


@pytest.mark.requirement("PROXY-3", "PROXY-4")
async def test_a_header_that_says_two_things_costs_the_memory_alone(germane: Germane, tmp_path: Path) -> None:
    """A caller who names another user in front of what a gateway adds gets nothing of theirs; said twice alike, it is one."""
    await germane.agent(user="ana").remember("My greyhound is called Zephyr")
    async with memory_proxy(germane, tmp_path) as proxy:
        for second, told in (("bob", [b"invalid_input"]), ("ana", [])):
            named = (("Authorization", "Bearer sk"), ("X-Germane-User", "ana"), ("x-germane-user", second))
            answer = await asked_with(proxy, *named)
            assert (answer.first, answer.header(b"x-germane-fallback")) == (b"HTTP/1.1 200 OK", told)
            assert (b"Zephyr" in proxy.sent) is (second == "ana")
            await proxy.recorded()
            found = await germane.agent(user="ana").search("greyhound")
            assert any(ASKED in str(one) for one in found) is (second == "ana")


@pytest.mark.requirement("PROXY-3")
async def test_the_operators_key_takes_the_place_of_germanes(germane: Germane, tmp_path: Path) -> None:
    """Nobody unknown spends the operator's money."""
    key = await germane.keys.create(org="acme")
    async with memory_proxy(germane, tmp_path, keys=germane.keys, key="sk-operator") as proxy:
        assert (await proxy.chat(user(ASKED))).status == 401
        assert (await proxy.chat(user(ASKED), authorization=f"Bearer {key.token}")).status == 200
        sent = dict(proxy.provider.requests[-1].headers)
        assert sent.get(b"Authorization", sent.get(b"authorization")) == b"Bearer sk-operator"
        assert key.token.encode() not in str(sent).encode()


@pytest.mark.requirement("PROXY-3")
@pytest.mark.parametrize("operators", [False, True])
async def test_a_key_that_cant_be_verified_now(germane: Germane, tmp_path: Path, operators: bool) -> None:
    """It costs a call the memory; where the operator would pay for the call, the call."""

    class Unavailable:
        async def verify(self, token: str, *, patience: float | None = None) -> Any:
            raise StoreUnavailable("canary")

    given: dict[str, Any] = {"key": "sk-operator"} if operators else {}
    async with memory_proxy(germane, tmp_path, keys=Unavailable(), **given) as proxy:
        answer = await proxy.chat(user(ASKED), x_germane_key="gk_anything")
        assert answer.status == (503 if operators else 200)
        assert len(proxy.provider.requests) == (0 if operators else 1)
        if not operators:
            assert answer.headers["x-germane-fallback"] == "key_unverified"
            assert json.loads(proxy.sent)["messages"] == [user(ASKED)]


async def test_a_page_of_another_site_calls_nothing(germane: Germane, tmp_path: Path) -> None:
    """Without keys the service answers to this machine's own names alone (DNS rebinding)."""
    async with memory_proxy(germane, tmp_path) as proxy:
        for headers in ({"origin": "https://evil.example"}, {"host": "evil.example"}, {"sec_fetch_site": "cross-site"}):
            assert (await proxy.chat(user(ASKED), **headers)).status == 403
        assert proxy.provider.requests == []


async def test_a_name_that_cant_be_one_costs_the_memory_alone(germane: Germane, tmp_path: Path) -> None:
    async with memory_proxy(germane, tmp_path) as proxy:
        answer = await proxy.chat(user(ASKED), x_germane_user="u" * 300)
        assert (answer.status, answer.headers["x-germane-fallback"]) == (200, "invalid_input")
        answer = await proxy.chat(user(ASKED), x_germane_zone="Mars/Olympus")
        assert (answer.status, answer.headers["x-germane-fallback"]) == (200, "invalid_input")
