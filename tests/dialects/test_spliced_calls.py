"""Spliced calls: requests with an engine's texts, spelled in unusual ways, against a strict provider."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from germane import sync
from germane.dialects.model_calls import read_call
from germane.ports.models import Embedder
from germane_testing.provider import LocalProvider, Reply, ToolCall, answers, provider_in_thread
from support.spellings import Speller

pytestmark = pytest.mark.requirement("PROXY-1")
CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


@pytest.fixture
def provider() -> Iterator[LocalProvider]:
    with provider_in_thread(keep_alive=False, rule=answers("Leaves.")) as served:
        yield served


@pytest.fixture
def agent(embedder: Embedder) -> Iterator[sync.Agent]:
    with sync.Germane.open(":memory:", embedder=embedder) as opened:
        agent = opened.agent("support", user="caroline")
        agent.directive("Be kind.")
        agent.remember("My greyhound Biscuit eats oolong tea leaves.")
        yield agent


class Caller:
    """Sends a body as an unusual client spells it, with what an engine adds, over a connection of its own."""

    def __init__(self, provider: LocalProvider, agent: sync.Agent) -> None:
        self._provider, self._agent, self._seed = provider, agent, 0

    def send(self, path: str, fields: dict[str, Any], **headers: str) -> dict[str, Any]:
        self._seed += 1
        original = Speller(self._seed).write(fields).encode()
        call = read_call(path, original)
        assert call is not None
        context = self._agent.assemble(call.messages, session="tuesday", tools=call.tools, deadline=None, **call.asking)
        assert context.metadata.fallback_reason == ""
        changed = call.body_with(context)
        body = original if changed is None else changed.written(original)
        connection = http.client.HTTPConnection(self._provider.url.removeprefix("http://"))
        connection.request("POST", path, body, {"content-type": "application/json", **headers})
        answer = json.loads(connection.getresponse().read())
        connection.close()
        assert isinstance(answer, dict)
        return answer


def test_a_conversation_of_chat_with_tools(provider: LocalProvider, agent: sync.Agent) -> None:
    """Each request begins with all of the one before, as the provider's cache needs it."""
    caller, history = Caller(provider, agent), list[Any]([{"role": "developer", "content": "Be brief."}])
    tool = {"type": "function", "function": {"name": "order", "parameters": {"type": "object", "properties": {}}}}
    for turn in range(3):
        history.append(user(f"What does my greyhound Biscuit eat? Question {turn}."))
        provider.script += [Reply(ToolCall("order", {})), Reply(f"Leaves, {turn}.")]
        for _ in range(2):
            answer = caller.send(CHAT, {"model": "gpt-5.4", "messages": [*history], "tools": [tool]})
            history.append(answer["choices"][0]["message"])
            calls = history[-1].get("tool_calls") or ()
            history += [{"role": "tool", "tool_call_id": one["id"], "content": "ordered"} for one in calls]
    assert provider.refused == []
    sent = [body["messages"] for body in provider.bodies]
    assert [later[: len(earlier)] == earlier for earlier, later in pairwise(sent)] == [True] * 5
    assert str(sent[-1]).count("oolong") == 1
    assert sent[-1][0]["role"] == "developer"


def test_a_response_that_the_provider_holds(provider: LocalProvider, agent: sync.Agent) -> None:
    """Also a conversation of its own, and one that isn't stored."""
    caller, base = (
        Caller(provider, agent),
        {"model": "gpt-5.4", "tools": [{"type": "function", "name": "order", "parameters": {}}]},
    )
    provider.script += [Reply(ToolCall("order", {})), Reply("Ordered."), Reply("Yes.")]
    system = {"role": "system", "content": "Be brief."}
    first = caller.send(RESPONSES, {**base, "input": [system, user("What does my greyhound Biscuit eat?")]})
    output = {"type": "function_call_output", "call_id": first["output"][-1]["call_id"], "output": "done"}
    second = caller.send(RESPONSES, {**base, "previous_response_id": first["id"], "input": [output]})
    caller.send(
        RESPONSES, {**base, "previous_response_id": second["id"], "input": "And oolong tea for Biscuit?", "store": False}
    )
    assert provider.refused == []
    asked, answered, last = provider.bodies
    assert [one.get("role") for one in asked["input"]] == ["system", "user", "user"]
    assert answered["input"] == [output]
    assert last["input"][-1] == user("And oolong tea for Biscuit?")
    assert all("Be kind." in body["instructions"] for body in provider.bodies)


def test_a_thread_that_the_provider_holds(provider: LocalProvider, agent: sync.Agent) -> None:
    """It has the system that it began with."""
    caller, beta = Caller(provider, agent), {"anthropic-beta": "message-threads-2026-08-12"}
    base = {"model": "claude-opus-4-8", "max_tokens": 9}
    first = caller.send(MESSAGES, {**base, "thread": {"type": "create"}, "messages": [user("Hello.")]}, **beta)
    go_on = {"type": "continue", "previous_message_id": first["id"]}
    caller.send(MESSAGES, {**base, "thread": go_on, "messages": [user("What does my greyhound Biscuit eat?")]}, **beta)
    assert provider.refused == []
    begun, continued = provider.bodies
    assert "Be kind." in str(begun["system"])
    assert "system" not in continued
    assert "oolong" in str(continued["messages"])
