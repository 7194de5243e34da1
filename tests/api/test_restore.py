"""Restoring an export: what comes back is what was there; what can't be restored is refused by line, without content."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from bench.roundtrip import difference
from hypothesis import given
from hypothesis import strategies as st

from germane import Agent, Conflict, Germane, InvalidInput
from support.calendar import Calendar, Opening
from support.examples import examples

TALK = [{"role": "user", "content": "Where is Biscuit?", "id": "m1"}, {"role": "assistant", "content": "In the garden."}]


@pytest.fixture
async def empty(opening: Opening, embedder: Any, tmp_path: Path, calendar: Calendar) -> AsyncIterator[Germane]:
    async with Germane.open(tmp_path / "empty.db", embedder=embedder, clock=calendar.clock) as opened:
        yield opened


async def lines_of(agent: Agent | Germane) -> list[dict[str, Any]]:
    return [line async for line in agent.export()]


@pytest.mark.requirement("MEM-3", "CLI-2")
@examples(8)
@given(st.integers(min_value=0, max_value=1 << 32))
def test_export_import_export_is_byte_identical(seed: int) -> None:
    """Over generated stores with everything that a store can hold; an export that was cut off is refused, and completed by
    the whole one. `make soak ARGS=roundtrip` does it for 2,000 stores."""
    assert asyncio.run(difference(Random(seed), 5 + seed % 25)) == ""


@pytest.mark.requirement("MEM-3")
async def test_what_is_restored_works_as_before(agent: Agent, empty: Germane, calendar: Calendar) -> None:
    """It is found by its words, counts and history go on, and a session goes on where it ended."""
    await agent.remember("Vienna", kind="fact", key="city")
    calendar.advance(days=1)
    newest = await agent.remember("Linz", kind="fact", key="city")
    await agent.feedback([newest.id])
    await agent.record(TALK, session="s1")
    await agent.directive("Be brief.")
    restored = empty.agent("support", org="acme", user="caroline")
    done = await restored.restore(agent.export())
    assert (done.memories, done.messages, done.directives, done.known) == (2, 2, 1, 0)
    assert await restored.directive() == "Be brief."
    assert (
        "garden" in (await restored.search("Biscuit"))[0].candidate.text + (await restored.search("garden"))[0].candidate.text
    )
    assert [memory.text for memory in await restored.memories.versions(newest.id)] == ["city: Vienna", "city: Linz"]
    assert (await restored.memories.get(newest.id)).helpful == 1
    assert (await restored.record(TALK, session="s1")).added == ()
    await restored.record([{"role": "user", "content": "More"}], session="s1")
    assert [line["position"] for line in await lines_of(restored) if line["type"] == "message"] == [0, 1, 2]


async def test_positions_of_forgotten_messages_arent_used_again(agent: Agent, empty: Germane) -> None:
    """A session that lost its last message goes on after it, here as there."""
    await agent.record(TALK, session="s1")
    last = (await lines_of(agent))[-1]["germane_id"]
    await agent.forget([last])
    await empty.restore(agent.export())
    copy = empty.agent("support", org="acme", user="caroline")
    for handle in (agent, copy):
        await handle.record([{"role": "user", "content": "Found him!"}], session="s1")
        assert [line["position"] for line in await lines_of(handle) if line["type"] == "message"] == [0, 2]


@pytest.mark.requirement("MEM-3")
async def test_what_was_forgotten_isnt_stored_again(agent: Agent) -> None:
    """An export of before brings nothing back that was forgotten since, not even that of a forgotten owner."""
    kept, gone = await agent.remember("kept"), await agent.remember("gone")
    await agent.record(TALK, session="s1")
    before = await lines_of(agent)
    await agent.forget([gone.id])
    done = await agent.restore(before)
    assert (done.forgotten, done.known, done.memories) == (1, 3, 0)
    await agent.forget(everything=True)
    done = await agent.restore(before)
    assert (done.forgotten, done.memories, done.messages) == (4, 0, 0)
    assert kept.id not in str([line async for line in agent.export() if line["type"] != "tombstone"])


@pytest.mark.requirement("MEM-3")
async def test_what_lives_here_isnt_forgotten_by_an_import(agent: Agent, empty: Germane) -> None:
    """A tombstone of the file whose memory is stored here is told, and removes nothing."""
    memory = await agent.remember("Likes tea")
    copy = empty.agent("support", org="acme", user="caroline")
    await copy.restore(agent.export())
    await agent.forget([memory.id])
    lines = await lines_of(agent)
    done = await copy.restore(lines)
    assert done.conflicts == [2]
    assert (await copy.memories.get(memory.id)).text == "Likes tea"


async def test_counts_that_went_on_are_no_conflict(agent: Agent) -> None:
    """What changed since the export stays: an import never takes anything back."""
    memory = await agent.remember("Vienna", kind="fact", key="city")
    before = await lines_of(agent)
    await agent.feedback([memory.id])
    await agent.remember("Linz", kind="fact", key="city")
    assert (await agent.restore(before)).known == 1
    found = await agent.memories.get(memory.id)
    assert found.helpful == 1
    assert found.superseded_by is not None


BUDGETS = tuple(f"The budget for the kitchen of the house in Leith is {number},000 euros" for number in (10, 11, 12))


async def conflicts_of(agent: Agent) -> list[tuple[str, str, str]]:
    return [(one.id, one.older.id, one.newer.id) for one in await agent.memories.review()]


@pytest.mark.requirement("MEM-3", "MEM-4")
async def test_contradictions_come_back_with_how_they_were_resolved(agent: Agent, empty: Germane, calendar: Calendar) -> None:
    """Open ones are open, what a person kept is kept, and what was stale is stale; importing again changes nothing."""
    for text in BUDGETS:
        await agent.remember(text)
    home = await agent.remember(kind="fact", key="home", value="Leith")
    way = await agent.remember("The way to work takes ten minutes", derived_from=[home.id])
    await agent.remember(kind="fact", key="home", value="Oslo")
    found = await agent.memories.review()
    first, second = [one for one in found if one.reason == "number"][:2]
    (values,) = [one for one in found if one.reason == "same_time"]
    await agent.memories.resolve(first.id, keep="both")
    done = await agent.memories.resolve(values.id, keep=home.id)
    calendar.advance(days=9)
    lines = await lines_of(agent)
    copy = empty.agent("support", org="acme", user="caroline")
    restored = await copy.restore(lines)
    assert (restored.memories, restored.contradictions, restored.conflicts) == (6, 4, [])
    assert await lines_of(copy) == lines
    assert await conflicts_of(copy) == await conflicts_of(agent)
    same = await copy.memories.resolve(values.id, keep=home.id)
    assert (same.resolved_at, same.kept) == (done.resolved_at, home.id)
    assert (await copy.memories.get(way.id)).stale_since is not None
    assert second.id in {id for id, _, _ in await conflicts_of(copy)}
    again = await copy.restore(lines)
    assert (again.contradictions, again.conflicts) == (0, [])


async def test_what_contradicts_a_restored_memory_later_is_noticed(agent: Agent, empty: Germane) -> None:
    """A new memory, and a restored one whose text changes; between two restored ones only the export tells."""
    one, two = [await agent.remember(text) for text in BUDGETS[:2]]
    (conflict,) = await agent.memories.review()
    lines = [line for line in await lines_of(agent) if line["type"] != "contradiction"]
    lines[0]["holds"]["contradictions"] = 0
    copy = empty.agent("support", org="acme", user="caroline")
    await copy.restore(lines)
    assert await conflicts_of(copy) == []
    three = await copy.remember(BUDGETS[2])
    assert {(older, newer) for _, older, newer in await conflicts_of(copy)} == {(one.id, three.id), (two.id, three.id)}
    await copy.memories.update(two.id, BUDGETS[1].replace("euros", "euro"))
    assert {(one.id, two.id)} < {(older, newer) for _, older, newer in await conflicts_of(copy)}
    assert (conflict.older.id, conflict.newer.id) == (one.id, two.id)


@pytest.mark.requirement("MEM-3", "SCOPE-2")
async def test_a_contradiction_whose_memories_arent_here_is_told(agent: Agent, germane: Germane, empty: Germane) -> None:
    """One whose memory is forgotten here is counted; one about another user's memories, or with a taken id, is a conflict."""
    one, two = [await agent.remember(text) for text in BUDGETS[:2]]
    lines = await lines_of(agent)
    number = next(number for number, line in enumerate(lines) if line["type"] == "contradiction")
    copy = empty.agent("support", org="acme", user="caroline")
    await copy.restore(lines)
    await copy.forget([one.id])
    done = await copy.restore(lines)
    assert (done.forgotten, done.known, done.contradictions) == (2, 1, 0)
    ben = germane.agent("support", org="acme", user="ben")
    theirs = [await ben.remember(text) for text in BUDGETS[1:]]
    for change in ({"older": theirs[0].id}, {"newer": theirs[1].id}, {"older": "absent"}):
        with pytest.raises(Conflict, match=rf"^line {number + 1}: one of its memories isn't stored here"):
            await agent.restore([*lines[:number], lines[number] | change])
    three = await agent.remember("Something else")
    taken = lines[number] | {"newer": three.id}
    with pytest.raises(Conflict, match="its id stands for another contradiction"):
        await agent.restore([*lines[:number], taken])
    assert await conflicts_of(agent) == [(lines[number]["id"], one.id, two.id)]
    (their_conflict,) = await ben.memories.review()
    assert their_conflict.older.id == theirs[0].id


