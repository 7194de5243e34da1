"""Searching blocks of every type: as they are now, by those who see them, and never twice in a prompt."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from germane import Agent, Germane, InvalidInput
from germane.errors import NotFound, StoreError
from germane.kinds.blocks import revision
from germane.kinds.blocks.handle import AgentBlocks
from germane.kinds.blocks.mutation import AppendEntry, AppendText
from germane.kinds.blocks.reads import AllIndexed, IndexBlock
from germane.types.plan import Decision, Plan
from germane.types.query import Filters
from germane_testing.builders import Hashed

pytest.importorskip("loro")
pytestmark = pytest.mark.requirement("SEARCH-1")

ASK = [{"role": "user", "content": "How often is the pump checked?"}]


@pytest.fixture
async def germane(tmp_path: Path) -> AsyncIterator[Germane]:
    async with Germane.open(tmp_path / "a.db", embedder=Hashed()) as opened:
        yield opened


@pytest.fixture
def agent(germane: Germane) -> Agent:
    return germane.agent("x", user="anna")


async def labels(blocks: AgentBlocks, query: str = "pump", limit: int = 10) -> list[str]:
    return [found.block.label for found in await blocks.search(query, limit)]


async def recalled(agent: Agent, query: str = "How often is the pump checked?") -> list[str]:
    return [found.candidate.text for found in await agent.search(query)]


async def sound(germane: Germane) -> bool:
    return all(fine for _, _, fine in (await germane.verify(full=True)).findings)


async def test_blocks_of_every_type_are_found(germane: Germane, agent: Agent) -> None:
    """By their text, their label and what was logged; with `search` too, where the archive has its own entries as well. Doctor
    finds nothing wrong with their search rows."""
    for type in ("core", "working", "archival"):
        await agent.blocks.create(type, text=f"The pump of the {type} house is checked", type=type)
    await agent.blocks.create("log", type="log")
    await agent.blocks.edit("log", AppendEntry(text="the pump was checked"))
    await agent.blocks.create("pump/plan", text="each Tuesday")
    await agent.blocks.create("other", text="nothing of the kind")
    await agent.blocks.archive("The pump is red")
    assert sorted(await labels(agent.blocks)) == ["archival", "core", "log", "other", "pump/plan", "working"]
    assert (await agent.blocks.search("the plan of the pump"))[0].block.label == "pump/plan"
    assert len(await labels(agent.blocks, limit=2)) == 2
    texts = await recalled(agent)
    assert any(text.startswith("core: The pump of the core house") for text in texts)
    assert any(text.startswith("log: - [") for text in texts)
    assert "The pump is red" in texts
    assert [found.entry.label for found in await agent.blocks.search_archive("pump house")] == ["archival", None]
    assert await sound(germane)


async def test_a_search_finds_blocks_as_they_are_now(germane: Germane, agent: Agent) -> None:
    """After an edit, an undo, a new label, another type, a deletion and its end, whoever has made them; never by an earlier
    text."""
    blocks = agent.blocks

    async def relevance(query: str) -> float:
        """Of the block, whose text must be the present one; 0 where it isn't found."""
        hits = await blocks.search(query)
        if not hits:
            return 0.0
        (found,) = hits
        assert found.block == await blocks.get(found.block.id)
        assert await recalled(agent, query) == [f"{found.block.label}: {found.block.text}"]
        return found.relevance

    await blocks.create("notes", text="green pump", permission="admin")
    assert await relevance("pump") > 2 * await relevance("valve")
    await blocks.set_text("notes", "blue valve")
    assert await relevance("valve") > 2 * await relevance("pump")
    await blocks.undo("notes")
    assert await relevance("pump") > 2 * await relevance("valve")
    await blocks.change("notes", new_label="lever")
    assert await relevance("lever") > 2 * await relevance("notes")
    await blocks.change("lever", type="archival")
    await blocks.set_text("lever", "wooden crate")
    await blocks.change("lever", type="core")
    assert await relevance("crate") > 2 * await relevance("pump")
    gone = await blocks.delete("lever")
    assert (await labels(blocks), await recalled(agent)) == ([], [])
    await blocks.restore(gone.id)
    assert await labels(blocks) == ["lever"]
    await agent.forget([gone.id])
    assert (await labels(blocks), await recalled(agent)) == ([], [])
    assert await sound(germane)


