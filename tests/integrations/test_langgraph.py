"""LangGraph: the adapter with the real package: what the model is sent is valid and fits, and the history stays as it is."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from germane.integrations import MemoryArchive, compact
from germane.integrations.langgraph import (
    CompactionMiddleware,
    compacted_messages,
    pre_model_hook,
    show_earlier_tool,
    stand_ins,
)
from germane_testing.provider import LocalProvider, calls_tools, provider_in_thread

pytestmark = [pytest.mark.requirement("HIST-4"), pytest.mark.filterwarnings("ignore:create_react_agent")]
WORDS = "word " * 60
SAID = "By e-mail."


@pytest.fixture
def server() -> Iterator[LocalProvider]:
    with provider_in_thread(keep_alive=False, rule=calls_tools(SAID, parallel=3, each_turn=True)) as provider:
        yield provider


def chat_model(server: LocalProvider) -> ChatOpenAI:
    return ChatOpenAI(model="gpt-5.4", base_url=f"{server.url}/v1", api_key="none")  # type: ignore[arg-type]


def order() -> str:
    """Orders the newest thing."""
    return f"ordered: {WORDS}"


def test_an_agent_with_parallel_tools_stays_within_the_budget_and_keeps_its_history(server: LocalProvider) -> None:
    """Twelve turns with three calls each: no request is refused, none grows beyond the budget, and the checkpoint has all."""
    agent = create_agent(
        chat_model(server), [order], system_prompt="Be brief.", middleware=[CompactionMiddleware(max_tokens=1_500)],
        checkpointer=InMemorySaver(),
    )  # fmt: skip
    thread: Any = {"configurable": {"thread_id": "1"}}
    for turn in range(12):
        out = agent.invoke({"messages": [HumanMessage(f"Order number {turn}. {WORDS}")]}, thread)
        assert out["messages"][-1].content == SAID
    assert server.refused == []
    assert len(server.bodies) == 24
    sent = [body["messages"] for body in server.bodies]
    assert len(out["messages"]) == 12 * 6
    assert max(len(messages) for messages in sent) < 30
    assert all(messages[0] == {"role": "system", "content": "Be brief."} for messages in sent)
    assert f"Order number 11. {WORDS}" in [message["content"] for message in sent[-1]]


async def test_an_agent_is_compacted_in_asynchronous_runs_too(server: LocalProvider) -> None:
    agent = create_agent(chat_model(server), [order], middleware=[CompactionMiddleware(max_tokens=1_000)])
    await agent.ainvoke({"messages": [*history(20), HumanMessage("And now?")]})
    assert server.refused == []
    assert len(server.bodies[0]["messages"]) < 20


@pytest.mark.parametrize("replace_history", [False, True])
def test_the_hook_sends_less_and_replaces_the_history_only_when_told_to(replace_history: bool) -> None:
    from langgraph.prebuilt import create_react_agent

    with provider_in_thread(keep_alive=False, rule=calls_tools(SAID, parallel=2, each_turn=True)) as server:
        model = chat_model(server)
        hook = pre_model_hook(model, max_tokens=1_000, tools=[order], replace_history=replace_history)
        agent = create_react_agent(model, [order], pre_model_hook=hook)
        given = [*history(20), HumanMessage("And now?", id="now")]
        out = agent.invoke({"messages": given})["messages"]
        assert server.refused == []
        assert (len(out) < len(given)) is replace_history
        assert {"now", "a19"} <= {message.id for message in out}
        assert len(server.bodies[0]["messages"]) < 20


def test_the_hook_is_a_node_of_any_graph_with_messages() -> None:
    """A graph of one's own, with the state that it has."""
    model = FakeMessagesListChatModel(responses=[AIMessage("done")])
    graph = StateGraph(MessagesState)
    graph.add_node("compact", pre_model_hook("gpt-5.4", max_tokens=1_000, replace_history=True))
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_edge(START, "compact")
    graph.add_edge("compact", "model")
    graph.add_edge("model", END)
    out = graph.compile().invoke({"messages": [*history(20), HumanMessage("And now?")]})
    assert [message.content for message in out["messages"][-2:]] == ["And now?", "done"]
    assert len(out["messages"]) < 20


def test_what_is_within_the_budget_is_left_alone() -> None:
    given = history(3)
    kept = pre_model_hook("gpt-5.4")({"messages": given})["llm_input_messages"]
    assert [id(message) for message in kept] == [id(message) for message in given]
    assert pre_model_hook("gpt-5.4", replace_history=True)({"messages": given}) == {"messages": []}


