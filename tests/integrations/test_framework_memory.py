"""Framework memory: LangChain's agents, Pydantic AI and the OpenAI Agents SDK remember, with the real packages against a strict
local provider."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from agents import Agent as Helper
from agents import OpenAIChatCompletionsModel, OpenAIResponsesModel, RunConfig, Runner, SQLiteSession, function_tool
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from openai import AsyncOpenAI
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from germane import Agent, Germane, InvalidInput, sync
from germane.integrations.langgraph import CompactionMiddleware
from germane.integrations.langgraph_memory import AgentMemoryMiddleware
from germane.integrations.memory_calls import MemoryCalls, placed
from germane.integrations.openai_agents_memory import MemorySession
from germane.integrations.pydantic_ai import HistoryCompaction
from germane.integrations.pydantic_ai_memory import MemoryCapability
from germane.ports.models import Embedder
from germane_testing.provider import LocalProvider, calls_tools, provider_in_thread
from support.examples import examples

pytestmark = pytest.mark.requirement("ADAPT-1")
FACT = "My greyhound Biscuit eats oolong tea leaves."
ASKS = "What does my greyhound Biscuit eat?"
TURNS = (ASKS, "Order a vase.", "Does Biscuit drink oolong tea as well?")
SAID = "By e-mail."
Converse = Callable[..., Awaitable[Any]]


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loaded machine may take longer than the adapters' own deadline."""
    defaults = MemoryCalls.__init__.__kwdefaults__ or {}
    monkeypatch.setattr(MemoryCalls.__init__, "__kwdefaults__", {**defaults, "deadline": 20.0})


@pytest.fixture
def server() -> Iterator[LocalProvider]:
    with provider_in_thread(keep_alive=False, rule=calls_tools(SAID, parallel=2, each_turn=True)) as provider:
        yield provider


@pytest.fixture
async def owner(germane: Germane) -> Agent:
    owner = germane.agent("support", user="caroline")
    await owner.directive("Speak plainly.")
    await owner.record([{"role": "user", "content": FACT}], session="monday")
    return owner


def order(item: str = "a vase") -> str:
    """Orders a thing."""
    return f"{item}: ordered."


def chat_model(server: LocalProvider) -> ChatOpenAI:
    return ChatOpenAI(model="gpt-5.4", base_url=f"{server.url}/v1", api_key="none")  # type: ignore[arg-type]


async def by_langchain(server: LocalProvider, owner: Any, turns: tuple[str, ...], **terms: Any) -> list[Any]:
    """Returns the histories' own texts of the user."""
    memory = AgentMemoryMiddleware(owner, **terms)
    agent = create_agent(
        chat_model(server), [order], system_prompt="Be brief.", middleware=[memory], checkpointer=InMemorySaver()
    )
    for said in turns:
        state = await agent.ainvoke({"messages": [HumanMessage(said)]}, {"configurable": {"thread_id": "tuesday"}})
        await memory.flush()
    return [message.text for message in state["messages"] if message.type == "human"]


async def by_pydantic(server: LocalProvider, owner: Any, turns: tuple[str, ...], **terms: Any) -> list[Any]:
    memory = MemoryCapability(owner, **{"session": "tuesday", **terms})
    model = OpenAIChatModel("gpt-5.4", provider=OpenAIProvider(base_url=f"{server.url}/v1", api_key="none"))
    agent = PydanticAgent(model, instructions="Be brief.", tools=[order], capabilities=[memory])
    history: list[Any] = []
    for said in turns:
        history = (await agent.run(said, message_history=history)).all_messages()
        await memory.flush()
    return [part.content for one in history for part in one.parts if part.part_kind == "user-prompt"]