async def test_who_sees_a_block_finds_it(germane: Germane, agent: Agent) -> None:
    """The user, and all users where it is agent-wide, unless their own has its label; nobody else. To index it a user needs not
    to have made it; who only shares it can't."""
    whole, ben = germane.agent("x").blocks, germane.agent("x", user="ben").blocks
    await whole.create("common", text="a pump of all")
    await whole.create("persona", text="a pump to hide")
    await agent.blocks.create("persona", text="a pump of Anna")
    assert {found.block.text for found in await agent.blocks.search("pump")} == {"a pump of all", "a pump of Anna"}
    assert "persona: a pump to hide" not in await recalled(agent)
    assert {found.block.text for found in await ben.search("pump")} == {"a pump of all", "a pump to hide"}
    assert len(await whole.search("pump")) == 2
    mine = await agent.blocks.get("persona")
    await agent.blocks.share("persona", "y", system=True)
    for other in (germane.agent("y", user="anna"), germane.agent("x", org="o"), germane.agent("y")):
        assert (await labels(other.blocks), await recalled(other)) == ([], [])

    def indexing(id: str) -> Plan[None]:
        yield from ()
        return Decision((IndexBlock(id),), None)

    for other in (germane.agent("y", user="anna"), agent):
        with pytest.raises(NotFound):
            await other._scoped(other.scope).commit(indexing(mine.id))
    assert await agent.search("pump", filters=Filters(sensitivities=("public",))) == ()


async def test_many_edits_are_indexed_by_the_next_search(germane: Germane, agent: Agent) -> None:
    """In steps; an edit itself derives nothing."""
    for number in range(40):
        await agent.blocks.create(f"notes {number}", text=f"pump {number}")
    for number in range(40):
        await agent.blocks.edit(f"notes {number}", AppendText(text=" is checked"))
    store = agent._scoped(agent.scope)
    assert not await store.ask(AllIndexed())
    assert len(await labels(agent.blocks, "checked", 100)) == 40
    assert await store.ask(AllIndexed())


async def test_a_prompt_shows_a_found_block_once(agent: Agent) -> None:
    """What stands in it isn't found for it again, also by a builder, where a block was named for the exchange; and a search of
    all blocks doesn't bring working ones into prompts."""
    await agent.blocks.create("persona", text="I check the pump on Tuesdays", type="core")
    await agent.blocks.create("notes", text="The pump leaks on Mondays")
    await agent.blocks.create("manual", text="The pump is checked every third Tuesday", type="archival")
    await agent.blocks.search("pump")
    context = await agent.assemble(ASK, model="gpt-4o", deadline=None)
    assert (str(context.messages).count("I check the pump"), "leaks" in str(context.messages)) == (1, False)
    named = await agent.assemble(ASK, model="gpt-4o", deadline=None, blocks=["manual", "notes"])
    assert [str(named.messages).count(text) for text in ("third Tuesday", "leaks")] == [1, 1]
    builder = agent.builder().with_model("gpt-4o").with_messages(ASK).with_deadline(None).with_batch_blocks("manual", "notes")
    built = str((await builder).as_kwargs())
    assert [built.count(text) for text in ("third Tuesday", "leaks", "I check the pump")] == [1, 1, 1]


async def test_where_nothing_can_be_written_a_search_goes_on(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was edited since isn't found, and nothing earlier is."""
    await agent.blocks.create("notes", text="green pump")
    await agent.blocks.create("plan", text="the pump")
    assert len(await labels(agent.blocks)) == 2
    await agent.blocks.set_text("notes", "blue pump")

    def failing() -> Any:
        raise StoreError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(revision, "index_blocks", failing)
        assert await labels(agent.blocks) == ["plan"]
        assert await recalled(agent) == ["plan: the pump"]
    assert len(await labels(agent.blocks)) == 2


async def test_bad_searches_are_refused(agent: Agent) -> None:
    """A limit that isn't one, a query that is no string; an empty one finds nothing."""
    for limit in (0, 1_001, True, "2"):
        with pytest.raises(InvalidInput):
            await agent.blocks.search("pump", limit)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        await agent.blocks.search(None)  # type: ignore[arg-type]
    assert await agent.blocks.search("") == ()