@pytest.mark.parametrize(
    ("place", "change", "why"),
    [
        ("memory", {"body": "secret words"}, "other content"),
        ("message", {"content": "secret words"}, "other content"),
        ("message", {"germane_id": "another"}, "its position"),
        ("message", {"germane_id": "another", "position": 9}, "has its id"),
        ("directive", {"text": "secret words"}, "another directive"),
    ],
)
async def test_a_conflict_is_refused_by_line_or_skipped(agent: Agent, place: str, change: dict[str, Any], why: str) -> None:
    """The error names the line and no content; nothing that is stored changes."""
    await agent.directive("Be kind.")
    await agent.remember("Likes tea")
    await agent.record(TALK, session="s1")
    lines = await lines_of(agent)
    number = next(number for number, line in enumerate(lines) if line["type"] == place)
    altered = [*lines[:number], lines[number] | change, *lines[number + 1 :]]
    with pytest.raises(Conflict, match=rf"^line {number + 1}: .*{why}") as refused:
        await agent.restore(altered)
    assert "secret" not in str(refused.value)
    assert (await agent.restore(altered, skip_conflicts=True)).conflicts == [number + 1]
    assert await lines_of(agent) == lines


async def test_two_lines_with_one_id_are_a_conflict_within_the_file(agent: Agent, empty: Germane) -> None:
    """The same line twice is no conflict; another content under the same id is."""
    await agent.remember("Likes tea")
    header, memory = await lines_of(agent)
    target = empty.agent("support", org="acme", user="caroline")
    with pytest.raises(Conflict, match=r"^line 3: "):
        await target.restore([header, memory, memory | {"body": "Likes milk"}])
    assert (await target.restore([header, memory, memory])).memories == 1


