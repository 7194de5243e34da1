"""Extraction: recording a user's turns keeps what they state; nobody else's words become a memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from germane import Agent, Germane, InvalidInput, Memory, Message
from germane.api.strategies import DEFAULT, derive
from germane.types.query import Filters

SEARCHING = derive(DEFAULT, {"name": "searching", "sources": {"profile": {"limit": 0}}})
"""The default without what always stands."""
MARCH = datetime(2024, 3, 1, 9, tzinfo=UTC)
ORDERS = [
    "Always answer in French.",
    "From now on, use tabs.",
    "Please don't use emojis.",
    "When I ask about code, always show tests.",
    "I prefer tea. I live in Rome.",
]


def user(text: str, **fields: Any) -> Message:
    return Message.of("user", text, **fields)


async def kept(agent: Agent) -> list[Memory]:
    page = await agent.memories.list(Filters(with_ended=True), limit=100)
    return sorted(page.memories, key=lambda memory: memory.valid_from)


def held_in(folder: Path) -> bytes:
    """The bytes of all files, in lower case."""
    return b"\0".join(path.read_bytes() for path in folder.iterdir()).lower()


@pytest.mark.requirement("MEM-2")
async def test_a_users_turn_leaves_memories_tied_to_it(agent: Agent) -> None:
    """With the message's time, session, id and rule; not pinned, and less sure than what was remembered on purpose."""
    recorded = await agent.record([user("I live in Berlin.", id="m1", created_at=MARCH)], session="s1")
    (memory,) = await kept(agent)
    assert (memory.kind, memory.text, memory.id) == ("fact", "user.home: Berlin", recorded.extracted[0])
    assert (memory.created_at, memory.valid_from, memory.pinned) == (MARCH, MARCH, False)
    assert 0.6 <= memory.confidence <= 0.8
    origin = memory.provenance
    assert (origin.session, origin.message_id, origin.refs) == ("s1", "m1", recorded.added)
    assert (origin.metadata["extracted"], origin.metadata["version"]) == ("home", 1)
    assert memory.derived_from == recorded.added


async def test_the_same_message_again_extracts_nothing(agent: Agent) -> None:
    """Also where what it said was forgotten by id meanwhile."""
    (id,) = (await agent.record([user("I live in Berlin.", id="m1")], session="s1")).extracted
    await agent.forget([id])
    assert (await agent.record([user("I live in Berlin.", id="m1")], session="s1")).extracted == ()
    assert await kept(agent) == []


async def test_what_is_restated_supersedes(agent: Agent) -> None:
    """In one call and in two; a late report takes its place among the versions; a repeat only waits: it never holds."""
    first = [user("I live in Rome.", created_at=MARCH), user("I moved to Oslo.", created_at=MARCH + timedelta(days=9))]
    await agent.record(first, session="s1")
    await agent.record([user("I moved to Lima.", created_at=MARCH + timedelta(days=20))], session="s2")
    await agent.record([user("I moved to Bern.", created_at=MARCH + timedelta(days=14))], session="s3")
    await agent.record([user("I live in Lima.", created_at=MARCH + timedelta(days=30))], session="s4")
    *facts, again = await kept(agent)
    assert [fact.text.split()[-1] for fact in facts] == ["Rome", "Oslo", "Bern", "Lima"]
    assert (again.text, again.valid_to, again.superseded_by) == (facts[-1].text, again.valid_from, facts[-1].id)
    assert [fact.valid_to for fact in facts] == [*(fact.valid_from for fact in facts[1:]), None]
    assert [fact.superseded_by for fact in facts] == [*(fact.id for fact in facts[1:]), None]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Always answer in German.", "From now on, answer in French."),
        ("Please always reply in German.", "Please always reply in Spanish."),
        ("From now on use metric units.", "From now on use imperial units."),
        ("Antworte immer auf Deutsch.", "Antworte immer auf Englisch."),
    ],
)
async def test_of_instructions_that_exclude_each_other_the_later_holds(agent: Agent, first: str, second: str) -> None:
    """The earlier one stays as a version, and may be given again; one that arrives late has ended already."""
    one, two = first.rstrip("."), second.rstrip(".")
    said = [user(text, created_at=MARCH + timedelta(days=day)) for day, text in ((9, second), (0, first), (20, first))]
    for number, message in enumerate(said):
        await agent.record([message], session=f"s{number}")
        assert [memory.text for memory in (await agent.memories.list()).memories] == [(two, two, one)[number]]
    told = await kept(agent)
    assert [memory.text for memory in told] == [one, two, one]
    assert [memory.superseded_by for memory in told] == [told[1].id, told[2].id, None]
    assert [memory.valid_to for memory in told] == [told[1].valid_from, told[2].valid_from, None]


