"""Pydantic AI: the adapter with the real package: requests that fit, with instructions, thinking and retries in place."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Any

import pytest
from openai import AsyncOpenAI
from pydantic_ai import Agent, ModelRetry, RunContext
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    AgentInstructionSource,
    BinaryContent,
    CachePoint,
    CompactionPart,
    DocumentUrl,
    ImageUrl,
    InstructionDeltaPart,
    InstructionId,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    RetryFeedbackPart,
    RetryInfo,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.providers.openai import OpenAIProvider

from germane.integrations import MemoryArchive, compact
from germane.integrations.pydantic_ai import (
    HistoryCompaction,
    compacted_messages,
    history_processor,
    show_earlier_tool,
    stand_ins,
)
from germane_testing.provider import calls_tools, provider_in_thread

pytestmark = pytest.mark.requirement("HIST-4")
SAID = "By e-mail."
WORDS = "word " * 60


class Seen:
    """A model that remembers what it was sent: it calls two tools after a user's words, and answers after their results."""

    def __init__(self) -> None:
        self.requests: list[list[ModelMessage]] = []
        self.instructions: list[str | None] = []
        self.model = FunctionModel(self.answer, model_name="gpt-5.4")

    def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.requests.append(messages)
        self.instructions.append(info.instructions)
        if isinstance(messages[-1].parts[-1], UserPromptPart):
            return ModelResponse(parts=[ThinkingPart("hm"), ToolCallPart("order", {"n": 1}), ToolCallPart("order", {"n": 2})])
        return ModelResponse(parts=[TextPart(SAID)])


def order(n: int = 0) -> str:
    """Orders the newest thing."""
    return f"ordered {n}: {WORDS}"


async def test_a_capability_sends_less_and_leaves_the_history_as_it_is() -> None:
    seen = Seen()
    agent = Agent(seen.model, instructions="Be brief.", tools=[order], capabilities=[HistoryCompaction(max_tokens=1_500)])
    messages: list[ModelMessage] = []
    for turn in range(12):
        result = await agent.run(f"Order number {turn}. {WORDS}", message_history=messages)
        assert result.output == SAID
        messages = result.all_messages()
    assert len(messages) == 12 * 4
    assert max(map(len, seen.requests)) < 20
    assert set(seen.instructions) == {"Be brief."}
    assert users(seen.requests[-1])[-1] == f"Order number 11. {WORDS}"
    assert all(paired(request) for request in seen.requests)


async def test_a_processor_makes_the_compacted_messages_the_history() -> None:
    """The summary comes back with the history, and is built on: there is never more than one."""
    seen = Seen()
    processor = ProcessHistory[None](history_processor(max_tokens=1_200))
    agent = Agent(seen.model, instructions="Be brief.", tools=[order], capabilities=[processor])
    messages: list[ModelMessage] = []
    for turn in range(12):
        messages = (await agent.run(f"Order number {turn}. {WORDS}", message_history=messages)).all_messages()
    assert len(messages) < 20
    assert sum(message.metadata == {"germane": "summary"} for message in messages) <= 1
    assert all(paired(request) for request in seen.requests)


