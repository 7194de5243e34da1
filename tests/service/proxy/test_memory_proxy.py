"""The proxy with memory: what a call gets, whose it is, what is kept of it, and that nothing else changes."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI, omit

from germane import Germane
from germane_testing.provider import Failure, Reply, Thinking
from support.listening import opened
from support.memory_proxy import MemoryProxy, memory_proxy, user

pytestmark = pytest.mark.requirement("PROXY-1")

FACT = "Caroline's greyhound is called Biscuit"
ASKED = "What is my greyhound called?"


@pytest.fixture
async def germane(tmp_path: Path) -> AsyncIterator[Germane]:
    async with opened(tmp_path) as found:
        await found.agent().remember(FACT)
        yield found


@pytest.fixture
async def proxy(germane: Germane, tmp_path: Path) -> AsyncIterator[MemoryProxy]:
    async with memory_proxy(germane, tmp_path) as served:
        yield served


@pytest.mark.parametrize("api", ["/v1/chat/completions", "/v1/responses", "/v1/messages"])
async def test_what_is_known_goes_into_the_calls_own_bytes(proxy: MemoryProxy, api: str) -> None:
    """White space, order, escapes and numbers stay; what was added stands at one place, before the question."""
    messages = f'"{"input" if "responses" in api else "messages"}": [ {{"content" : "{ASKED} \\u00e9", "role":"user"}} ]'
    body = f'{{ "max_tokens":5e1 ,{messages},"model" : "gpt-5.4", "temperature": 1.00}}\n'
    body = body.replace('"max_tokens":5e1 ,', "") if "messages" not in api else body.replace("5e1", "50")
    answer = await proxy.post(api, body.encode())
    assert answer.status == 200, answer.body
    sent = proxy.sent.decode()
    assert "Biscuit" in sent
    start = next(place for place, (one, other) in enumerate(zip(sent, body, strict=False)) if one != other)
    end = next(place for place, (one, other) in enumerate(zip(sent[::-1], body[::-1], strict=False)) if one != other)
    assert start + end >= len(body.strip()) - len(f'"{ASKED} \\u00e9"'), "more than the place of the text has changed"
    assert answer.headers["x-germane-memories"] == "1"
    assert int(answer.headers["x-germane-tokens"]) > 10
    assert answer.headers["x-germane-context"]
    assert "x-germane-fallback" not in answer.headers
    assert proxy.provider.refused == []


async def test_a_turn_is_recorded_once_and_known_in_another_session(proxy: MemoryProxy, germane: Germane) -> None:
    """Also where the conversation is sent again with each turn, and where the answer is a stream."""
    talk = [user("I moved to Lisbon in spring.")]
    for text in ("And I sail on Sundays.", "Thanks!"):
        answer = await proxy.post("/v1/chat/completions", {"model": "gpt-5.4", "messages": talk, "stream": True})
        assert answer.body.endswith(b"data: [DONE]\n\n")
        await proxy.recorded()
        talk += [{"role": "assistant", "content": f"You said: {talk[-1]['content']}"}, user(text)]
    (session,) = (await germane.agent().sessions()).sessions
    stored = [one.text for one in (await germane.agent().messages(session=session.id)).messages]
    assert sorted(stored) == sorted(one["content"] for one in talk[:4])
    answer = await proxy.chat(user("Where did I move to in spring?"))
    assert "Lisbon" in proxy.sent.decode()


async def test_a_session_keeps_its_prefix(proxy: MemoryProxy) -> None:
    """Each prompt begins with the one before, though the caller sends its own messages alone."""
    talk, before = list[dict[str, Any]](), list[Any]()
    for text in (ASKED, "And who is Caroline?", "hi", "Is Biscuit a greyhound?"):
        talk.append(user(text))
        answer = await proxy.chat(*talk)
        messages = json.loads(proxy.sent)["messages"]
        assert messages[: len(before)] == before
        before = messages
        talk.append(answer.json["choices"][0]["message"])
    assert "Biscuit" in str(before)


@pytest.mark.requirement("PROXY-3", "SCOPE-1")
async def test_whose_memory_it_is(proxy: MemoryProxy, germane: Germane) -> None:
    """By header, by path, by the person in the body; nobody gets another's."""
    await germane.agent("shop", user="ana").remember("Ana's greyhound is called Zephyr")
    asked, spoken = user(ASKED), "/v1/chat/completions"
    for call in (
        proxy.chat(asked, x_germane_agent="shop", x_germane_user="ana"),
        proxy.chat(asked, path="/agent:shop/user:ana"),
        proxy.post(f"/agent:shop{spoken}", {"model": "gpt-5.4", "messages": [asked], "safety_identifier": "ana"}),
        proxy.post(f"/agent:shop{spoken}", {"model": "gpt-5.4", "messages": [asked], "user": "ana"}),
        proxy.post(
            "/agent:shop/v1/messages",
            {"model": "claude-opus-5-5", "max_tokens": 9, "messages": [asked], "metadata": {"user_id": "ana"}},
        ),
    ):
        assert (await call).status == 200
        assert "Zephyr" in proxy.sent.decode()
        assert "Biscuit" not in proxy.sent.decode()
    for call in (proxy.chat(asked, path="/agent:shop/user:eve"), proxy.chat(asked, path="/agent:shop"), proxy.chat(asked)):
        assert (await call).status == 200
        assert "Zephyr" not in proxy.sent.decode()
    for received in proxy.provider.requests:
        assert not [name for name, _ in received.headers if name.lower().startswith(b"x-germane")]


