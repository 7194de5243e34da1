"""Memory blocks in a prompt: which stand in it, that no stale one does, and what the budget does to them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from germane import Agent, Context, Germane, InvalidInput
from germane.api.strategies import COMPOSITE, VERBOSE
from germane.engine import result_cache
from germane.kinds.injections import SessionInjections
from germane.kinds.inventory import AllowedIds
from germane.types.query import Filters
from germane_testing.builders import Hashed
from germane_testing.injection_contract import all_records
from support.appending import APPEND, APPEND_XML, Chat, prefix

pytest.importorskip("loro")

ASK = [{"role": "user", "content": "How often is the pump checked?"}]


@pytest.fixture
async def germane(tmp_path: Path) -> AsyncIterator[Germane]:
    async with Germane.open(tmp_path / "a.db", embedder=Hashed(), warm=False, freeze=False) as opened:
        yield opened


@pytest.fixture
def agent(germane: Germane) -> Agent:
    return germane.agent("x", user="anna")


async def assembled(agent: Agent, **options: Any) -> Context:
    return await agent.assemble(options.pop("messages", ASK), **{"model": "gpt-4o", "deadline": None} | options)


def tags(context: Context) -> list[str]:
    """The opening tags in the whole prompt, in order."""
    text = str(context.messages)
    return [part.split(">")[0] for part in text.split("<block:")[1:]]


async def say(chat: Chat) -> Context:
    return await chat.say("How often is the pump checked?")


@pytest.mark.requirement("BLK-1", "BUILD-2")
@pytest.mark.parametrize("strategy", ["default", "verbose", "compact", "composite"])
async def test_core_and_pinned_blocks_stand_in_every_prompt(germane: Germane, agent: Agent, strategy: str) -> None:
    """Own ones by label, the agent's among them, then shared ones; a label of the user's hides the agent's. What a request
    needs or is worth doesn't hold them back, and they aren't counted as memories."""
    whole, other = germane.agent("x"), germane.agent("archive", user="anna")
    await whole.blocks.create("persona", text="I am calm", type="core", description="who I am")
    await whole.blocks.create("human", text="hidden", type="core")
    await agent.blocks.create("human", text="Anna", type="core")
    await agent.blocks.create("aims", text="to rest", pinned=True)
    for kind in ("working", "log"):
        await agent.blocks.create(f"other {kind}", type=kind)
    await other.blocks.create("common", text="from elsewhere", type="core", permission="admin")
    await other.blocks.share("common", "x")
    context = await assembled(agent, messages=[{"role": "user", "content": "ok thanks"}], strategy=strategy)
    assert tags(context) == [
        'aims permission="ReadWrite"',
        'human permission="ReadWrite"',
        'persona permission="ReadOnly"',
        'common permission="Append" shared_from="archive"',
    ]
    assert "hidden" not in context.added
    assert context.metadata.memories_injected == context.metadata.memories_available == 0
    assert context.metadata.memory_ids == ()
    assert [(item.handle, item.category, item.scored.candidate.title) for item in context.items][:2] == [
        ("block:aims", "block", "aims"),
        ("block:human", "block", "human"),
    ]
    assert all(id.endswith("@0") for id in context.attribution.values())
    assert "block 'persona'" in context.explain()


@pytest.mark.requirement("BUILD-4")
async def test_a_request_shows_the_blocks_that_it_names(agent: Agent) -> None:
    """By label or id, of any type and each once; a name without a block is a warning; a name that is none is refused."""
    log = await agent.blocks.create("diary", type="log")
    await agent.blocks.edit("diary", {"op": "append_entry", "text": "slept well"})
    await agent.blocks.create("manual", text="The pump is checked weekly", type="archival")
    context = await assembled(agent, blocks=["manual", log.id, "diary", "absent"])
    assert [tag.split()[0] for tag in tags(context)] == ["diary", "manual"]
    assert context.added.count("checked weekly") == 1
    assert [warning for warning in context.trace.warnings if "block" in warning] == [
        "there is no block 'absent' here, which the request names"
    ]
    assert tags(await assembled(agent)) == []
    for wrong in ("diary", ["a//b"], ["x"] * 101):
        with pytest.raises(InvalidInput):
            await assembled(agent, blocks=wrong)


@pytest.mark.requirement("BLK-7")
@pytest.mark.parametrize("strategy", ["default", VERBOSE, COMPOSITE])
async def test_the_archive_is_found_by_what_the_request_asks(agent: Agent, strategy: Any) -> None:
    """Entries and archival blocks, as memories are: with a rank, by recall too, and not by a digest."""
    entry = await agent.blocks.archive("The pump is checked every week", {"source": "manual"})
    block = await agent.blocks.create("pressure", text="The pump has three bar", type="archival")
    await agent.blocks.create("persona", text="I check the pump", type="core")
    context = await assembled(agent, strategy=strategy)
    assert {item.id for item in context.items if item.category == "archival"} == {entry.id, f"{block.id}@0"}
    assert "pressure: The pump has three bar" in context.added
    found = [(scored.id, scored.candidate.category) for scored in await agent.search("pump")]
    core = await agent.blocks.get("persona")
    wanted = [(entry.id, "archival"), (f"{block.id}@0", "archival"), (f"{core.id}@0", "block")]
    assert sorted(found) == sorted(wanted)
    assert (await agent.digest("pump")).items == ()
    assert all(item.category != "block" for item in (await agent.digest("pump", strategy="default")).items)
    for filters in (Filters(kinds=("fact",)), Filters(tags=("a",)), Filters(session="s")):
        assert await agent.search("pump", filters=filters) == ()
    await agent.blocks.delete_entry(entry.id)
    await agent.blocks.set_text("pressure", "Nothing")
    assert [item.category for item in (await assembled(agent, strategy=strategy)).items] == ["block"]


@pytest.mark.requirement("BLK-7", "AMOUNT-1")
async def test_of_a_long_entry_the_passage_that_answers_is_shown(agent: Agent) -> None:
    """As of a long message: as a whole it would never be worth its tokens."""
    filler = "The weather on the coast was mild, and nobody had anything to report about it. "
    entry = await agent.blocks.archive(f"{filler * 60}The pump is checked every third Tuesday. {filler * 60}")
    (item,) = (await assembled(agent, messages=[{"role": "user", "content": "How often is the pump checked?"}])).items
    assert (item.id, item.share < 0.2) == (entry.id, True)
    assert "every third Tuesday" in item.text


@pytest.mark.requirement("SCOPE-2", "GATHER-5")
async def test_blocks_are_private_and_their_scopes_own(germane: Germane, agent: Agent) -> None:
    """No other user, agent or org sees one; a request for what is public sees none; excluded ones stay out."""
    block = await agent.blocks.create("persona", text="a pump", type="core")
    await agent.blocks.archive("a pump")
    for other in (
        germane.agent("x", user="ben"),
        germane.agent("y", user="anna"),
        germane.agent("x"),
        germane.agent("x", org="o"),
    ):
        context = await assembled(other, blocks=["persona", block.id])
        assert (context.items, len(context.trace.warnings)) == ((), 2)
        store = other._scoped(other.scope)
        assert await store.ask(AllowedIds([f"{block.id}@0"], block.created_at, Filters())) == frozenset()
    context = await assembled(agent, filters=Filters(sensitivities=("public",)))
    assert (context.items, context.trace.left_out) == ((), ())
    for name in (block.id, f"{block.id}@0"):  # as it is stored, and as metadata name it
        assert tags(await assembled(agent, filters=Filters(exclude=frozenset([name])))) == []
    context = await assembled(agent, filters=Filters(exclude=frozenset([block.id])))
    assert [item.category for item in context.items] == ["archival"]


@pytest.mark.requirement("BLK-2", "INJECT-6", "PACK-8")
@pytest.mark.parametrize("strategy", [APPEND, APPEND_XML])
async def test_a_prompt_shows_each_block_once_and_as_it_is_now(agent: Agent, strategy: Any) -> None:
    """While nothing changes it stays at its turn; once edited, undone or changed the earlier text goes, and the newest turn has
    the current version; the next prompt begins with that one."""
    await agent.remember("The pump is checked weekly")
    await agent.blocks.create("persona", text="version one", type="core", permission="admin")
    chat = Chat(agent, strategy=strategy)
    first, second = await say(chat), await say(chat)
    assert prefix(first, second)
    assert second.items == ()
    (left,) = [out for out in second.trace.left_out if out.scored.candidate.block is not None]
    assert left.reason == "already_shown"
    shown = "version one"
    changes: list[tuple[Callable[[], Awaitable[Any]], str]] = [
        (lambda: agent.blocks.set_text("persona", "version two"), "version two"),
        (lambda: agent.blocks.undo("persona"), "version one"),
        (lambda: agent.blocks.change("persona", description="about me"), "version one"),
    ]
    for change, expected in changes:
        await change()
        context = await say(chat)
        prompt = str(context.messages)
        assert tags(context) == ['persona permission="Admin"']
        assert expected in prompt
        assert shown not in prompt or shown == expected
        assert "block:persona" in [item.handle for item in context.items]
        assert prompt.count("The pump is checked weekly") == 1
        after = await say(chat)
        assert prefix(context, after)
        assert after.items == ()
        shown = expected


@pytest.mark.requirement("BLK-6", "INJECT-6", "PACK-8")
async def test_a_block_that_may_be_seen_no_more_leaves_the_prompt(germane: Germane, agent: Agent) -> None:
    """Deleted, unshared, or forgotten by its owner; a share that permits less is shown so."""
    owner = germane.agent("owner", user="anna")
    await owner.blocks.create("common", text="what all know", type="core", permission="admin")
    await owner.blocks.share("common", "x", "append")
    chat = Chat(agent)
    assert tags(await say(chat)) == ['common permission="Append" shared_from="owner"']
    await owner.blocks.share("common", "x", "read_only")
    context = await say(chat)
    assert tags(context) == ['common permission="ReadOnly" shared_from="owner"']
    await owner.blocks.unshare("common", "x")
    context = await say(chat)
    assert (tags(context), "all know" in str(context.messages)) == ([], False)
    await owner.blocks.share("common", "x")
    assert len(tags(await say(chat))) == 1
    block = await owner.blocks.delete("common")
    assert tags(await say(chat)) == []
    await owner.blocks.restore(block.id)
    assert len(tags(await say(chat))) == 1
    await germane._open.injections.flush()
    receipt = await owner.forget([block.id])
    assert (receipt.block_ids, "injected texts" in receipt.checked) == ((block.id,), True)
    assert tags(await say(chat)) == []


@pytest.mark.requirement("INJECT-6", "PACK-8")
async def test_records_with_blocks_outlive_the_process(tmp_path: Path) -> None:
    """Kept, they stand again byte for byte; edited or forgotten before they are written, they are never kept."""
    chats: list[Chat] = []
    contexts: list[Context] = []
    for number in range(3):
        async with Germane.open(tmp_path / "a.db", embedder=Hashed(), warm=False, freeze=False) as germane:
            agent = germane.agent("x", user="anna")
            if not number:
                await agent.blocks.create("persona", text="version one", type="core")
                await agent.blocks.archive("The pump is checked weekly")
            chats.append(Chat(agent))
            chats[-1].history = list(chats[0].history)
            contexts.append(await say(chats[-1]))
            chats[0].history = chats[-1].history
            if number == 1:
                await agent.blocks.set_text("persona", "version two")
    first, second, third = contexts
    assert [item.category for item in first.items] == ["block", "archival"]
    assert prefix(first, second)
    assert second.items == ()
    assert (str(third.messages).count("<block:persona"), "version one" in str(third.messages)) == (1, False)
    assert [item.category for item in third.items] == ["block", "archival"]


@pytest.mark.requirement("INJECT-6", "MEM-3")
async def test_a_record_is_not_kept_where_its_block_changed_before_it_was_written(germane: Germane, agent: Agent) -> None:
    """The file never holds a text that nobody could withdraw."""
    await agent.blocks.create("persona", text="version one", type="core")
    chat = Chat(agent)
    await say(chat)
    await agent.blocks.set_text("persona", "version two")
    await germane._open.injections.flush()
    store = agent._scoped(agent.scope.within("s"))
    kept = await store.ask(SessionInjections(all_records, germane._open.clock.now(), Filters()))
    assert [record.text for record in kept.records] == []


@pytest.mark.requirement("BUILD-4", "INJECT-6")
async def test_a_block_that_changes_while_tools_run_is_shown_at_once(agent: Agent) -> None:
    """So is one that is made or named then; what doesn't change stays as it is, round after round."""
    await agent.remember("The pump is checked weekly")
    await agent.blocks.create("persona", text="version one", type="core")
    chat = Chat(agent)
    chat.history.append({"role": "user", "content": "How often is the pump checked?"})
    first = await chat.send()
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    chat.history.append({"role": "assistant", "content": None, "tool_calls": [call]})
    chat.history.append({"role": "tool", "tool_call_id": "c1", "content": "Done."})
    assert prefix(first, await chat.send())
    await agent.blocks.set_text("persona", "version two")
    context = await chat.send()
    assert ("version one" in str(context.messages), "version two" in str(context.messages)) == (False, True)
    await agent.blocks.create("aims", text="to rest", type="core")
    await agent.blocks.create("plan", text="to work")
    for blocks, expected in (((), ["aims", "persona"]), (["plan"], ["aims", "persona", "plan"])):
        contexts = [await chat.send(blocks=blocks) for _ in range(3)]
        for context in contexts:
            assert [tag.split()[0] for tag in tags(context)] == expected
            assert str(context.messages).count("checked weekly") == 1
        assert contexts[0].messages == contexts[1].messages == contexts[2].messages