async def test_the_wire_is_valid_for_a_provider_that_is_strict() -> None:
    """The package's own model of OpenAI writes the requests, and the server refuses what the API refuses."""
    with provider_in_thread(keep_alive=False, rule=calls_tools(parallel=3, each_turn=True)) as server:
        provider = OpenAIProvider(openai_client=AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none"))
        model = OpenAIChatModel("gpt-5.4", provider=provider)
        agent = Agent(model, system_prompt="Be brief.", tools=[order], capabilities=[HistoryCompaction(max_tokens=1_500)])
        messages: list[ModelMessage] = []
        for turn in range(8):
            messages = (await agent.run(f"Order number {turn}. {WORDS}", message_history=messages)).all_messages()
        assert server.refused == []
        assert len(server.bodies) == 16
        assert max(len(body["messages"]) for body in server.bodies) < 30


async def test_the_packages_test_model_runs_with_it() -> None:
    agent = Agent(TestModel(), tools=[order], capabilities=[HistoryCompaction(max_tokens=800)])
    assert (await agent.run("And now?", message_history=history(20))).output


async def test_a_tools_retry_goes_on_where_it_was() -> None:
    """A tool that asks for another try is answered in the same exchange, which stays whole."""
    seen = Seen()
    tries: list[int] = []

    def fussy(n: int = 0) -> str:
        tries.append(n)
        if len(tries) == 1:
            raise ModelRetry("say it again")
        return "done"

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.requests.append(messages)
        if len(seen.requests) < 3:
            return ModelResponse(parts=[ToolCallPart("fussy", {"n": len(seen.requests)})])
        return ModelResponse(parts=[TextPart("done")])

    agent = Agent(FunctionModel(answer), tools=[fussy], capabilities=[HistoryCompaction(max_tokens=900)])
    assert (await agent.run("And now?", message_history=history(20))).output == "done"
    assert users(seen.requests[-1])[-1] == "And now?"
    assert tries == [1, 2]


def test_what_is_within_the_budget_is_the_same_objects() -> None:
    given = [*history(2), *of_every_kind()]
    kept = compacted_messages(given, within(100_000))
    assert [id(message) for message in kept] == [id(message) for message in given]


def test_every_kind_of_part_has_a_stand_in_but_those_that_say_nothing() -> None:
    roles = [each["role"] for each in stand_ins(of_every_kind())]
    assert roles == ["system", "user", "user", "assistant", "tool", "system", "assistant"]


def test_masked_results_keep_what_belongs_to_the_run_and_the_rest_stays() -> None:
    """What stays of a request is a copy with its instructions, run and metadata."""
    given = [*history(20), ModelRequest(parts=[UserPromptPart("And now?")], instructions="Be brief.", run_id="r")]
    kept = compacted_messages(given, within(5_500))
    assert kept[-1] is given[-1]
    masked = [
        (message, part)
        for message in kept
        if isinstance(message, ModelRequest) and not any(message is own for own in given)
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
    assert masked
    for message, part in masked:
        assert message.instructions == "Be brief."
        assert (part.tool_name, part.metadata) == ("order", {"rows": 7})
    assert paired(kept)


def test_instructions_that_changed_stay_when_their_exchange_leaves() -> None:
    """A part that says what holds from here on has no words of its own: it moves to the next request that stays."""
    delta = InstructionDeltaPart(id=InstructionId(AgentInstructionSource()), content="Write in French.")
    given = [
        *history(5),
        ModelRequest(parts=[UserPromptPart("In French, please."), delta]),
        ModelResponse(parts=[TextPart("Oui.")]),
    ]
    given += [*history(20, start=5), ModelRequest(parts=[UserPromptPart("And now?")])]
    kept = compacted_messages(given, within(1_000))
    assert [part for message in kept for part in message.parts if part.part_kind == "instruction-delta"] == [delta]
    assert len(kept) < 30


async def test_an_error_leaves_the_messages_as_they_came_and_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    agent = Agent(TestModel(custom_output_text="done"), capabilities=[Unreadable(max_tokens=10)])
    with caplog.at_level(logging.WARNING, "germane.integrations"):
        assert (await agent.run("one")).output == "done"
        assert (await agent.run("two")).output == "done"
    assert [record.levelname for record in caplog.records] == ["WARNING"]


class Unreadable(HistoryCompaction):
    """Finds something in the history that can't be read."""

    async def before_model_request(self, ctx: RunContext[Any], request_context: Any) -> Any:
        given = request_context.messages
        request_context.messages = [*given[:-1], ModelRequest(parts=[UserPromptPart(["hi"])])]
        request_context.messages[-1].parts[0].content = 7
        sent = await super().before_model_request(ctx, request_context)
        sent.messages = given
        return sent


def within(max_tokens: int) -> Any:
    from germane.integrations import compact

    return lambda given: compact(given, model="gpt-5.4", max_tokens=max_tokens, provider="openai")


def users(messages: Sequence[ModelMessage]) -> list[Any]:
    return [part.content for message in messages for part in message.parts if isinstance(part, UserPromptPart)]


def paired(messages: Sequence[ModelMessage]) -> bool:
    """Whether each call has its result in the next request, and each result its call right before."""
    waiting: list[str] = []
    for message in messages:
        results = [part.tool_call_id for part in message.parts if isinstance(part, ToolReturnPart)]
        if sorted(results) != sorted(waiting):
            return False
        waiting = [part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart)]
    return not waiting


def history(turns: int, *, start: int = 0) -> list[ModelMessage]:
    """Turns with two calls at once, whose results are long."""
    out: list[ModelMessage] = []
    for n in range(start, start + turns):
        system = [SystemPromptPart("You sell things.")] if n == 0 else []
        calls = [ToolCallPart("order", {"n": each}, f"c{n}_{each}") for each in (1, 2)]
        returns = [ToolReturnPart("order", "row " * 120, call.tool_call_id, metadata={"rows": 7}) for call in calls]
        out += [
            ModelRequest(parts=[*system, UserPromptPart(f"Question {n}? {'word ' * 20}")], instructions="Be brief."),
            ModelResponse(parts=[ThinkingPart("hm", signature="s", provider_name="anthropic"), *calls], model_name="m"),
            ModelRequest(parts=returns, instructions="Be brief.", run_id=f"run {n}"),
            ModelResponse(parts=[TextPart(f"Answer {n}.")], model_name="m"),
        ]
    return out


def of_every_kind() -> list[ModelMessage]:
    image = BinaryContent(data=b"\x89PNG", media_type="image/png")
    sound = BinaryContent(data=b"x" * 2_000, media_type="audio/wav")
    files: list[Any] = [
        ImageUrl("https://x.test/a.png"),
        image,
        sound,
        DocumentUrl("https://x.test/a.pdf"),
        CachePoint(),
        "look",
    ]
    delta = InstructionDeltaPart(id=InstructionId(AgentInstructionSource()), content="Write in French.")
    native = NativeToolCallPart("web_search", {"query": "x"}, "n1", provider_name="openai")
    found = NativeToolReturnPart("web_search", {"found": 1}, "n1", provider_name="openai")
    retry: Any = RetryInfo(cause="model_retry")
    return [
        ModelRequest(parts=[SystemPromptPart("Be kind."), CompactionPart("what was before"), UserPromptPart(files), delta]),
        ModelResponse(parts=[ThinkingPart("hm"), native, found, ToolCallPart("order", '{"n": 1}', "o1")]),
        ModelRequest(
            parts=[ToolReturnPart("order", ["row", image], "o1", outcome="failed"), RetryFeedbackPart("no", retry=retry)]
        ),
        ModelResponse(parts=[CompactionPart(None, provider_name="openai", provider_details={"encrypted_content": "x" * 50})]),
    ]


async def test_with_an_archive_the_agent_gets_the_tool_that_brings_back_what_left() -> None:
    """The handle that the model is sent opens what was taken out, through the agent's own tool."""
    archive = MemoryArchive()
    shown: list[str] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        last = messages[-1].parts[-1]
        if isinstance(last, ToolReturnPart):
            shown.append(str(last.content))
            return ModelResponse(parts=[TextPart("I see.")])
        handle = re.findall(r"h[0-9a-f]{12}", str(users(messages)[0]))[0]
        return ModelResponse(parts=[ToolCallPart("show_earlier", {"handle": handle})])

    agent = Agent(FunctionModel(answer), tools=[order], capabilities=[HistoryCompaction(max_tokens=2_500, archive=archive)])
    assert (await agent.run("What was the first question?", message_history=history(20))).output == "I see."
    assert "row row" in shown[0]
    processed = Agent(TestModel(), tools=[show_earlier_tool(archive)])
    assert "nothing under this handle" in (await processed.run("show")).output


def test_parallel_calls_that_came_as_several_responses_are_kept() -> None:
    """As one response with the parts of all; the request with their results stays the same object."""
    first = ModelResponse(parts=[TextPart("Both:"), ToolCallPart("order", {"n": 1}, "a")])
    second = ModelResponse(parts=[ToolCallPart("order", {"n": 2}, "b")])
    results = ModelRequest(parts=[ToolReturnPart("order", "one", "a"), ToolReturnPart("order", "two", "b")])
    asked = ModelRequest(parts=[UserPromptPart("Order both.")])
    kept = compacted_messages([asked, first, second, results], lambda given: compact(given, model="gpt-4o", max_tokens=4_000))
    assert [type(message) for message in kept] == [ModelRequest, ModelResponse, ModelRequest]
    assert (kept[0], list(kept[1].parts), kept[2]) == (asked, [*first.parts, *second.parts], results)
