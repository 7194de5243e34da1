"""Anthropic SDK: the middleware with the real SDK against a strict local provider."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from threading import Event
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic, AsyncAnthropic

from germane import Agent, sync
from germane.integrations.anthropic_sdk import BlockingMemoryMiddleware, memory
from germane.ports.models import Embedder
from germane_testing.provider import (
    HANG,
    Delivery,
    Failure,
    LocalProvider,
    Reply,
    Thinking,
    ToolCall,
    answers,
    provider_in_thread,
)

pytestmark = pytest.mark.requirement("ADAPT-1")
MODEL, BINDS = "claude-opus-4-8", "claude-fable-5-1"
SAID = "By e-mail, then."
FACT = "My greyhound Biscuit eats oolong tea leaves."
ASKS = "What does my greyhound Biscuit eat?"
TOOL: Any = {"name": "order", "input_schema": {"type": "object", "properties": {}}}
AT_ONCE = (("retry-after-ms", "1"),)


@pytest.fixture
def provider() -> Iterator[LocalProvider]:
    with provider_in_thread(keep_alive=False, rule=answers(SAID)) as served:
        yield served


@pytest.fixture
def agent(embedder: Embedder) -> Iterator[sync.Agent]:
    with sync.Germane.open(":memory:", embedder=embedder) as opened:
        yield opened.agent("support", user="caroline")


@pytest.fixture
def middleware(agent: sync.Agent) -> BlockingMemoryMiddleware:
    return memory(agent, session="tuesday")


@pytest.fixture
def client(provider: LocalProvider, middleware: BlockingMemoryMiddleware) -> Iterator[Anthropic]:
    with Anthropic(base_url=provider.url, api_key="none", middleware=[middleware]) as opened:
        yield opened


def ask(client: Anthropic, *messages: Any, model: str = MODEL, **options: Any) -> Any:
    said: Any = [{"role": "user", "content": one} if isinstance(one, str) else one for one in messages]
    return client.messages.create(model=model, max_tokens=100, messages=said, **options)


def kept(agent: sync.Agent, session: str = "tuesday") -> list[str]:
    return [one.text for one in reversed(agent.messages(session).messages)]


def test_what_one_conversation_said_is_known_in_the_next(
    client: Anthropic, middleware: BlockingMemoryMiddleware, provider: LocalProvider, agent: sync.Agent
) -> None:
    """The header names the session of a call, and doesn't reach the provider."""
    ask(client, FACT, extra_headers={"X-Germane-Session": "monday"})
    assert middleware.flush()
    ask(client, ASKS)
    assert middleware.flush()
    first, second = provider.bodies
    assert first["messages"] == [{"role": "user", "content": FACT}]
    assert FACT in str(second["messages"])
    assert second["messages"][-1]["content"][-1] == {"type": "text", "text": ASKS}
    assert kept(agent, "monday") == [FACT, SAID]
    assert kept(agent) == [ASKS, SAID]
    assert not [name for one in provider.requests for name, _ in one.headers if b"germane" in name.lower()]
    assert provider.refused == []


def test_a_call_may_name_its_user(
    client: Anthropic, middleware: BlockingMemoryMiddleware, provider: LocalProvider, agent: sync.Agent
) -> None:
    """Another user's words aren't shown."""
    ask(client, FACT, extra_headers={"X-Germane-User": "melanie"})
    assert middleware.flush()
    ask(client, ASKS, extra_headers={"X-Germane-Session": "other"})
    assert FACT not in str(provider.bodies[-1])
    assert kept(agent.within(user="melanie")) == [FACT, SAID]
    assert kept(agent) == []