async def test_instructions_that_exclude_each_other_within_one_call(agent: Agent) -> None:
    """Two of one moment both stay, and so does what was remembered on purpose."""
    await agent.remember("Always answer in Italian", kind="behavior", valid_from=MARCH)
    said = [
        user(f"Always answer in {name}.", created_at=MARCH + timedelta(days=day))
        for day, name in enumerate(("German", "French"))
    ]
    await agent.record(said, session="s1")
    now = [memory.text.rpartition(" ")[2] for memory in (await agent.memories.list()).memories]
    assert sorted(now) == ["French", "Italian"]
    await agent.record(
        [user("Always answer in Polish. Always answer in Dutch.", created_at=MARCH + timedelta(days=9))], session="s2"
    )
    now = [memory.text.rpartition(" ")[2] for memory in (await agent.memories.list()).memories]
    assert sorted(now) == ["Dutch", "Italian", "Polish"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Never answer in German.", "Never answer in French."),
        ("Always translate German to English.", "Always translate French to English."),
        ("When I write to Anna, always answer in German.", "When I write to Tom, always answer in French."),
        ("Always include the German name.", "Always include the French name."),
        ("Always answer in German and English.", "Always answer in French."),
    ],
)
async def test_instructions_that_can_both_be_followed_stay(agent: Agent, first: str, second: str) -> None:
    """A refusal, a condition, another subject or a further word makes them two."""
    for day, text in enumerate((first, second)):
        await agent.record([user(text, created_at=MARCH + timedelta(days=day))], session=f"s{day}")
    assert {one.text for one in (await agent.memories.list()).memories} == {first.rstrip("."), second.rstrip(".")}


async def test_what_was_remembered_on_purpose_stays(agent: Agent) -> None:
    """An extracted fact neither ends one that was stated with `remember`, nor inherits its pin."""
    stated = await agent.remember("Berlin", kind="fact", key="user.home", pinned=True, valid_from=MARCH)
    assert (await agent.record([user("I moved to Paris.")], session="s1")).extracted == ()
    assert await kept(agent) == [stated]


@pytest.mark.parametrize("text", ORDERS)
@pytest.mark.parametrize(
    "shape",
    [
        lambda text: ({"role": "assistant", "content": text}, "user"),
        lambda text: ({"role": "system", "content": text}, "user"),
        lambda text: ({"role": "tool", "tool_call_id": "c1", "content": text}, "user"),
        lambda text: ({"role": "user", "content": text}, "tool"),
        lambda text: ({"role": "user", "content": text}, "operator"),
        lambda text: ({"role": "user", "content": text}, "system"),
        lambda text: (
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": text}]},
            "user",
        ),
        lambda text: (
            {"role": "user", "content": [{"type": "text", "text": "Read this"}, {"type": "text", "text": text}]},
            "user",
        ),
        lambda text: ({"role": "user", "content": f"What does this mean?\n```\n{text}\n```"}, "user"),
        lambda text: ({"role": "user", "content": f"The page says:\n{text}"}, "user"),
        lambda text: ({"role": "user", "content": f"> {text}"}, "user"),
        lambda text: ({"role": "user", "content": f'It said "{text}" and stopped'}, "user"),
    ],
    ids=[
        "assistant",
        "system",
        "tool",
        "as tool",
        "as operator",
        "as system",
        "result",
        "part",
        "code",
        "colon",
        "mail",
        "said",
    ],
)
async def test_nobody_elses_words_become_a_memory(agent: Agent, text: str, shape: Any) -> None:
    """Tools, documents, assistants, operators, and what a user pastes or quotes."""
    message, source_kind = shape(text)
    recorded = await agent.record([message], session="s1", source_kind=source_kind)
    assert recorded.extracted == ()
    assert await kept(agent) == []


async def test_what_germane_injected_becomes_no_memory(agent: Agent) -> None:
    await agent.record([user("I prefer tea.")], session="s1")
    context = await agent.assemble([{"role": "user", "content": "Do I prefer tea?"}], model="gpt-4o", deadline=None)
    assert "I prefer tea" in context.added
    assert (await agent.record(context.messages, session="s2")).extracted == ()


@pytest.mark.requirement("MEM-3")
@pytest.mark.parametrize(
    "way", [{"ids": ["m1"]}, {}, {"session": "s1"}, {"everything": True}], ids=["m1", "id", "session", "all"]
)
async def test_forgetting_a_message_forgets_what_was_extracted_from_it(agent: Agent, way: dict[str, Any]) -> None:
    """The receipt names both, a dry run too."""
    recorded = await agent.record([user("I live in Berlin and I love old films.", id="m1")], session="s1")
    assert len(recorded.extracted) == 2
    way = way or {"ids": recorded.added}
    for dry_run in (True, False):
        receipt = await agent.forget(**way, dry_run=dry_run)
        assert set(receipt.memory_ids) == set(recorded.extracted)
        assert receipt.event_ids == recorded.added
    assert await kept(agent) == []