@pytest.mark.requirement("SCOPE-2", "MEM-3")
async def test_an_export_of_another_scope_needs_to_be_told_where_to_go(agent: Agent, empty: Germane) -> None:
    """Without `into` it is refused; with it what is of the export's user becomes the other user's, and what is agent-wide stays
    so."""
    await agent.remember("Likes tea")
    await agent.remember("Office closes at five", agent_wide=True)
    await agent.record(TALK, session="s1")
    lines = await lines_of(agent)
    bob = empty.agent("sales", org="other", user="bob")
    with pytest.raises(InvalidInput, match=r"^line 1: the export is of acme/support/caroline, not of other/sales/bob"):
        await bob.restore(lines)
    done = await bob.restore(lines, into=True)
    assert (done.memories, done.messages) == (2, 2)
    assert {line["user"] for line in (await lines_of(bob))[1:]} == {None, "bob"}
    assert len(await lines_of(empty.agent("sales", org="other"))) == 2
    whole = await lines_of(empty)
    with pytest.raises(InvalidInput, match="only that of one agent"):
        await bob.restore(whole, into=True)
    with pytest.raises(InvalidInput, match="not of other/sales/bob"):
        await bob.restore(whole)


async def test_the_same_ids_cant_be_in_two_scopes_of_one_store(agent: Agent, germane: Germane) -> None:
    """Ids are one store's: a copy within the store is refused, not moved."""
    await agent.remember("Likes tea")
    with pytest.raises(Conflict, match=r"^line 2: its id belongs to another scope"):
        await germane.agent("support", org="acme", user="bob").restore(await lines_of(agent), into=True)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "nothing in it"),
        (["{oops"], "line 1: it isn't JSON"),
        ([b"\xff"], "line 1: it isn't UTF-8"),
        ([{"type": "memory", "org": "acme", "agent": "support", "user": None, "id": "1", "kind": "note", "body": "x",
           "created_at": "2026-01-01T00:00:00Z"}], "line 1: the header is missing"),
        (["HEADER", "HEADER"], "line 2: a second header"),
        (["HEADER", {"type": "directive", "org": "acme", "agent": "support", "user": "bob", "text": "x"}],
         "line 2: it isn't of acme/support/caroline"),
        (["HEADER", {"type": "tombstone", "id": "t", "what": "memory", "at": "2026-01-01T00:00:00Z"}],
         "line 2: it isn't of acme/support/caroline"),
        ([{"type": "header", "format": "germane-export", "version": 9}], "line 1: .* upgrade germane"),
    ],
)  # fmt: skip
async def test_a_bad_export_is_refused_by_line(agent: Agent, lines: list[Any], said: str) -> None:
    """Nothing of it is stored."""
    header = (await lines_of(agent))[0]
    with pytest.raises(InvalidInput, match=said):
        await agent.restore([header if line == "HEADER" else line for line in lines])
    assert len(await lines_of(agent)) == 1