@pytest.mark.parametrize("session", ["", None])
def test_without_a_session_a_call_goes_as_it_came(
    provider: LocalProvider, agent: sync.Agent, session: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    """An empty one says so; one that was forgotten is logged once."""
    agent.directive("Be kind.")
    middleware = memory(agent)
    with Anthropic(base_url=provider.url, api_key="none", middleware=[middleware]) as client:
        for _ in range(2):
            ask(client, FACT, extra_headers={} if session is None else {"X-Germane-Session": session})
    assert middleware.flush()
    assert "Be kind." not in str(provider.bodies)
    assert agent.stats().messages == 0
    levels = [one.levelno for one in caplog.records if one.name == "germane.integrations"]
    assert levels == ([] if session == "" else [logging.WARNING])


def test_a_stream_is_recorded_when_it_was_read(
    client: Anthropic, middleware: BlockingMemoryMiddleware, provider: LocalProvider, agent: sync.Agent
) -> None:
    """The SDK sees each of its events; calls are put together from their pieces."""
    provider.script += [Reply("One moment.", ToolCall("order", {"item": "vase"}), delivery=Delivery(characters=3))]
    asked: Any = [{"role": "user", "content": "Order a vase."}]
    with client.messages.stream(model=MODEL, max_tokens=100, messages=asked, tools=[TOOL]) as stream:
        texts = "".join(stream.text_stream)
        final: Any = stream.get_final_message()
    assert middleware.flush()
    assert texts == "One moment."
    call = final.content[-1]
    assert kept(agent) == ["Order a vase.", 'One moment.\norder({"item": "vase"})']
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "It left on Monday."}
    history = [*asked, {"role": "assistant", "content": final.content}, {"role": "user", "content": [result]}]
    ask(client, *history, tools=[TOOL])
    assert middleware.flush()
    assert kept(agent)[2:] == ["It left on Monday.", SAID]
    assert provider.refused == []


def test_of_a_stream_that_is_closed_early_the_words_that_came_are_recorded(
    client: Anthropic, middleware: BlockingMemoryMiddleware, provider: LocalProvider, agent: sync.Agent
) -> None:
    """What the caller saw, once."""
    provider.script += [Reply("One two three four five six", delivery=Delivery(characters=4, writes=(64,)))]
    asked: Any = [{"role": "user", "content": "Count."}]
    with client.messages.create(model=MODEL, max_tokens=100, messages=asked, stream=True) as stream:
        seen = ""
        for event in stream:
            seen += getattr(getattr(event, "delta", None), "text", "")
            if len(seen) >= 8:
                break
    assert middleware.flush()
    first, second = kept(agent)
    assert first == "Count."
    assert second.startswith(seen.strip())
    assert "One two three four five six".startswith(second)


@pytest.mark.parametrize("status", [500, 429, 529])
def test_a_retry_carries_the_same_texts_and_the_turn_is_recorded_once(
    client: Anthropic, middleware: BlockingMemoryMiddleware, provider: LocalProvider, agent: sync.Agent, status: int
) -> None:
    """The middleware runs in each attempt."""
    agent.remember(FACT)
    provider.script += [Failure(status, headers=AT_ONCE), Failure(status, headers=AT_ONCE)]
    ask(client, ASKS)
    assert middleware.flush()
    first, second, third = [one.json() for one in provider.requests]
    assert FACT in str(first["messages"])
    assert first == second == third
    assert kept(agent) == [ASKS, SAID]


def test_an_error_of_the_provider_is_the_sdks_own(
    client: Anthropic, middleware: BlockingMemoryMiddleware, provider: LocalProvider, agent: sync.Agent
) -> None:
    """Nothing is recorded of it."""
    provider.script += [Failure(400, "no such thing")]
    with pytest.raises(anthropic.BadRequestError, match="no such thing"):
        ask(client, FACT)
    provider.script += [Reply("Half", delivery=Delivery(error=Failure(529), error_after=2))]
    with (
        pytest.raises(anthropic.APIStatusError),
        client.messages.stream(model=MODEL, max_tokens=9, messages=[{"role": "user", "content": FACT}]) as stream,
    ):
        stream.get_final_text()
    assert middleware.flush()
    assert SAID not in kept(agent)
    assert "Half" not in kept(agent)


class Failing:
    """An agent whose calls fail, or hang."""

    def __init__(self, agent: sync.Agent, *broken: str, hangs: bool = False) -> None:
        self._agent, self._broken, self._hangs, self.over = agent, broken, hangs, Event()

    def __getattr__(self, name: str) -> Any:
        return self._fail if name in self._broken else getattr(self._agent, name)

    def _fail(self, *_: Any, **__: Any) -> Any:
        if self._hangs:
            self.over.wait()
        raise RuntimeError("out of order")