async def by_agents(server: LocalProvider, owner: Any, turns: tuple[str, ...], **terms: Any) -> list[Any]:
    memory = MemorySession(owner, SQLiteSession("tuesday"), **terms)
    model = OpenAIChatCompletionsModel("gpt-5.4", AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none"))
    helper = Helper("seller", instructions="Be brief.", tools=[function_tool(order)], model=model)
    config = RunConfig(tracing_disabled=True, call_model_input_filter=memory.filter)
    for said in turns:
        await Runner.run(helper, said, session=memory, run_config=config)
        await memory.flush()
    items: list[Any] = await memory.get_items()
    return [item["content"] for item in items if item.get("role") == "user"]


every = pytest.mark.parametrize("converse", [by_langchain, by_pydantic, by_agents])


@every
async def test_each_request_begins_with_the_whole_one_before_it(
    converse: Converse, server: LocalProvider, owner: Agent
) -> None:
    """Over turns with tools. The history has the agent's own words, and all is recorded."""
    own = await converse(server, owner, TURNS)
    assert own == list(TURNS)
    bodies = [body["messages"] for body in server.bodies]
    assert len(bodies) == 6
    for before, after in pairwise(bodies):
        assert after[: len(before)] == before
    systems = [message["content"] for message in bodies[-1] if message["role"] in ("system", "developer")]
    assert any("Speak plainly." in text for text in systems)
    assert any("Be brief." in text for text in systems)
    first = [message["content"] for message in bodies[-1] if message["role"] == "user"][:2]
    assert "oolong tea" in first[0]
    assert first[1] == ASKS
    assert server.refused == []
    kept = (await owner.messages(session="tuesday", limit=100)).messages
    assert [one.role for one in kept].count("tool") == 6
    assert [one.text for one in reversed(kept) if one.role == "user"] == list(TURNS)


@every
async def test_what_one_conversation_said_is_known_in_the_next(
    converse: Converse, server: LocalProvider, germane: Germane
) -> None:
    owner = germane.agent("support", user="ana")
    await converse(server, owner, (FACT,))
    await owner.record([{"role": "user", "content": "hm"}], session="other")
    found = await owner.assemble([{"role": "user", "content": ASKS}], model="gpt-5.4", session="wednesday")
    assert "oolong tea" in found.added


@every
async def test_where_nothing_is_known_the_request_is_the_frameworks(
    converse: Converse, server: LocalProvider, germane: Germane
) -> None:
    await converse(server, germane.agent("support", user="nobody"), ("hm",))
    assert [message["role"] for message in server.bodies[0]["messages"]][-1] == "user"
    assert len(server.bodies[0]["messages"]) == 2


@every
@pytest.mark.parametrize("fault", ["raises", "hangs"])
async def test_an_engine_that_fails_or_hangs_stops_no_run(
    fault: str,
    converse: Converse,
    server: LocalProvider,
    owner: Agent,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def broken(*_: Any, **__: Any) -> Any:
        if fault == "raises":
            raise RuntimeError("broken")
        await asyncio.Event().wait()

    for name in ("assemble", "fallback"):
        monkeypatch.setattr(type(owner), name, broken)
    monkeypatch.setattr("germane.integrations.memory_calls._GRACE", 0.01)
    with caplog.at_level(logging.WARNING, "germane.integrations"):
        assert await converse(server, owner, ("hm",), deadline=0.01) == ["hm"]
    assert len(server.bodies[0]["messages"]) == 2
    assert sum(record.name == "germane.integrations" for record in caplog.records) == 1


@pytest.mark.parametrize(
    ("converse", "reader"),
    [
        (by_langchain, "langgraph_memory.stand_ins"),
        (by_langchain, "langgraph_memory._with"),
        (by_pydantic, "pydantic_ai_memory.pieces_of"),
        (by_pydantic, "pydantic_ai_memory._with"),
        (by_agents, "openai_agents_memory._own_ids"),
        (by_agents, "openai_agents_memory._is_answer"),
    ],
)
async def test_what_cant_be_read_or_written_stops_no_run(
    converse: Converse,
    reader: str,
    server: LocalProvider,
    owner: Agent,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(*_: Any) -> Any:
        raise KeyError("odd")

    monkeypatch.setattr(f"germane.integrations.{reader}", broken)
    with caplog.at_level(logging.WARNING, "germane.integrations"):
        assert await converse(server, owner, (ASKS,)) == [ASKS]
    assert server.refused == []
    assert sum(record.name == "germane.integrations" for record in caplog.records) == 1


def test_blocking_runs_have_an_agent_of_germane_sync(server: LocalProvider, embedder: Embedder) -> None:
    with sync.Germane.open(":memory:", embedder=embedder) as opened:
        owner = opened.agent("support", user="caroline")
        owner.record([{"role": "user", "content": FACT}], session="monday")
        remembering = AgentMemoryMiddleware(owner, session="tuesday")
        create_agent(chat_model(server), [order], middleware=[remembering]).invoke({"messages": [HumanMessage(ASKS)]})
        assert remembering.flush()
        capability = MemoryCapability(owner, session="wednesday")
        model = OpenAIChatModel("gpt-5.4", provider=OpenAIProvider(base_url=f"{server.url}/v1", api_key="none"))
        asyncio.run(PydanticAgent(model, tools=[order], capabilities=[capability]).run(ASKS))
        assert capability.flush()
        assert all("oolong tea" in str(body["messages"]) for body in server.bodies)
        assert len(owner.messages(session="tuesday").messages) == len(owner.messages(session="wednesday").messages) == 5


async def test_a_run_without_a_session_isnt_remembered(
    server: LocalProvider, owner: Agent, caplog: pytest.LogCaptureFixture
) -> None:
    """LangChain's runs have none without a checkpointer; an empty one says so without a warning."""
    for terms, warnings in (({}, 1), ({"session": ""}, 1)):
        agent = create_agent(chat_model(server), [order], middleware=[AgentMemoryMiddleware(owner, **terms)])  # type: ignore[arg-type]
        with caplog.at_level(logging.WARNING, "germane.integrations"):
            await agent.ainvoke({"messages": [HumanMessage(ASKS)]})
        assert sum(record.name == "germane.integrations" for record in caplog.records) == warnings
    assert "oolong" not in str(server.bodies)


async def test_a_run_of_langchains_may_name_its_user(server: LocalProvider, owner: Agent) -> None:
    """Each user has their own memory; a name that can't be used is no reason to fail, and remembers nothing."""
    memory = AgentMemoryMiddleware(owner, session="tuesday")
    agent = create_agent(chat_model(server), [order], middleware=[memory])
    for user in ("ana", "ana", "ben", "", 5):
        await agent.ainvoke({"messages": [HumanMessage(f"{ASKS} {user}")]}, {"configurable": {"germane_user": user}})
        await memory.flush()
    assert "oolong" not in str(server.bodies)
    for user, count in (("ana", 2), ("ben", 1)):
        kept = (await owner.within(user=user).messages(session="tuesday", limit=100)).messages
        assert sum(one.role == "user" for one in kept) == count


async def test_memory_stands_behind_compaction(server: LocalProvider, owner: Agent) -> None:
    """A long conversation is sent short, with what is known, and recorded whole."""
    memory = AgentMemoryMiddleware(owner)
    agent: Any = create_agent(
        chat_model(server), [order], middleware=[CompactionMiddleware(max_tokens=1_500), memory], checkpointer=InMemorySaver()
    )
    capability = MemoryCapability(owner, session="pydantic")
    model = OpenAIChatModel("gpt-5.4", provider=OpenAIProvider(base_url=f"{server.url}/v1", api_key="none"))
    other = PydanticAgent(model, tools=[order], capabilities=[HistoryCompaction(max_tokens=1_500), capability])
    history: list[Any] = []
    for turn in range(8):
        said = f"Order number {turn}. {'word ' * 60}"
        await agent.ainvoke({"messages": [HumanMessage(said)]}, {"configurable": {"thread_id": "langchain"}})
        history = (await other.run(said, message_history=history)).all_messages()
    await memory.flush()
    await capability.flush()
    assert server.refused == []
    for session in ("langchain", "pydantic"):
        kept = (await owner.messages(session=session, limit=100)).messages
        assert [one.role for one in kept].count("user") == 8


async def test_what_openai_holds_is_left_alone(server: LocalProvider, owner: Agent) -> None:
    """The input answers a call that isn't in it: OpenAI has the conversation before it."""
    memory = MemorySession(owner, SQLiteSession("tuesday"))
    model = OpenAIResponsesModel("gpt-5.4", AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none"))
    helper = Helper("seller", tools=[function_tool(order)], model=model)
    config = RunConfig(tracing_disabled=True, call_model_input_filter=memory.filter)
    await Runner.run(helper, ASKS, run_config=config, auto_previous_response_id=True)
    assert "oolong tea" in str(server.bodies[0]["input"])
    assert all(item["type"] == "function_call_output" for item in server.bodies[1]["input"])


@pytest.mark.parametrize("make", [AgentMemoryMiddleware, MemoryCapability])
def test_terms_that_cant_be_used_are_refused_at_once(make: Any, germane: Germane) -> None:
    for wrong in ({"session": 5}, {"deadline": -1}):
        with pytest.raises(InvalidInput):
            make(germane.agent("support"), **wrong)


_TEXTS = st.text(alphabet="ab \n<é", max_size=9)
_WORDS = st.builds(lambda role, text: {"role": role, "content": text}, st.sampled_from(["user", "assistant", "system"]), _TEXTS)


@examples(400)
@given(messages=st.lists(_WORDS, max_size=6), cuts=st.lists(st.tuples(st.integers(0, 6), _TEXTS), max_size=3))
def test_the_frameworks_messages_stand_in_their_order_whatever_is_added(
    messages: list[dict[str, Any]], cuts: list[tuple[int, str]]
) -> None:
    """Each message of the framework's once, or nothing is changed; no text of the framework's is taken for germane's."""
    own: list[Any] = list(messages)
    for index, text in sorted(cuts, reverse=True):
        own.insert(index, {"role": "user", "content": f"<memory>{text}</memory>"})
    added = "".join(f"<memory>{text}</memory>" for _, text in cuts)
    context: Any = SimpleNamespace(messages=own, added=added, earlier=(), stable="")
    found = placed(context, messages)
    if not cuts:
        assert found is None
        return
    assert found is not None
    assert [one.origin for one in found.messages if one.origin is not None] == list(range(len(messages)))
    assert [one.text for one in found.messages if one.origin is None] == [one["content"] for one in own if one not in messages]
    assert placed(context, [*messages, {"role": "user", "content": "lost"}]) is None