@pytest.mark.parametrize("lines", ["text", b"bytes", {"a": 1}, None, 7])
async def test_what_is_no_list_of_lines_is_refused(agent: Agent, lines: Any) -> None:
    """A text would be read letter by letter."""
    with pytest.raises(InvalidInput, match="one by one"):
        await agent.restore(lines)


async def test_a_directive_that_is_restored_is_the_known_one_at_once(empty: Germane, agent: Agent) -> None:
    """Cached copies are dropped."""
    copy = empty.agent("support", org="acme", user="caroline")
    assert await copy.directive() == ""
    await agent.directive("Be kind.")
    await empty.restore([json.dumps(line) for line in await lines_of(agent)])
    assert await copy.directive() == "Be kind."


async def test_an_export_of_an_org_or_agent_holds_all_its_users(germane: Germane, empty: Germane) -> None:
    """And nothing of others."""
    for org, name, user in (("acme", "a", "u"), ("acme", "a", "v"), ("acme", "b", None), ("other", "a", "u")):
        await germane.agent(name, org=org, user=user).remember(f"of {org} {name} {user}")
    owners = [(line["agent"], line["user"]) async for line in germane.export("acme") if line["type"] == "memory"]
    assert owners == [("a", "u"), ("a", "v"), ("b", None)]
    assert len([line async for line in germane.export("acme", "a")]) == 3
    assert (await empty.restore(germane.export("acme", "a"))).memories == 2
    with pytest.raises(InvalidInput, match="give org as well"):
        germane.export(agent="a")


async def test_times_are_kept_to_the_microsecond(germane: Germane, empty: Germane) -> None:
    """And in UTC, wherever they came from."""
    moment = datetime(1999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    await germane.agent().record([{"role": "user", "content": "hi", "created_at": moment}], session="s")
    await empty.restore(germane.export())
    (said,) = [line async for line in empty.export() if line["type"] == "message"]
    assert said["created_at"] == "1999-12-31T23:59:59.999999+00:00"