@pytest.mark.parametrize("hangs", [False, True])
@pytest.mark.parametrize("broken", [("assemble",), ("assemble", "fallback", "record")])
def test_an_engine_that_fails_or_hangs_stops_no_request(
    provider: LocalProvider, agent: sync.Agent, hangs: bool, broken: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    """The directive as last known where that is left, else what the caller sent."""
    agent.directive("Be kind.")
    failing: Any = Failing(agent, *broken, hangs=hangs)
    middleware = BlockingMemoryMiddleware(failing, session="tuesday", deadline=0.01)
    with Anthropic(base_url=provider.url, api_key="none", middleware=[middleware]) as client:
        for _ in range(3):
            assert ask(client, FACT).content[0].text == SAID
    failing.over.set()
    assert middleware.flush()
    assert [body["messages"] for body in provider.bodies] == [[{"role": "user", "content": FACT}]] * 3
    assert {"Be kind." in str(body.get("system")) for body in provider.bodies} == {len(broken) == 1}
    assert [one.levelno for one in caplog.records if one.name == "germane.integrations"] == [logging.WARNING]


def test_what_cant_be_read_goes_as_it_came(
    client: Anthropic, middleware: BlockingMemoryMiddleware, provider: LocalProvider
) -> None:
    """The provider says what is wrong with it."""
    for content in ([{"type": "hologram"}], 7):
        with suppress(anthropic.BadRequestError):
            ask(client, {"role": "user", "content": content})
    assert [one.json()["messages"][0]["content"] for one in provider.requests] == [[{"type": "hologram"}], 7]
    assert middleware.flush()


def test_counting_tokens_goes_as_it_came(client: Anthropic, provider: LocalProvider, agent: sync.Agent) -> None:
    """So does every other endpoint."""
    agent.directive("Be kind.")
    client.messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": FACT}])
    client.models.list()
    assert provider.requests[0].json() == {"model": MODEL, "messages": [{"role": "user", "content": FACT}]}


@pytest.mark.parametrize("fails_at", [None, 1, 3, 4])
def test_bound_thinking_holds_over_turns_with_tools(
    client: Anthropic,
    middleware: BlockingMemoryMiddleware,
    provider: LocalProvider,
    agent: sync.Agent,
    monkeypatch: pytest.MonkeyPatch,
    fails_at: int | None,
) -> None:
    """A provider that refuses thinking behind other messages takes every request, also where an assembly fails: that one has
    what earlier turns hold, and nothing new."""
    agent.directive("Be kind.")
    agent.remember(FACT)
    assemble, calls = agent.assemble, count()

    def assembled(*given: Any, **named: Any) -> Any:
        if next(calls) == fails_at:
            raise RuntimeError("out of order")
        return assemble(*given, **named)

    monkeypatch.setattr(agent, "assemble", assembled)
    three_turns(client, middleware, provider)
    assert provider.refused == []
    assert str(provider.bodies[-1]["messages"]).count(FACT) == 1
    assert len(kept(agent)) == 12


def test_where_a_text_has_to_go_the_provider_is_told_to_drop_its_thinking(
    client: Anthropic, middleware: BlockingMemoryMiddleware, provider: LocalProvider, agent: sync.Agent
) -> None:
    """The request has the setting and its beta; the caller's own betas stay."""
    memory = agent.remember(FACT)

    def forget(turn: int) -> None:
        if turn == 1:
            agent.forget([memory.id])

    three_turns(client, middleware, provider, between=forget, extra_headers={"anthropic-beta": "context-1m-2025-08-07"})
    assert provider.refused == []
    assert FACT not in str(provider.bodies[-1])
    told = [one for one in provider.requests if "block_binding" in one.json()["thinking"]]
    assert told
    betas = [value for name, value in told[-1].headers if name.lower() == b"anthropic-beta"]
    assert betas == [b"context-1m-2025-08-07,thinking-binding-controls-2026-08-01"]


def three_turns(
    client: Anthropic,
    middleware: BlockingMemoryMiddleware,
    provider: LocalProvider,
    between: Callable[[int], None] = lambda turn: None,
    **options: Any,
) -> None:
    """Each with thinking, a call and its result, and thinking again."""
    history: list[Any] = []
    for turn in range(3):
        history.append({"role": "user", "content": f"{ASKS} That is question {turn}."})
        for step in (Reply(Thinking("Hm."), ToolCall("order", {})), Reply(Thinking("So."), f"Leaves, {turn}.")):
            provider.script.append(step)
            reply = ask(client, *history, model=BINDS, tools=[TOOL], thinking={"type": "adaptive"}, **options)
            history.append({"role": "assistant", "content": reply.content})
            results = [
                {"type": "tool_result", "tool_use_id": block.id, "content": f"ordered {turn}"}
                for block in reply.content
                if block.type == "tool_use"
            ]
            if results:
                history.append({"role": "user", "content": results})
        assert middleware.flush()
        between(turn)


def test_of_a_thread_that_the_provider_holds_only_the_new_words_are_touched(
    client: Anthropic, middleware: BlockingMemoryMiddleware, provider: LocalProvider, agent: sync.Agent
) -> None:
    """No system, which such a request may not have; results go as they came."""
    agent.directive("Be kind.")
    agent.remember(FACT)
    provider.script += [Reply("Yes?"), Reply(ToolCall("order", {})), Reply("Ordered.")]
    beta: Any = {"model": MODEL, "max_tokens": 100, "betas": ["message-threads-2026-08-12"]}
    first = client.beta.messages.create(
        **beta, messages=[{"role": "user", "content": "Hello."}], tools=[TOOL], extra_body={"thread": {"type": "create"}}
    )
    go_on: Any = {"type": "continue", "previous_message_id": first.id}
    said: Any = [{"role": "user", "content": ASKS}]
    second: Any = client.beta.messages.create(**beta, messages=said, extra_body={"thread": go_on})
    result: Any = {"type": "tool_result", "tool_use_id": second.content[0].id, "content": "done"}
    go_on = {"type": "continue", "previous_message_id": second.id}
    client.beta.messages.create(**beta, messages=[{"role": "user", "content": [result]}], extra_body={"thread": go_on})
    assert middleware.flush()
    assert provider.refused == []
    begun, continued, answered = [one.json() for one in provider.requests]
    assert "Be kind." in str(begun["system"])
    assert "system" not in continued
    assert FACT in str(continued["messages"])
    assert answered["messages"] == [{"role": "user", "content": [result]}]
    assert kept(agent) == ["Hello.", "Yes?", ASKS, "order({})", "done", "Ordered."]


async def test_the_asynchronous_client(agent: sync.Agent, germane: Any, provider: LocalProvider) -> None:
    """The same, with an agent of the asynchronous handle."""
    awaited: Agent = germane.agent("support", user="caroline")
    middleware = memory(awaited, session="tuesday")
    asked: Any = [{"role": "user", "content": FACT}]
    async with AsyncAnthropic(base_url=provider.url, api_key="none", middleware=[middleware]) as client:
        await client.messages.create(model=MODEL, max_tokens=9, messages=asked, extra_headers={"X-Germane-Session": "monday"})
        assert await middleware.flush()
        async with client.messages.stream(model=MODEL, max_tokens=9, messages=[{"role": "user", "content": ASKS}]) as stream:
            assert await stream.get_final_text() == SAID
        assert await middleware.flush()
    assert FACT in str(provider.bodies[-1]["messages"])
    assert [one.text for one in (await awaited.messages("tuesday")).messages] == [SAID, ASKS]


async def test_a_hanging_engine_stops_no_asynchronous_request(germane: Any, provider: LocalProvider) -> None:
    """Neither does one whose fallback hangs."""
    awaited: Any = germane.agent("support", user="caroline")

    async def hang(*_: Any, **__: Any) -> Any:
        await asyncio.Event().wait()

    awaited.assemble = awaited.fallback = hang
    middleware = memory(awaited, session="tuesday", deadline=0.01)
    async with AsyncAnthropic(base_url=provider.url, api_key="none", middleware=[middleware]) as client:
        reply: Any = await client.messages.create(model=MODEL, max_tokens=9, messages=[{"role": "user", "content": FACT}])
    assert reply.content[0].text == SAID
    assert provider.bodies[0]["messages"] == [{"role": "user", "content": FACT}]
    assert await middleware.flush()


def test_the_sdk_refuses_the_middleware_of_the_other_client(agent: sync.Agent) -> None:
    """At once, in its own words."""
    with pytest.raises(TypeError, match=re.escape("handle_async()")):
        AsyncAnthropic(api_key="none", middleware=[memory(agent, session="tuesday")])


def test_terms_that_cant_be_used_are_refused_at_once(agent: sync.Agent) -> None:
    """Not in a call."""
    with pytest.raises(ValueError, match="deadline"):
        memory(agent, session="tuesday", deadline=0)


def test_a_request_that_the_provider_never_answers_ends_by_the_sdks_timeout(
    client: Anthropic, middleware: BlockingMemoryMiddleware, provider: LocalProvider, agent: sync.Agent
) -> None:
    """With the SDK's error, and without a record."""
    provider.script += [HANG]
    with pytest.raises(anthropic.APITimeoutError):
        ask(client.with_options(timeout=0.05, max_retries=0), FACT)
    assert middleware.flush()
    assert kept(agent) == []