@pytest.mark.requirement("PROXY-2")
@pytest.mark.parametrize("how", ["header", "upstream", "path", "type", "encoded", "large", "twice", "garbage", "utf-8"])
async def test_anything_else_passes_as_it_came(germane: Germane, tmp_path: Path, how: str) -> None:
    """The same bytes, and no header of germane's."""
    body: Any = json.dumps({"model": "gpt-5.4", "messages": [user(ASKED)]}, indent=1).encode()
    path, headers, given = "/v1/chat/completions", dict[str, str](), dict[str, Any]()
    match how:
        case "header":
            headers["x_germane_skip"] = "true"
        case "upstream":
            given["inject"] = False
        case "path":
            path = "/v1/embeddings"
        case "type":
            headers["content_type"] = "text/plain"
        case "encoded":
            body, headers["content_encoding"] = gzip.compress(body), "gzip"
        case "large":
            given["max_bytes"] = len(body) - 1
        case "twice":
            body = body.replace(b'"messages"', b'"messages": [], "messages"')
        case "garbage":
            body = b"[" * 100_000
        case _:
            body = body.replace(b"greyhound", b"grey\xffhound")
    async with memory_proxy(germane, tmp_path, **given) as proxy:
        answer = await proxy.post(path, body, **headers)
        assert proxy.sent == body
        told = {name for name in answer.headers if name.startswith("x-germane")}
        assert told == (
            {"x-germane-memories", "x-germane-tokens", "x-germane-context", "x-germane-fallback"} if how == "twice" else set()
        )
        await proxy.recorded()


@pytest.mark.requirement("PROXY-2")
async def test_an_answer_without_room_for_its_copy_is_relayed_whole(
    germane: Germane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The room is there again for the next one."""
    monkeypatch.setattr("germane.service.proxy.proxy._MAX_COPIED", 2_000)
    async with memory_proxy(germane, tmp_path) as proxy:
        for number, said in enumerate(("long " * 1_000, "first " * 200, "second " * 200)):
            proxy.provider.script.append(Reply(said))
            answer = await proxy.chat(user(f"Please say something, number {number}"))
            assert answer.json["choices"][0]["message"]["content"] == said
            await proxy.recorded()
    found = [one.candidate.text[:12] for one in await germane.agent().search("long first second something", 50)]
    assert {"first first ", "second secon"} <= {*found}
    assert found.count("Please say s") == 3
    assert not [text for text in found if text.startswith("long")]


@pytest.mark.requirement("PROXY-1")
async def test_an_error_isnt_recorded(proxy: MemoryProxy, germane: Germane) -> None:
    """It comes back as it is, with what says when to try again; the second try gets the same text."""
    proxy.provider.script += [Failure(429, headers=(("retry-after-ms", "7"),)), Reply("Biscuit.")]
    first = await proxy.chat(user(ASKED), x_stainless_retry_count="0")
    sent = proxy.sent
    second = await proxy.chat(user(ASKED), x_stainless_retry_count="1")
    assert (first.status, first.headers["retry-after-ms"], second.status) == (429, "7", 200)
    assert proxy.sent == sent
    await proxy.recorded()
    assert sorted(one.text for one in (await germane.agent().messages()).messages) == ["Biscuit.", ASKED]


async def test_the_provider_drops_thinking_that_was_bound_to_forgotten_text(proxy: MemoryProxy, germane: Germane) -> None:
    """By a beta that stands in the header beside the caller's own."""
    asked = {"model": "claude-fable-5-1", "max_tokens": 2000, "thinking": {"type": "enabled", "budget_tokens": 1024}}
    talk = [user(ASKED)]
    proxy.provider.script += [Reply(Thinking("Hm."), "It has a name."), Reply(Thinking("Well."), "You are welcome.")]
    answer = await proxy.post("/v1/messages", asked | {"messages": talk})
    assert answer.status == 200, answer.body
    assert "Biscuit" in proxy.sent.decode()
    await proxy.recorded()
    talk += [{"role": "assistant", "content": answer.json["content"]}, user("Thanks!")]
    (found,) = await germane.agent().search("greyhound", limit=1)
    await germane.agent().forget([found.candidate.id])
    answer = await proxy.post("/v1/messages", asked | {"messages": talk}, anthropic_beta="context-1m-2025-08-07")
    (betas,) = [value for name, value in proxy.provider.requests[-1].headers if name.lower() == b"anthropic-beta"]
    assert answer.status == 200, answer.body
    assert "Biscuit" not in proxy.sent.decode()
    assert betas == b"context-1m-2025-08-07,thinking-binding-controls-2026-08-01"
    assert proxy.provider.refused == []


async def test_the_responses_api_over_a_websocket(proxy: MemoryProxy, germane: Germane) -> None:
    """Each create gets what is known; the provider's state is followed, and the turns are recorded as one session."""
    client = AsyncOpenAI(base_url=f"{proxy.url}/v1", api_key="sk-provider-secret")
    async with client, client.responses.connect() as connection:
        previous: Any = omit
        for text in (ASKED, "I moved to Lisbon in spring.", "Thanks!"):
            await connection.response.create(model="gpt-5.4", input=text, previous_response_id=previous)
            event = await connection.recv()
            while event.type != "response.completed":
                event = await connection.recv()
            previous = event.response.id
    frames = [json.loads(frame) for frame in proxy.provider.requests[-1].frames]
    assert "Biscuit" in str(frames[0])
    assert "Biscuit" not in str(frames[1:])
    assert proxy.provider.refused == []
    await proxy.recorded()
    (session,) = (await germane.agent().sessions()).sessions
    stored = (await germane.agent().messages(session=session.id)).messages
    assert {"I moved to Lisbon in spring.", ASKED, "Thanks!"} <= {one.text for one in stored}
    assert len(stored) == 6
