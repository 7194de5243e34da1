"""Secrets in names: what is stored beside contents obeys the policy on secrets: labels, remarks, properties, tags, sources."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from germane import Germane, InvalidInput
from germane.api.agent import Agent
from germane.kinds.blocks.handle import AgentBlocks
from germane.kinds.documents.handle import AgentDocuments
from germane.kinds.events.handle import AgentEvents
from germane.kinds.graph.handle import AgentGraph
from germane.kinds.memories.handle import AgentMemories
from germane.kinds.tasks.handle import AgentTasks
from germane_testing.builders import Hashed

pytest.importorskip("loro")
pytestmark = pytest.mark.requirement("MEM-7")

KEY = "AKIA" + "Q3EGVCFDTZ7XN2LM"
"""Nobody's."""
WORD = "Zinnober-7719"
WHO: Mapping[str, Any] = {"by": KEY, "reason": f"as {KEY} said"}
Work = Callable[[Agent], Awaitable[object]]


async def _block(agent: Agent) -> Any:
    return await agent.blocks.create("plan", text="one", permission="human")


async def _edited(agent: Agent) -> None:
    await _block(agent)
    await agent.blocks.edit("plan", {"op": "append_text", "text": " two"}, system=True, **WHO)
    await agent.blocks.undo("plan", system=True, **WHO)
    await agent.blocks.redo("plan", system=True, **WHO)
    await agent.blocks.pin("plan", by=KEY, system=True)
    await agent.blocks.change("plan", description="new", system=True, **WHO)
    deleted = await agent.blocks.delete("plan", system=True, **WHO)
    await agent.blocks.restore(deleted.id, system=True, **WHO)


async def _shared(agent: Agent) -> None:
    await _block(agent)
    await agent.blocks.share("plan", "other", "read_only", by=KEY, system=True)
    await agent.blocks.unshare("plan", "other", by=KEY, system=True)


async def _asked(agent: Agent) -> None:
    await _block(agent)
    with pytest.raises(Exception, match="consent"):
        await agent.blocks.append("plan", " two", **WHO)


async def _folders(agent: Agent) -> None:
    await agent.blocks.create("a/plan", text="one")
    await agent.blocks.rename_folder("a", "b", system=True, **WHO)
    await agent.blocks.delete_folder("b", system=True, **WHO)


async def _forgotten(agent: Agent) -> None:
    memory = await agent.remember("one")
    entity = await agent.graph.add("thing", "lathe")
    entry = await agent.blocks.archive("one")
    await agent.documents.ingest(text="# one", source="a.md")
    await agent.forget([memory.id], **WHO)
    await agent.graph.forget([entity.id], **WHO)
    await agent.blocks.delete_entry(entry.id, **WHO)
    await agent.documents.forget("a.md", **WHO)
    for text in ("two", "three"):
        await agent.remember(text)
    await agent.consolidate(max_memories=1, by=KEY)


async def _graph(agent: Agent) -> None:
    await agent.graph.add("thing", f"box {KEY}", aliases=[KEY], properties={"token": WORD, KEY: [KEY]})
    await agent.graph.add("thing", "lathe")
    await agent.graph.add("thing", "shed")
    await agent.graph.relate("lathe", "stands_in", "shed", properties={"password": WORD})
    await agent.graph.patterns.learn(f"use {KEY}", keywords=[KEY, "lathe"])


async def _tags(agent: Agent) -> None:
    memory = await agent.remember("one", tags=[KEY, "plain"])
    assert "plain" in memory.tags
    await agent.memories.update(memory.id, tags=[KEY])


async def _document(agent: Agent) -> None:
    source = f"https://ann:{WORD}@git.example/{KEY}"
    first = await agent.documents.ingest(text="# one\n\ntwo", source=source)
    again = await agent.documents.ingest(text="# one\n\ntwo", source=source)
    assert (first.outcome, again.outcome) == ("added", "unchanged")
    assert (await agent.documents.get(source)).source == first.source
    assert len(await agent.documents.forget(source))


async def _directive(agent: Agent) -> None:
    assert await agent.directive(f"Use {KEY}") == "Use [redacted: AWS access key]"


REDACTED: Mapping[str, Work] = {
    "edits": _edited,
    "shares": _shared,
    "consents": _asked,
    "folders": _folders,
    "forgetting": _forgotten,
    "graph": _graph,
    "tags": _tags,
    "document": _document,
    "directive": _directive,
}
"""What stores a marker in the place of a secret."""