def test_a_replaced_history_has_the_same_messages_and_ids() -> None:
    """Unchanged messages are the same objects; a masked result keeps its id, its name and its artifact."""
    given = [*history(20), HumanMessage("And now?", id="now")]
    first, *kept = pre_model_hook("gpt-5.4", max_tokens=5_000, replace_history=True)({"messages": given})["messages"]
    assert isinstance(first, RemoveMessage)
    own = {message.id: message for message in given}
    theirs = [message for message in kept if message.id in own]
    assert [message.id for message in kept if message.id not in own] == [kept[0].id]
    changed = [message for message in theirs if message is not own[message.id]]
    assert changed
    for message in changed:
        assert isinstance(message, ToolMessage)
        before = own[message.id]
        assert isinstance(before, ToolMessage)
        assert message.content != before.content
        assert message.model_copy(update={"content": before.content}) == before


def test_every_kind_of_message_has_a_stand_in_and_comes_back_itself() -> None:
    """Thinking, pictures, documents, calls that couldn't be read, blocks of calls, roles of one's own."""
    image = {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"}
    document = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"}}
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s" * 40}
    use = {"type": "tool_use", "id": "t1", "name": "order", "input": {"a": 1}}
    broken: Any = {"id": "t2", "name": "order", "args": "{broken", "error": "no JSON", "type": "invalid_tool_call"}
    called: Any = {"id": "t1", "name": "order", "args": {"a": 1}}
    url = {"type": "image_url", "image_url": "https://x.test/a.png"}
    given: list[BaseMessage] = [
        SystemMessage([{"type": "text", "text": "Be brief."}]),
        ChatMessage(role="user", content="hello"),
        HumanMessage([{"type": "text", "text": "look"}, image, document, url]),
        AIMessage([thinking, {"type": "text", "text": "I look."}, use], tool_calls=[called]),
        ToolMessage([{"type": "text", "text": "done"}, image], tool_call_id="t1", artifact={"big": 1}, status="error"),
        AIMessage("", invalid_tool_calls=[broken]),
        ToolMessage("not JSON", tool_call_id="t2"),
        AIMessage([{"type": "reasoning", "id": "rs_1", "summary": []}, "plain text"]),
        HumanMessage("thanks"),
    ]
    written = stand_ins(given)
    roles = ["system", "user", "user", "assistant", "tool", "assistant", "tool", "assistant", "user"]
    assert [each["role"] for each in written] == roles
    assert written[3]["content"] == "I look."
    assert written[3]["audio"]["held"] == [thinking]
    assert written[5]["tool_calls"][0]["function"]["arguments"] == "{broken"
    kept = pre_model_hook("gpt-5.4")({"messages": given})["llm_input_messages"]
    assert [id(message) for message in kept] == [id(message) for message in given]


def test_calls_without_results_become_text_and_the_others_stay() -> None:
    """One of two parallel calls was never answered: only that one is closed, in the content's blocks too."""
    uses: list[Any] = [{"type": "tool_use", "id": id, "name": "order", "input": {}} for id in ("t1", "t2")]
    calls: list[Any] = [{"id": id, "name": "order", "args": {}} for id in ("t1", "t2")]
    given = [
        HumanMessage("order both"),
        AIMessage([{"type": "thinking", "thinking": "hm", "signature": "s"}, *uses], tool_calls=calls, id="a"),
        ToolMessage("ordered", tool_call_id="t1"),
        HumanMessage("well?"),
    ]
    kept = pre_model_hook("gpt-5.4")({"messages": given})["llm_input_messages"]
    closed = kept[1]
    assert closed.id == "a"
    assert [call["id"] for call in closed.tool_calls] == ["t1"]
    assert [block["type"] for block in closed.content] == ["thinking", "tool_use", "text"]
    assert closed.content[2]["text"] == "[Tool call without a result: order({})]"
    assert [kept[0], *kept[2:]] == [given[0], *given[2:]]


def test_an_error_leaves_the_messages_as_they_came_and_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    hook = pre_model_hook("gpt-5.4", max_tokens=1_000, archive=Broken())
    strange: Any = [HumanMessage("hi"), object()]
    with caplog.at_level(logging.WARNING, "germane.integrations"):
        assert hook({"messages": strange})["llm_input_messages"] == strange
        assert hook({"messages": strange})["llm_input_messages"] == strange
    assert len(caplog.records) == 1
    assert len(hook({"messages": history(20)})["llm_input_messages"]) < 20


class Broken:
    """An archive that can't be written."""

    def put(self, entries: object) -> None:
        raise OSError("the disk is full")

    def get(self, handle: str) -> None:
        raise OSError("the disk is full")


def test_the_same_history_is_compacted_to_the_same_messages() -> None:
    given = history(20)
    hook = pre_model_hook("gpt-5.4", max_tokens=1_000)
    first = hook({"messages": given})["llm_input_messages"]
    assert hook({"messages": given})["llm_input_messages"] == first
    assert all(message.id for message in first)


def test_ids_that_the_chat_api_would_refuse_stay_as_they_are() -> None:
    """Other providers have longer ids: the messages go back with theirs."""
    id = "call|" + "x" * 60
    given = [
        HumanMessage("order"),
        AIMessage("", tool_calls=[{"id": id, "name": "my tool!", "args": {}}]),
        ToolMessage("ordered", tool_call_id=id),
        *history(20),
        AIMessage("", tool_calls=[{"id": f"{id}2", "name": "my tool!", "args": {}}]),
        ToolMessage("ordered", tool_call_id=f"{id}2"),
    ]
    kept = compacted_messages(given, lambda messages: compact(messages, model="gpt-5.4", max_tokens=1_000, provider="openai"))
    assert kept[-2] is given[-2]
    assert kept[-1] is given[-1]


def history(turns: int) -> list[Any]:
    """Turns with two calls at once, whose results are long."""
    out: list[BaseMessage] = []
    for n in range(turns):
        calls: Any = [{"id": f"c{n}_{each}", "name": "order", "args": {"item": str(each)}} for each in (1, 2)]
        out += [
            HumanMessage(f"Question {n}? {'word ' * 20}", id=f"h{n}"),
            AIMessage("", tool_calls=calls, id=f"u{n}"),
            *(ToolMessage("row " * 120, tool_call_id=call["id"], id=f"t{call['id']}", artifact={"rows": n}) for call in calls),
            AIMessage(f"Answer {n}.", id=f"a{n}"),
        ]
    return out


def test_with_an_archive_the_agent_gets_the_tool_that_brings_back_what_left() -> None:
    """The handle that the model is sent opens what was taken out, through the agent's own tool."""
    archive = MemoryArchive()
    kept = pre_model_hook("gpt-5.4", max_tokens=2_500, archive=archive)({"messages": history(20)})["llm_input_messages"]
    handle = re.findall(r"h[0-9a-f]{12}", kept[0].content)[0]
    call: Any = {"id": "s1", "name": "show_earlier", "args": {"handle": handle}}
    model = ToolModel(responses=[AIMessage("", tool_calls=[call]), AIMessage("I see.")])
    agent = create_agent(model, [order], middleware=[CompactionMiddleware(max_tokens=2_500, archive=archive)])
    given: Any = [*history(20), HumanMessage("What was the first question?")]
    out = agent.invoke({"messages": given})["messages"]
    assert "Answer 3." in out[-2].content or "row row" in out[-2].content
    assert out[-1].content == "I see."
    assert show_earlier_tool(archive).invoke({"handle": "h000000000000"}) == "The archive has nothing under this handle."


class ToolModel(FakeMessagesListChatModel):
    """A scripted model that takes tools."""

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self


def test_pictures_in_a_tools_result_count() -> None:
    """They are sent as a part of the result, and cost what other pictures cost."""
    called = AIMessage("", tool_calls=[{"id": "t1", "name": "order", "args": {}}])
    parts: Any = [{"type": "text", "text": "done"}, {"type": "image_url", "image_url": "https://x.test/a.png"}]
    results = [ToolMessage(content, tool_call_id="t1") for content in (parts, "done")]
    seen, unseen = (compact(stand_ins([called, each]), model="gpt-5.4", provider="openai").tokens for each in results)
    assert seen > unseen + 50


def test_parallel_calls_that_came_as_several_messages_are_kept() -> None:
    """As one message, with the content and the calls of all; their results follow. Nothing else is changed."""

    def call(named: str, **fields: Any) -> AIMessage:
        return AIMessage(tool_calls=[{"name": "order", "args": {"n": 1}, "id": named, "type": "tool_call"}], **fields)

    results = [ToolMessage("one", tool_call_id="a"), ToolMessage("two", tool_call_id="b")]
    split = [HumanMessage("Order both."), call("a", content="Both:", id="m1"), call("b", content=""), *results]
    kept: list[Any] = compacted_messages(split, lambda given: compact(given, model="gpt-4o", max_tokens=4_000))
    assert [message.type for message in kept] == ["human", "ai", "tool", "tool"]
    assert [one["id"] for one in kept[1].tool_calls] == ["a", "b"]
    assert (kept[1].content, kept[1].id, kept[0], kept[2:]) == ("Both:", "m1", split[0], results)
    between = [HumanMessage("Order."), call("a", content=""), AIMessage("One moment."), results[0], AIMessage("Done.")]
    joined: list[Any] = compacted_messages(between, lambda given: compact(given, model="gpt-4o", max_tokens=4_000))
    assert [message.type for message in joined] == ["human", "ai", "tool", "ai"]
    assert (joined[1].content, joined[1].tool_calls[0]["id"], joined[3]) == ("One moment.", "a", between[4])
    apart = [HumanMessage("Hi"), AIMessage("Hello."), AIMessage("What can I do?"), HumanMessage("Wait")]
    assert compacted_messages(apart, lambda given: compact(given, model="gpt-4o", max_tokens=4_000)) == apart