@pytest.mark.requirement("BUD-4")
@pytest.mark.parametrize("strategy", ["default", "verbose"])
async def test_a_block_that_is_too_long_says_how_much_of_it_is_shown(agent: Agent, strategy: str) -> None:
    """Its beginning, within the budget; left out where not even that fits."""
    text = "\n".join(f"line {number} of the long persona" for number in range(150))
    await agent.blocks.create("persona", text=text, type="core")
    for tokens in (2_000, 900, 300, 100, 30, 0):
        context = await assembled(agent, max_tokens=tokens, strategy=strategy)
        assert context.metadata.total_tokens_injected <= tokens
        for item in context.items:
            head, _, mark = item.text.rpartition("\n")
            assert item.share == 1 or (
                text.startswith(head) and mark.startswith(f"[Showing lines 1-{head.count(chr(10)) + 1} of 150:")
            )
            assert item.text in context.added.replace("\n ", "\n")
        assert bool(context.items) == (tokens >= 100)
        assert context.metadata.was_truncated == (tokens < 2_000)


@pytest.mark.requirement("ENGINE-6")
async def test_a_cached_answer_is_as_new_as_the_blocks(germane: Germane, agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """An edit, also through a share, and another list of names make another answer."""
    monkeypatch.setattr(result_cache, "_MAX_REVISION_SECONDS", 60.0)  # however busy the machine is
    owner = germane.agent("owner", user="anna")
    await owner.blocks.create("common", text="version one", type="core", permission="admin")
    await owner.blocks.share("common", "x")
    strategy = replace(VERBOSE, name="first")
    ask: dict[str, Any] = {"strategy": strategy, "deadline": 5.0}
    await assembled(agent, **ask)
    assert (await assembled(agent, **ask)).metadata.cached
    await owner.blocks.set_text("common", "version two")
    context = await assembled(agent, **ask)
    assert (context.metadata.cached, "version two" in context.added) == (False, True)
    await agent.blocks.create("notes", text="named")
    await assembled(agent, **ask)
    assert "named" in (await assembled(agent, blocks=["notes"], **ask)).added
    await owner.blocks.unshare("common", "x")
    assert "version two" not in (await assembled(agent, **ask)).added


@pytest.mark.requirement("CLI-2")
async def test_why_tells_of_blocks_and_entries(agent: Agent) -> None:
    """By label, id and id with version: that it went in, stands, wasn't named, is archival, or was forgotten."""
    core = await agent.blocks.create("persona", text="I am calm", type="core")
    notes = await agent.blocks.create("notes", text="unpinned")
    entry = await agent.blocks.archive("about something else")
    context = await assembled(agent, strategy="verbose", session="s")
    for name in ("persona", core.id, f"{core.id}@0"):
        why = await agent.why(name, context)
        assert (why.outcome, "every context" in why.text) == ("injected", True)
    why = await agent.why("notes", context)
    assert (why.id, why.outcome, why.reason) == (notes.id, "not_searched", "not_named")
    filtered = await assembled(agent, filters=Filters(sensitivities=("public",)))
    assert (await agent.why("persona", filtered)).outcome == "filtered"
    assert (await agent.why(entry.id, context)).outcome in ("left_out", "not_reached", "injected")
    chat = Chat(agent)
    await say(chat)
    assert (await agent.why("persona", await say(chat))).outcome == "left_out"
    await agent.forget([core.id])
    assert (await agent.why(core.id, await say(chat))).outcome == "forgotten"
    assert (await agent.why("nothing", context)).outcome == "absent"