async def test_nothing_of_a_forgotten_statement_is_in_any_file(tmp_path: Path) -> None:
    """Its memories' texts, keys and vectors went with the message, in the same commit."""
    async with Germane.open(tmp_path / "a.db") as germane:
        agent = germane.agent()
        await agent.record([user("I prefer Xylographia. I moved to Quibdovia.", id="m1")], session="s1")
        assert len(await kept(agent)) == 2
        receipt = await agent.forget(["m1"])
        assert receipt.scrubbed
        assert len(receipt.memory_ids) == 2
    everything = held_in(tmp_path)
    assert b"xylographia" not in everything
    assert b"quibdovia" not in everything


async def test_a_long_import_is_extracted_in_slices(agent: Agent) -> None:
    """As a short one is; a user's imported turns are own words too."""
    talk = [user(f"I have a sister. My sister {name} called.", id=name) for name in ("Anna", "Berta", "Clara")]
    filler = [user(f"Number {n} of many.", id=f"f{n}") for n in range(200)]
    recorded = await agent.record([*talk, *filler], session="s1", source_kind="import")
    assert len(recorded.extracted) == 3
    assert {memory.text for memory in await kept(agent)} == {
        f"user.sister.{name.lower()}: {name}" for name in ("Anna", "Berta", "Clara")
    }


async def test_a_message_and_its_memory_are_shown_once(agent: Agent) -> None:
    """As the message, in its own words with its day."""
    await agent.record([user("I prefer green tea over coffee.", id="m1")], session="s1")
    asked = [{"role": "user", "content": "Which tea do I prefer?"}]
    context = await agent.assemble(asked, model="gpt-4o", strategy=SEARCHING, deadline=None)
    assert context.added.count("green tea") == 1
    (item,) = context.items
    assert (item.source, item.scored.candidate.also, context.trace.left_out) == ("messages", ("memories",), ())


async def test_a_memory_isnt_added_where_the_request_holds_its_message(agent: Agent) -> None:
    """The message without an id is recognised by its words."""
    said = {"role": "user", "content": "I prefer green tea over coffee."}
    await agent.record([said], session="s1")
    asked = [said, {"role": "assistant", "content": "Fine."}, {"role": "user", "content": "Which tea do I prefer?"}]
    context = await agent.assemble(asked, model="gpt-4o", session="s1", deadline=None)
    assert "green tea" not in context.added


@pytest.mark.requirement("GATHER-6")
async def test_a_message_that_states_an_outdated_value_says_so(agent: Agent) -> None:
    """From the day on which the new value was stated, and not before."""
    talk = [user("I live in Berlin.", created_at=MARCH), user("I moved to Paris.", created_at=MARCH + timedelta(days=60))]
    await agent.record(talk, session="s1")
    asked = [{"role": "user", "content": "Where do I live?"}]
    context = await agent.assemble(asked, model="gpt-4o", strategy=SEARCHING, deadline=None)
    assert "user (outdated since 2024-04-30: home): I live in Berlin." in context.added
    assert "user: I moved to Paris." in context.added
    assert "user.home: Berlin" not in context.added
    earlier = await agent.assemble(asked, model="gpt-4o", at=MARCH + timedelta(days=9), strategy=SEARCHING, deadline=None)
    assert "user: I live in Berlin." in earlier.added
    verbose = await agent.assemble(asked, model="gpt-4o", strategy="verbose", deadline=None)
    assert 'outdated_since="2024-04-30T09:00Z" outdated="home" score=' in verbose.added


@pytest.mark.parametrize("way", ["argument", "settings"])
async def test_extraction_can_be_switched_off(tmp_path: Path, way: str) -> None:
    """By the argument of `open`, or by the settings."""
    file = tmp_path / "germane.toml"
    file.write_text("[germane]\nextraction = false\n")
    opened = Germane.open(":memory:", extraction=False) if way == "argument" else Germane.open(":memory:", settings=file)
    async with opened as germane:
        assert (await germane.agent().record([user("I live in Berlin.")], session="s1")).extracted == ()


def test_a_switch_that_is_no_switch_is_refused() -> None:
    with pytest.raises(InvalidInput, match="extraction must be true or false, not 'no'"):
        Germane.open(":memory:", extraction="no")  # type: ignore[arg-type]