async def _joined(agent: Agent) -> None:
    await agent.blocks.create("plan", text=f"key {KEY[:9]}")
    await agent.blocks.append("plan", KEY[9:])


async def _cut(agent: Agent) -> None:
    await agent.blocks.create("plan", text=f"key {KEY[:9]}--{KEY[9:]}")
    await agent.blocks.replace("plan", "--", "")


async def _listed(agent: Agent) -> None:
    await agent.blocks.create("plan", schema="list", value=["the password:"])
    await agent.blocks.edit("plan", {"op": "push_item", "value": WORD})


REFUSED: Mapping[str, Work] = {
    "label": lambda agent: agent.blocks.create(f"keys/{KEY}", text="one"),
    "session": lambda agent: agent.record([{"role": "user", "content": "hello"}], session=KEY),
    "session of an event": lambda agent: agent.events.record("note", "hello", session=KEY),
    "session of a task": lambda agent: agent.tasks.push("hello", session=KEY),
    "checkpoint": lambda agent: agent.tasks.checkpoint(KEY, session="s"),
    "branch": lambda agent: agent.tasks.branch(KEY, session="s"),
    "joined": _joined,
    "cut": _cut,
    "listed": _listed,
}
"""What can't: names by which something is found again, and pieces that only become a secret together."""


def files(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir()).lower()


@pytest.mark.parametrize("name", REDACTED)
async def test_what_is_stored_beside_contents_is_redacted(tmp_path: Path, name: str) -> None:
    """No byte of the secret is in any file."""
    async with Germane.open(tmp_path / "g.db", embedder=Hashed(), warm=False, freeze=False) as germane:
        await REDACTED[name](germane.agent("a", user="u"))
    assert KEY.lower().encode() not in files(tmp_path)
    assert WORD.lower().encode() not in files(tmp_path)


@pytest.mark.parametrize("policy", ["redact", "refuse"])
@pytest.mark.parametrize("name", REFUSED)
async def test_a_name_or_a_joined_text_is_refused(tmp_path: Path, name: str, policy: Any) -> None:
    """The error names the kind, not the secret, and nothing is stored."""
    async with Germane.open(tmp_path / "g.db", embedder=Hashed(), warm=False, freeze=False, secrets=policy) as germane:
        with pytest.raises(InvalidInput, match=r"secret \((?:AWS access key|password)\)") as refused:
            await REFUSED[name](germane.agent("a", user="u"))
        assert KEY not in str(refused.value)
    assert KEY.lower().encode() not in files(tmp_path)


async def test_remarks_are_refused_where_the_policy_says_so() -> None:
    """By the name of the argument."""
    async with Germane.open(":memory:", embedder=Hashed(), warm=False, freeze=False, secrets="refuse") as germane:
        agent = germane.agent("a")
        memory = await agent.remember("one")
        with pytest.raises(InvalidInput, match=r"^by holds a secret"):
            await agent.forget([memory.id], by=KEY)
        with pytest.raises(InvalidInput, match=r"^reason holds a secret"):
            await agent.forget([memory.id], reason=KEY)


async def test_names_stay_as_they_are_under_the_other_policies() -> None:
    """`tag` and `off` store what was given; a session may be a number that passes for a card's under every policy."""
    for policy in ("tag", "off"):
        async with Germane.open(":memory:", embedder=Hashed(), warm=False, freeze=False, secrets=policy) as germane:
            assert (await germane.agent("a").blocks.create(KEY, text="one", by=KEY)).label == KEY
    async with Germane.open(":memory:", embedder=Hashed(), warm=False, freeze=False) as germane:
        await germane.agent("a").record([{"role": "user", "content": "hello"}], session="4111111111111111")


def test_every_remark_is_in_the_table() -> None:
    """Each call that takes `by` is made above, so that a new one isn't forgotten."""
    source = "".join(inspect.getsource(work) for work in REDACTED.values())
    taking = {
        name
        for kind in (Agent, AgentBlocks, AgentGraph, AgentDocuments, AgentMemories, AgentTasks, AgentEvents)
        for name, call in inspect.getmembers(kind, inspect.iscoroutinefunction)
        if not name.startswith("_") and "by" in inspect.signature(call).parameters
    }
    same_way = {"create", "set_text", "replace"}
    assert {name for name in taking - same_way if f".{name}(" not in source} == set()
