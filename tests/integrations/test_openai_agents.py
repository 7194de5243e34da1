"""OpenAI Agents: the filter with the real SDK: the Responses API takes every request, and the session keeps everything."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    SQLiteSession,
    function_tool,
)
from agents.run_config import CallModelData, ModelInputData
from openai import AsyncOpenAI

from germane.integrations import MemoryArchive
from germane.integrations.openai_agents import call_model_input_filter, show_earlier_tool
from germane_testing.provider import LocalProvider, calls_tools, provider_in_thread
from support.wild_conversations import PNG

pytestmark = pytest.mark.requirement("HIST-4")
WORDS = "word " * 60
SAID = "By e-mail."


@pytest.fixture
def server() -> Iterator[LocalProvider]:
    with provider_in_thread(keep_alive=False, rule=calls_tools(SAID, parallel=3, each_turn=True)) as provider:
        yield provider


@function_tool
def order() -> str:
    """Orders the newest thing."""
    return f"ordered: {WORDS}"


def client(server: LocalProvider) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none")


def config(**options: Any) -> RunConfig:
    return RunConfig(tracing_disabled=True, call_model_input_filter=call_model_input_filter(**options))


async def test_turns_with_parallel_tools_stay_within_the_budget_and_the_session_keeps_all(
    server: LocalProvider, tmp_path: Path
) -> None:
    """Reasoning items and the calls that follow from them go together, through both compaction and the SDK."""
    model = OpenAIResponsesModel("gpt-5.4", client(server))
    agent = Agent("seller", instructions="Be brief.", tools=[order], model=model)
    session = SQLiteSession("one", tmp_path / "session.db")
    for turn in range(12):
        run = await Runner.run(agent, f"Order number {turn}. {WORDS}", session=session, run_config=config(max_tokens=1_500))
        assert run.final_output == SAID
    assert server.refused == []
    assert len(server.bodies) == 24
    inputs = [body["input"] for body in server.bodies]
    assert max(map(len, inputs)) < 40
    assert any(item.get("type") == "reasoning" for item in inputs[-1])
    assert all(body["instructions"] == "Be brief." for body in server.bodies)
    assert {"role": "user", "content": f"Order number 11. {WORDS}"} in inputs[-1]
    assert len(await session.get_items()) == 12 * 10
    session.close()


async def test_models_of_the_chat_api_are_compacted_too(server: LocalProvider) -> None:
    """The SDK keeps items of the Responses API whatever the model, and writes chat messages from them."""
    agent = Agent("seller", tools=[order], model=OpenAIChatCompletionsModel("gpt-5.4", client(server)))
    items: list[Any] = []
    for turn in range(8):
        items.append({"role": "user", "content": f"Order number {turn}. {WORDS}"})
        items = (await Runner.run(agent, items, run_config=config(max_tokens=1_500))).to_input_list()
    assert server.refused == []
    assert len(items) == 8 * 8
    assert max(len(body["messages"]) for body in server.bodies) < 30


async def test_items_of_hosted_tools_are_moved_whole_or_not_at_all() -> None:
    """What is kept of them is the very objects that came."""
    given = [*history(20), {"role": "user", "content": "And now?"}]
    sent = await filtered(given, max_tokens=5_500)
    own = {id(item) for item in given}
    opaque = [item for item in sent if item.get("type") in ("reasoning", "web_search_call", "computer_call", "compaction")]
    assert opaque
    assert all(id(item) in own for item in opaque)
    for index, item in enumerate(sent):
        if item.get("type") == "reasoning":
            assert sent[index + 1]["type"] == "web_search_call"


async def test_what_openai_keeps_is_left_alone() -> None:
    """With a conversation on the server the input is only what is new: results without the calls that the server has."""
    given = [
        {"type": "function_call_output", "call_id": "c1", "output": "row " * 2_000},
        {"type": "function_call_output", "call_id": "c2", "output": "row " * 2_000},
    ]
    assert await filtered(given, max_tokens=500) == given


async def test_what_is_within_the_budget_is_left_alone() -> None:
    given = history(3)
    data = ModelInputData(input=given, instructions="Be brief.")
    assert await call_model_input_filter()(CallModelData(data, Agent("seller", tools=[order]), None)) is data


async def test_a_result_without_its_call_in_the_past_becomes_text() -> None:
    given = [{"type": "function_call_output", "call_id": "gone", "output": "ordered"}, *history(1)]
    sent = await filtered(given)
    assert sent[0]["role"] == "user"
    assert "ordered" in sent[0]["content"]
    assert sent[1:] == given[1:]


async def test_what_was_closed_does_not_split_calls_for_a_model_of_the_chat_api(server: LocalProvider) -> None:
    """One of three parallel calls was never answered, and one result has no call: the rest goes out as valid chat messages."""
    calls = [{"type": "function_call", "call_id": id, "name": "order", "arguments": "{}"} for id in ("c1", "c2", "c3")]
    outputs = [{"type": "function_call_output", "call_id": id, "output": "ordered"} for id in ("c3", "lost", "c1")]
    given: list[Any] = [{"role": "user", "content": "Order three."}, *calls, *outputs]
    given.append({"role": "user", "content": "And now?"})
    agent = Agent("seller", tools=[order], model=OpenAIChatCompletionsModel("gpt-5.4", client(server)))
    await Runner.run(agent, given, run_config=config())
    assert server.refused == []
    sent = server.bodies[0]["messages"]
    roles = [message["role"] for message in sent]
    assert roles[:4] == ["user", "assistant", "tool", "tool"]
    assert sorted(roles[4:]) == ["assistant", "user", "user"]
    assert "[Tool call without a result: order({})]" in str(sent)
    lost = [{"role": "user", "content": "Hi."}, outputs[1], {"role": "user", "content": "And now?"}]
    await Runner.run(
        agent, list[Any](lost), run_config=config()
    )  # the Responses API's server might hold the call: no other does
    assert server.refused == []


async def test_an_error_leaves_the_input_as_it_came_and_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    filter = call_model_input_filter()
    broken: list[Any] = [{"type": "message", "role": "nobody"}]
    data = CallModelData(ModelInputData(input=broken, instructions=None), Agent("a"), None)
    with caplog.at_level(logging.WARNING, "germane.integrations"):
        assert await filter(data) is data.model_data
        assert await filter(data) is data.model_data
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    "model",
    [None, "gpt-5.4", "litellm/anthropic/claude-sonnet-4-5", OpenAIResponsesModel("gpt-5.4", AsyncOpenAI(api_key="none"))],
)
async def test_the_models_name_is_the_agents(model: Any) -> None:
    given = [*history(20), {"role": "user", "content": "And now?"}]
    agent = Agent("seller", model=model, model_settings=ModelSettings(temperature=0))
    sent = await call_model_input_filter(max_tokens=1_000)(CallModelData(ModelInputData(given, None), agent, None))
    assert len(sent.input) < 30


async def filtered(given: list[Any], **options: Any) -> list[Any]:
    data = CallModelData(ModelInputData(given, "Be brief."), Agent("seller", tools=[order], model="gpt-5.4"), None)
    return list((await call_model_input_filter(**options)(data)).input)


def history(turns: int) -> list[Any]:
    """Turns with reasoning, a search of the provider's own, a computer call, and two calls at once."""
    out: list[Any] = []
    screen = {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{PNG}"}
    done = {"status": "completed"}
    look = {"type": "computer_call", "action": {"type": "screenshot"}, "pending_safety_checks": [], **done}
    call = {"type": "function_call", "name": "order", "arguments": "{}"}
    for n in range(turns):
        text = {"type": "output_text", "text": f"Answer {n}.", "annotations": []}
        out += [
            {"role": "user", "content": f"Question {n}? {'word ' * 20}"},
            {"type": "reasoning", "id": f"rs_{n}", "summary": [], "encrypted_content": "x" * 40},
            {"type": "web_search_call", "id": f"ws_{n}", "action": {"type": "search", "query": "x"}, **done},
            {**look, "id": f"cu_{n}", "call_id": f"u{n}"},
            {"type": "computer_call_output", "call_id": f"u{n}", "output": screen},
            *({**call, "id": f"fc_{n}{each}", "call_id": f"c{n}{each}"} for each in "ab"),
            *({"type": "function_call_output", "call_id": f"c{n}{each}", "output": "row " * 120} for each in "ab"),
            {"type": "message", "id": f"msg_{n}", "role": "assistant", "content": [text], **done},
        ]
    return out


async def test_the_tool_brings_back_what_left() -> None:
    """The handle that the model is sent opens what was taken out; what is no handle is answered, not raised."""
    archive = MemoryArchive()
    sent = await filtered([*history(20), {"role": "user", "content": "And now?"}], max_tokens=2_500, archive=archive)
    handle = re.findall(r"h[0-9a-f]{12}", sent[0]["content"])[0]
    tool = show_earlier_tool(archive)
    context: Any = None
    assert "row row" in await tool.on_invoke_tool(context, json.dumps({"handle": handle}))
    for wrong in ("{}", "[]", "{broken", '{"handle": 7, "start": "x"}'):
        assert "nothing under this handle" in await tool.on_invoke_tool(context, wrong)
