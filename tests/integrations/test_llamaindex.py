"""LlamaIndex: the memory with the real package: agents and chat engines that remember, against a strict local provider."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import (
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import ChatMessage
from llama_index.core.storage.chat_store import SimpleChatStore

from germane import Germane, InvalidInput, sync
from germane.integrations.llamaindex import AgentMemory, BlockingAgentMemory, memory
from germane.integrations.memory_calls import MemoryCalls
from germane.ports.models import Embedder
from germane_testing.provider import LocalProvider, answers, calls_tools, provider_in_thread
from support.llamaindex_llm import OpenAI

pytestmark = [
    pytest.mark.requirement("ADAPT-1"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # LlamaIndex uses of itself and of pydantic what is deprecated
]
MODEL = "gpt-5.4"
FACT = "My greyhound Biscuit eats oolong tea leaves."
ASKS = "What does my greyhound Biscuit eat?"
SAID = "By e-mail, then."


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loaded machine may take longer than the adapters' own deadline."""
    defaults = MemoryCalls.__init__.__kwdefaults__ or {}
    monkeypatch.setattr(MemoryCalls.__init__, "__kwdefaults__", {**defaults, "deadline": 20.0})


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalProvider]:
    with provider_in_thread(keep_alive=False, rule=answers(SAID)) as served:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{served.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield served


@pytest.fixture
def agent(embedder: Embedder) -> Iterator[sync.Agent]:
    with sync.Germane.open(":memory:", embedder=embedder) as opened:
        yield opened.agent("support", user="caroline")


def order(item: str = "a vase") -> str:
    """Orders a thing."""
    return f"{item}: ordered."


async def test_what_one_conversation_said_is_known_in_the_next(germane: Germane, provider: LocalProvider) -> None:
    """The newest words have what is known in front of them, and the history stays LlamaIndex's own."""
    owner = germane.agent("support", user="caroline")
    await owner.directive("Speak plainly.")
    helper = FunctionAgent(llm=OpenAI(), system_prompt="Be brief.")
    monday = memory(owner, session="monday", model=MODEL)
    await helper.run(FACT, memory=monday)
    assert await monday.flush()
    tuesday = memory(owner, session="tuesday", model=MODEL)
    reply = await helper.run(ASKS, memory=tuesday)
    assert str(reply) == SAID
    sent = provider.bodies[-1]["messages"]
    assert [message["role"] for message in sent] == ["system", "system", "user", "user"]
    assert sent[0]["content"] == "Be brief."
    assert "Speak plainly." in sent[1]["content"]
    assert "oolong tea" in sent[2]["content"]
    assert sent[3]["content"] == ASKS
    assert [message.content for message in await tuesday.aget_all()] == [ASKS, SAID]
    assert await tuesday.flush()
    assert [one.text for one in (await owner.messages(session="tuesday")).messages] == [SAID, ASKS]
    assert provider.refused == []


async def test_what_was_added_for_a_turn_stays_where_it_stood(germane: Germane, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over turns with two calls each, each request begins with the whole one before it."""
    with provider_in_thread(keep_alive=False, rule=calls_tools(SAID, parallel=2, each_turn=True)) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{provider.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        owner = germane.agent("support", user="caroline")
        await owner.record([{"role": "user", "content": FACT}], session="monday")
        helper = FunctionAgent(llm=OpenAI(), tools=[order])
        known = memory(owner, session="tuesday", model=MODEL)
        for asked in (ASKS, "Order a vase.", "Does Biscuit drink oolong tea as well?"):
            await helper.run(asked, memory=known)
            await known.flush()
        bodies = [body["messages"] for body in provider.bodies]
        assert len(bodies) == 6
        for before, after in pairwise(bodies):
            assert after[: len(before)] == before
        assert "oolong tea" in bodies[-1][0]["content"]
        assert provider.refused == []
        kept = [one.role for one in (await owner.messages(session="tuesday", limit=100)).messages]
        assert kept.count("user") == 3
        assert kept.count("tool") == 6


async def test_an_agent_that_reasons_in_text_remembers_too(germane: Germane, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "Thought: I can answer without using any more tools.\nAnswer: Tea leaves."
    with provider_in_thread(keep_alive=False, rule=answers(said)) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{provider.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        owner = germane.agent("support", user="caroline")
        await owner.record([{"role": "user", "content": FACT}], session="monday")
        reply = await ReActAgent(llm=OpenAI()).run(ASKS, memory=memory(owner, session="tuesday", model=MODEL))
        assert str(reply) == "Tea leaves."
        assert "oolong tea" in str(provider.bodies[-1]["messages"])


def test_a_chat_engine_remembers(agent: sync.Agent, provider: LocalProvider) -> None:
    """Without an event loop, by an agent of `germane.sync`."""
    for session, words in (("monday", FACT), ("tuesday", ASKS)):
        known = memory(agent, session=session, model=MODEL)
        assert isinstance(known, BlockingAgentMemory)
        engine = SimpleChatEngine.from_defaults(llm=OpenAI(), memory=known)
        assert str(engine.chat(words)) == SAID
        assert known.flush()
    assert "oolong tea" in str(provider.bodies[-1]["messages"])
    assert [one.text for one in agent.messages(session="tuesday").messages] == [SAID, ASKS]


async def test_a_blocking_agent_serves_calls_that_are_awaited(agent: sync.Agent, provider: LocalProvider) -> None:
    await asyncio.to_thread(agent.record, [{"role": "user", "content": FACT}], session="monday")
    known = memory(agent, session="tuesday", model=MODEL)
    await FunctionAgent(llm=OpenAI()).run(ASKS, memory=known)
    assert "oolong tea" in str(provider.bodies[-1]["messages"])
    assert await asyncio.to_thread(known.flush)
    assert [one.text for one in (await asyncio.to_thread(agent.messages, session="tuesday")).messages] == [SAID, ASKS]


async def test_a_chat_store_of_ones_own_keeps_the_history(germane: Germane, provider: LocalProvider) -> None:
    """The session names the conversation there, and what isn't touched is the very object."""
    store = SimpleChatStore()
    known = memory(germane.agent("support"), session="tuesday", model=MODEL, chat_store=store)
    given = ChatMessage(role="user", content=ASKS)
    await known.aput(given)
    assert store.get_messages("tuesday") == [given]
    assert (await known.aget())[-1] is store.get_messages("tuesday")[-1]
    await known.areset()
    assert await known.aget() == []


@pytest.mark.parametrize("fault", ["raises", "hangs"])
async def test_an_engine_that_fails_or_hangs_stops_no_run(
    fault: str, germane: Germane, provider: LocalProvider, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    owner = germane.agent("support")

    async def broken(*_: Any, **__: Any) -> Any:
        if fault == "raises":
            raise RuntimeError("broken")
        await asyncio.Event().wait()

    for name in ("assemble", "fallback", "record"):
        monkeypatch.setattr(type(owner), name, broken)
    monkeypatch.setattr("germane.integrations.memory_calls._GRACE", 0.01)
    known = memory(owner, session="tuesday", model=MODEL, deadline=0.01)
    with caplog.at_level(logging.WARNING, "germane.integrations"):
        assert str(await FunctionAgent(llm=OpenAI()).run(ASKS, memory=known)) == SAID
    assert provider.bodies[-1]["messages"] == [{"role": "user", "content": ASKS}]
    assert sum(record.name == "germane.integrations" for record in caplog.records) == 1
    for task in known._calls._recording:
        task.cancel()


def test_terms_that_cant_be_used_are_refused_at_once(agent: sync.Agent) -> None:
    for wrong in ({"session": ""}, {"model": ""}, {"deadline": -1}):
        given: dict[str, Any] = {"session": "s", "model": MODEL, **wrong}
        with pytest.raises(InvalidInput):
            memory(agent, **given)


async def test_messages_of_llamaindex_are_taken_as_they_are(germane: Germane) -> None:
    """By `record` and `assemble`: pictures, calls in either place, results; thinking is left out."""
    call = {"id": "c2", "type": "function", "function": {"name": "look", "arguments": '{"at": 2}'}}
    given: list[Any] = [
        ChatMessage(role="developer", content="Be brief."),
        ChatMessage(role="user", blocks=[TextBlock(text=FACT), ImageBlock(image=b"\x89PNG", image_mimetype="image/png")]),
        ChatMessage(
            role="assistant",
            blocks=[
                ThinkingBlock(content="hm"),
                TextBlock(text="I look."),
                ToolCallBlock(tool_call_id="c1", tool_name="look", tool_kwargs={"at": 1}),
            ],
        ),
        ChatMessage(role="tool", content="seen", additional_kwargs={"tool_call_id": "c1"}),
        ChatMessage(role="assistant", content="", additional_kwargs={"tool_calls": [call]}),
        ChatMessage(role="function", content="seen again", additional_kwargs={"tool_call_id": "c2"}),
        ChatMessage(role="user", blocks=[TextBlock(text="And this?"), DocumentBlock(data=b"%PDF-", title="a")]),
    ]
    context = await germane.agent("support").assemble(given, model=MODEL, session="s")
    own = [message for message in context.to_openai() if message in context.messages][-7:]
    assert [message["role"] for message in own] == ["system", "user", "assistant", "tool", "assistant", "tool", "user"]
    assert own[1]["content"][1]["image_url"]["url"] == "data:image/png;base64,iVBORw=="
    assert own[2]["content"] == "I look."
    assert own[2]["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"at": 1}'}
    assert own[4]["tool_calls"] == [call]
    assert own[6]["content"][1]["file"]["file_data"] == "data:application/pdf;base64,JVBERi0="
    receipt = await germane.agent("support").record(given, session="s")
    assert len(receipt.added) == 6


def test_a_memory_without_awaiting_gives_the_history_alone(germane: Germane) -> None:
    known = memory(germane.agent("support"), session="s", model=MODEL)
    assert isinstance(known, AgentMemory)
    known.put(ChatMessage(role="user", content=ASKS))
    assert [message.content for message in known.get()] == [ASKS]
