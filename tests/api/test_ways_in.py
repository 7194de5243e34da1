"""Text that germane injected is stored again on no way in: a memory that is forgotten is gone, whoever sent it back."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import pytest

from germane import Agent, Filters, Germane, InvalidInput
from germane.cli.imports import read
from germane.cli.imports.store_rows import ImportTally, store_rows
from germane.integrations import MemoryArchive, compact, show_earlier
from germane.integrations.memory_tool.tool import memory_tool
from germane.kinds.blocks.handle import AgentBlocks
from germane.kinds.conversations.handle import AgentConversations
from germane.kinds.documents.handle import AgentDocuments
from germane.kinds.events.handle import AgentEvents
from germane.kinds.events.value import NewEvent
from germane.kinds.graph.handle import AgentGraph, Patterns
from germane.kinds.memories.handle import AgentMemories
from germane.kinds.tasks.handle import AgentTasks, Delegations
from support.calendar import Opening
from support.product_exports import named_files

pytestmark = pytest.mark.requirement("INJECT-5")

SECRET = "Zqxv"
Way = Callable[[Agent, str], Awaitable[object]]
ROOMS = (
    Agent,
    AgentBlocks,
    AgentDocuments,
    AgentEvents,
    AgentGraph,
    Patterns,
    AgentTasks,
    AgentConversations,
    Delegations,
    AgentMemories,
)


async def conversation(agent: Agent, own: str) -> None:
    """As a user's words, as the model's, as a tool's answer, and as what a call passes on."""
    call = {"id": "c1", "type": "function", "function": {"name": "ask", "arguments": own.replace('"', '\\"')}}
    await agent.record(
        [
            {"role": "user", "content": f"{own}\n\nwhat is the code?"},
            {"role": "user", "content": f"Somebody sent me {own}. What is it?"},
            {"role": "user", "content": [{"type": "text", "text": own}, {"type": "text", "text": "And now?"}]},
            {"role": "assistant", "content": f"I see {own}", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": f"the other agent had {own}"},
        ],
        session="other",
    )


async def compacted(agent: Agent, own: str) -> None:
    talk = [{"role": "user" if n % 2 == 0 else "assistant", "content": f"{n} " + "word " * 80} for n in range(14)]
    first = {"role": "user", "content": [{"type": "text", "text": own}, {"type": "text", "text": f"what? {own}"}]}
    await agent.conversations.compact([first, *talk[1:]], session="other", model="gpt-4o", max_tokens=700, deadline=None)
    assert await agent.conversations.summaries("other")


async def task(agent: Agent, own: str, end: str) -> None:
    await agent.tasks.push(f"Find out: {own}", session="other")
    await getattr(agent.tasks, end)(f"It is {own}", session="other")


async def block(agent: Agent, own: str, change: str = "") -> None:
    await agent.blocks.create("notes", text=f"It says {own}" if not change else "a", description=f"About {own}")
    if change:
        await getattr(agent.blocks, change)("notes", *(("a",) if change == "replace" else ()), f"It says {own}")


async def branched(agent: Agent, own: str, bring: bool = False) -> None:
    await agent.tasks.push("a goal", session="other")
    await agent.tasks.branch("try", f"Try {own}", session="other")
    if bring:
        await agent.tasks.pop("done", session="other")
        await agent.tasks.switch("main", session="other")
        await agent.tasks.inject("try", f"It was {own}", session="other")


async def delegated(agent: Agent, own: str, *, end: bool = False) -> None:
    given = await agent.delegations.begin(f"Look at {own}", model="gpt-4o", session="other", deadline=None)
    if end:
        await agent.delegations.finish(given.id, f"It is {own}")


async def put_exactly(agent: Agent, own: str) -> None:
    """Without germane's own text it wouldn't be what was put: the call is refused."""
    with pytest.raises(InvalidInput, match="germane wrote"):
        await agent.memories.put_fact("key", {"said": [f"It says {own}"]})


async def updated(agent: Agent, own: str) -> None:
    memory = await agent.remember("a note of another kind")
    await agent.memories.update(memory.id, f"It says {own}")


async def file(agent: Agent, own: str) -> None:
    tool = memory_tool(agent)
    await tool({"command": "create", "path": "/memories/a.md", "file_text": f"It says {own}"})


async def shown(agent: Agent, own: str) -> None:
    """What the memory tool answered, as the result that the client records; then the file is deleted."""
    await agent.blocks.create("a.md", text=f"The code is {SECRET}")
    answer = await memory_tool(agent)({"command": "view", "path": "/memories/a.md"})
    assert SECRET in answer
    call = {"id": "c1", "type": "function", "function": {"name": "memory", "arguments": "{}"}}
    await agent.record(
        [
            *({"role": "user", "content": "look"}, {"role": "assistant", "content": None, "tool_calls": [call]}),
            {"role": "tool", "tool_call_id": "c1", "content": answer},
        ],
        session="other",
    )
    (kept,) = await agent.blocks.list()
    await agent.forget(ids=[kept.id])


async def imported(agent: Agent, own: str, format: str) -> None:
    name, content = named_files(f"It says {own}", "a name")[format]
    found, rows = read(content.encode(), "other", name=name)
    tally = ImportTally()
    await store_rows(list(rows), agent, agent, lambda _: agent, tally, lambda _: None)
    assert found == format
    assert not tally.empty
    assert not tally.broken


WAYS: Mapping[str, Way] = MappingProxyType(
    {
        "Agent.record": conversation,
        "Agent.remember": lambda agent, own: agent.remember(f"It says {own}"),
        "Agent.directive": lambda agent, own: agent.directive(f"Be brief. {own}"),
        "Agent.delegate": lambda agent, own: agent.delegate(f"Look at {own}", model="gpt-4o", session="other", deadline=None),
        "AgentBlocks.create": block,
        "AgentBlocks.append": lambda agent, own: block(agent, own, "append"),
        "AgentBlocks.set_text": lambda agent, own: block(agent, own, "set_text"),
        "AgentBlocks.replace": lambda agent, own: block(agent, own, "replace"),
        "AgentBlocks.archive": lambda agent, own: agent.blocks.archive(f"It says {own}", {"a": own}),
        "AgentDocuments.ingest": lambda agent, own: agent.documents.ingest(
            text=f"# A talk\n\nThey had {own}\n\nEnd.", source="a.md"
        ),
        "AgentEvents.record": lambda agent, own: agent.events.record(
            "llm_call", {"prompt": own}, session="other", metadata={"a": own}
        ),
        "AgentEvents.record_many": lambda agent, own: agent.events.record_many(
            [NewEvent(type="x", content=own)], session="other"
        ),
        "AgentGraph.add": lambda agent, own: agent.graph.add("person", "Anna", properties={"note": own}),
        "Patterns.learn": lambda agent, own: agent.graph.patterns.learn(f"Do {own}"),
        "AgentTasks.push": lambda agent, own: task(agent, own, "pop"),
        "AgentTasks.pop": lambda agent, own: task(agent, own, "pop"),
        "AgentTasks.fail": lambda agent, own: task(agent, own, "fail"),
        "AgentTasks.block": lambda agent, own: task(agent, own, "block"),
        "AgentTasks.branch": branched,
        "AgentTasks.inject": lambda agent, own: branched(agent, own, bring=True),
        "AgentConversations.compact": compacted,
        "Delegations.begin": delegated,
        "Delegations.finish": lambda agent, own: delegated(agent, own, end=True),
        "AgentMemories.update": updated,
        "AgentMemories.put_fact": put_exactly,
        "memory tool": file,
        "memory tool's answer": shown,
        **{f"import of {format}": partial(imported, format=format) for format in named_files("", "")},
    }
)
NAMES = frozenset(
    {
        *("AgentConversations.aliased", "AgentConversations.add_aliases"),
        *("AgentBlocks.change", "AgentBlocks.edit", "AgentGraph.relate", "AgentDocuments.ingest_folder", "Agent.restore"),
        *("AgentTasks.checkpoint", "AgentBlocks.rename_folder", "Agent.update_context", "Agent.compress"),
    }
)
"""What takes no text but what another way takes too, or names, or text that isn't stored."""
READING = frozenset(
    {
        *("about", "assemble", "audit", "build", "consolidate", "digest", "estimate_tokens", "expand", "extract"),
        *("fallback", "feedback", "find", "forget", "mark_line", "messages", "profile", "sessions"),
        *("stats", "texts", "users", "warm", "why", "approve", "consents", "delete", "delete_entry"),
        *("delete_folder", "deny", "entry", "get", "list", "pin", "redo", "restore", "versions"),
        *("search", "search_archive", "share", "shares", "show_version", "undo", "unshare", "value", "highlights"),
        *("chain", "mentions", "merge", "path", "relations", "salient", "traverse", "unrelate", "abandon"),
        *("branches", "peek", "resume", "switch", "outline", "rebuild", "show", "summaries", "allowed"),
        *("resolve", "review", "match", "apply_result", "fact"),
    }
)
"""Methods that store no text of the caller's."""


@pytest.mark.parametrize("name", WAYS)
async def test_a_memory_that_came_back_is_gone_with_the_memory(opening: Opening, name: str) -> None:
    """Injected in one session and sent back in another, in a default context and in XML."""
    async with opening(embedder=None, extraction=False, warm=False) as germane:
        agent = germane.agent("support", user="u")
        memory = await agent.remember(f"The code is {SECRET}", pinned=True, sensitivity="sensitive")
        asked: Any = [{"role": "user", "content": "what is the code?"}]
        filters = Filters(sensitivities=("public", "private", "sensitive"))
        for strategy in ("default", "verbose"):
            context = await agent.assemble(
                asked, model="gpt-4o", session=strategy, strategy=strategy, deadline=None, filters=filters
            )
            assert SECRET in context.added
            if strategy == "default":
                own = context.added
        await WAYS[name](agent, own)
        await agent.forget(ids=[memory.id])
        assert not [line async for line in agent.export() if SECRET in repr(line)]


async def test_what_a_compaction_wrote_is_nobodys_words(germane: Germane) -> None:
    """Its summary, and what `show_earlier` answers, as a tool's result and in the midst of other words."""
    talk = [{"role": "user" if n % 2 == 0 else "assistant", "content": f"{n} {SECRET} " + "word " * 80} for n in range(14)]
    archive = MemoryArchive()
    made = compact(talk, model="gpt-4o", max_tokens=700, archive=archive)
    summary = made.messages[0]["content"]
    answer = show_earlier(next(iter(made.entries)), archive, max_characters=200)
    assert SECRET in summary
    assert SECRET in answer
    call = {"id": "c1", "type": "function", "function": {"name": "show_earlier", "arguments": "{}"}}
    agent = germane.agent("support", user="compacted")
    await agent.record(
        [
            made.messages[0],
            {"role": "user", "content": [{"type": "text", "text": summary}, {"type": "text", "text": "And now?"}]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": answer},
            {"role": "assistant", "content": f"It says: {summary} and {answer}"},
        ],
        session="s",
    )
    kept = (await agent.messages("s")).messages
    assert [one.role for one in kept] == ["assistant", "tool", "assistant", "user"]
    assert kept[-1].text == "And now?"
    assert SECRET not in repr(kept)


@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5", "gemini-2.5-pro"])
async def test_the_dicts_of_the_other_messages_are_kept(germane: Germane, model: str) -> None:
    """Recording the messages of a context keeps the calls and results that a plain recording keeps."""
    call = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
    talk: list[dict[str, Any]] = [
        {"role": "user", "content": "read the file"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "data"},
        {"role": "user", "content": "and now?"},
    ]
    agent = germane.agent("support", user=model)
    await agent.remember(f"The code is {SECRET}", pinned=True)
    context = await agent.assemble(talk, model=model, provider="openai", session="s", deadline=None)
    assert SECRET in repr(context.messages)
    await agent.record(context.messages, session="s")
    await agent.record(talk, session="plain")
    kept = {name: (await agent.messages(name)).messages for name in ("s", "plain")}
    assert [(one.role, one.text) for one in kept["s"]] == [(one.role, one.text) for one in kept["plain"]]
    assert [one.raw for one in kept["s"][1:3]] == [one.raw for one in kept["plain"][1:3]]
    assert all(one.raw for one in kept["s"][1:3])
    assert SECRET not in repr(kept)


def test_every_method_is_a_way_in_or_stores_no_text() -> None:
    """A new method has to be put into one of the three lists."""
    methods = {
        f"{room.__name__}.{name}"
        for room in ROOMS
        for name, _ in inspect.getmembers(room, inspect.iscoroutinefunction)
        if not name.startswith("_")
    }
    assert {one for one in methods - set(WAYS) - NAMES if one.split(".")[1] not in READING} == set()
    assert methods >= NAMES
    assert {one for one in WAYS if "." in one} <= methods
