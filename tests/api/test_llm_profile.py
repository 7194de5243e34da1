"""The profile with a language model: it writes lines in place of others, and reads what has ended."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from germane import Agent
from germane.kinds.events.reads import PutReplacement
from germane.models.llm_endpoints import ChatCompletions
from germane.types.reports import ExtractionRun
from germane_testing.builders import writing
from germane_testing.provider import answers, local_provider
from germane_testing.time_warp import Ticking
from support.llm_store import Opening, opening_in, standing_clock
from support.scripted_llm import ScriptedLLM, entry, listed

pytestmark = pytest.mark.requirement("PERSON-1", "PERSON-4", "MEM-7")

KNEE, STAIRS = "My left knee is bad since the fall.", "Please never suggest stairs, my knee is bad."
CAR, NO_CAR = "I don't own a car.", "We picked up our new car yesterday, a small red one!"
FOODS = [
    "mussels",
    "leeks",
    "celery",
    "walnuts",
    "lentils",
    "papaya",
    "rhubarb",
    "anchovies",
    "oats",
    "capers",
    "figs",
    "beetroot",
    "liver",
    "olives",
    "tofu",
    "okra",
    "coconut",
    "peanuts",
    "mango",
    "squid",
    "fennel",
    "radishes",
    "sprouts",
    "parsnips",
    "kale",
]
ONE_LINE = "Left knee is bad since the fall: never suggest stairs"

NOTHING = listed()
_KNOWN = re.compile(r'^\{"known": .*\}$', re.MULTILINE)


@pytest.fixture
def time() -> Ticking:
    return standing_clock()


@pytest.fixture
def opening(tmp_path: Path, time: Ticking) -> Opening:
    return opening_in(tmp_path, time)


def known_in(prompt: str) -> dict[str, Mapping[str, Any]]:
    """What a prompt says is known, by its text."""
    return {one["text"]: one for one in map(json.loads, _KNOWN.findall(prompt))}


def answering(
    *memories: tuple[Mapping[str, Any], Sequence[str]], ended: Sequence[tuple[str, str, str]] = ()
) -> Callable[[str], Awaitable[str]]:
    """An answer with memories, each in place of the known things of these texts, and with endings: the text of what has ended,
    the sentence that says so, and the name of its message."""

    async def answer(prompt: str) -> str:
        known = known_in(prompt)
        lines = [{**one, "always": True, "replaces": [known[text]["known"] for text in texts]} for one, texts in memories]
        gone = [{"known": [known[text]["known"]], "text": said, "sources": [source]} for text, said, source in ended]
        return json.dumps({"memories": lines, "ended": gone})

    return answer


async def extracted(agent: Agent, time: Ticking, *texts: str) -> ExtractionRun:
    """Has a session of these messages recorded, and read by the model; one that begins with "A: " is the assistant's."""
    session = f"{time.clock.now():%H:%M}"
    roles = ["assistant" if text.startswith("A: ") else "user" for text in texts]
    messages = [{"role": role, "content": text.removeprefix("A: ")} for role, text in zip(roles, texts, strict=True)]
    await agent.record(messages, session=session)
    time.advance(timedelta(minutes=10))
    return await agent.extract(session=session)


async def lines(agent: Agent) -> list[str]:
    return [line.text for line in (await agent.profile()).lines]


AGAIN = "My left knee is bad since the fall, never suggest stairs"


@asynccontextmanager
async def one_line(opening: Opening, time: Ticking, *script: Any) -> AsyncIterator[Agent]:
    """An agent whose profile has one line of a model's in place of what was said on two days."""
    async with opening(ScriptedLLM(NOTHING, answering((entry(ONE_LINE), [KNEE, AGAIN])), *script)) as germane:
        agent = germane.agent("a", user="ana")
        await extracted(agent, time, KNEE)
        assert await lines(agent) == [KNEE]
        run = await extracted(agent, time, AGAIN)
        assert (run.memories, run.rejected) == (1, 0)
        assert await lines(agent) == [ONE_LINE]
        yield agent


async def test_a_model_writes_one_line_in_place_of_several(time: Ticking, tmp_path: Path) -> None:
    """Over the wire, in the call that extracts; the line says where it comes from, and the others why they don't stand."""
    async with local_provider() as server:
        llm = ChatCompletions(f"{server.url}/v1", "m", "key")
        async with opening_in(tmp_path, time)(llm) as germane:
            agent = germane.agent("a", user="ana")
            line = entry(ONE_LINE, "m1", "m2") | {"always": True, "replaces": ["k1", "k2"]}
            server.rule = answers(json.dumps({"memories": [line], "ended": []}))
            run = await extracted(agent, time, KNEE, STAIRS)
            view = await agent.profile()
        await llm.close()
    assert (run.calls, run.messages, run.memories, run.ended, run.rejected) == (1, 2, 1, 0, 0)
    (asked,) = server.bodies
    assert asked["response_format"]["json_schema"]["strict"] is True
    known = known_in(asked["messages"][-1]["content"])
    assert {text: one["line"] for text, one in known.items()} == {KNEE: True, STAIRS: True}
    assert [(line.text, line.why) for line in view.lines] == [
        (ONE_LINE, "preference, found by a language model, in place of 2 lines")
    ]
    assert {line.text: line.reason for line in view.left_out} == {KNEE: "duplicate", STAIRS: "duplicate"}


async def test_what_has_ended_leaves_the_profile(opening: Opening, time: Ticking) -> None:
    """A clause that the user's own words end is no line any more, and the message is marked wherever it is shown."""
    llm = ScriptedLLM(NOTHING, answering(ended=[(CAR, "We picked up our new car", "m1")]))
    async with opening(llm) as germane:
        agent = germane.agent("a", user="ana")
        await extracted(agent, time, CAR)
        assert await lines(agent) == [CAR]
        run = await extracted(agent, time, NO_CAR)
        assert (run.ended, run.rejected) == (1, 0)
        assert CAR not in await lines(agent)
        asked = [{"role": "user", "content": "do I own a car?"}]
        context = await agent.assemble(asked, model="gpt-4o", session="third", deadline=None)
    assert "outdated" in context.added
    assert "new car" in context.added


async def test_a_memory_ends_and_what_was_stated_waits_for_a_person(opening: Opening, time: Ticking) -> None:
    """As where rules find the ending: the versions have what ended, and a conflict stands beside what was stated on purpose."""
    bus, closed = "I take the bus to work", "they closed the bus line"
    llm = ScriptedLLM(listed(entry(bus)), answering(ended=[(bus, closed, "m1"), ("takes the bus", closed, "m1")]))
    async with opening(llm) as germane:
        agent = germane.agent("a", user="ana")
        await extracted(agent, time, bus)
        (memory,) = (await agent.memories.list(limit=9)).memories
        stated = await agent.remember("takes the bus", kind="preference")
        assert (await extracted(agent, time, f"Oh no, {closed}!")).ended == 2
        held = {one.text: one for one in (await agent.memories.list(limit=9)).memories if one.valid_to is None}
        versions = await agent.memories.versions(memory.id)
        review = await agent.memories.review()
    assert held.keys() == {stated.text, closed}
    assert [one.text for one in versions] == [bus, closed]
    assert held[closed].derived_from != memory.derived_from
    assert [conflict.reason for conflict in review] == ["ended"]


@pytest.mark.parametrize(
    "text",
    [
        "Look what she wrote:\n> We picked up our new car yesterday",
        "A: We picked up our new car yesterday, as you said.",
        "How are you?",
    ],
)
async def test_only_the_users_own_words_end_something(opening: Opening, time: Ticking, text: str) -> None:
    """Not a quotation, an assistant, or words that nobody said: the entry is rejected."""
    llm = ScriptedLLM(NOTHING, answering(ended=[(CAR, "We picked up our new car", "m2")]))
    async with opening(llm) as germane:
        agent = germane.agent("a", user="ana")
        await extracted(agent, time, CAR)
        run = await extracted(agent, time, "What a day.", text)
        assert (run.ended, run.rejected) == (0, 1)
        assert CAR in await lines(agent)


async def test_nothing_ends_before_it_was_said(opening: Opening, time: Ticking) -> None:
    """A conversation that is read late says nothing about what was said after it, or in itself."""
    late = answering(ended=[(CAR, "We picked up our new car", "m1")])
    async with opening(ScriptedLLM(late)) as germane:
        agent = germane.agent("a", user="ana")
        await agent.record([{"role": "user", "content": NO_CAR}], session="early")
        time.advance(timedelta(minutes=10))
        await agent.record([{"role": "user", "content": CAR}], session="late")
        time.advance(timedelta(minutes=10))
        run = await agent.extract(session="early")
        assert (run.ended, run.rejected) == (0, 1)
        assert CAR in await lines(agent)


async def test_a_line_falls_with_a_part_that_ends(opening: Opening, time: Ticking) -> None:
    """Whoever found that it has ended; what else the line was made of stands by itself again."""
    async with one_line(opening, time, NOTHING) as agent:
        await extracted(agent, time, "My knee is fine again, at last")
        newest, _, oldest = (await agent.messages()).messages
        scoped = agent._parts.store.within(agent.scope)
        await scoped.commit(writing(PutReplacement(older=oldest.id, newer=newest.id)))
        assert ONE_LINE not in await lines(agent)
        assert AGAIN in await lines(agent)
        assert KNEE not in await lines(agent)


async def test_a_line_ends_with_all_that_it_is_made_of(opening: Opening, time: Ticking) -> None:
    """The words in whose place it stands don't come back when a model says that it has ended."""
    end = answering(ended=[(ONE_LINE, "knee is fine again", "m1")])
    async with one_line(opening, time, end) as agent:
        assert (await extracted(agent, time, "My knee is fine again, at last")).ended == 1
        assert not any("stairs" in line or "fall" in line for line in await lines(agent))


async def test_memories_are_replaced_and_end_as_clauses_do(opening: Opening, time: Ticking) -> None:
    """One memory in place of two; when one of them is forgotten or ended, it goes, and the other one stands again."""
    salt, pepper, both = "never any salt", "never any pepper", "never any salt or pepper"
    merge = answering((entry(both), [salt, pepper]))
    llm = ScriptedLLM(listed(entry(salt), entry(pepper)), merge, answering(ended=[(both, "they are fine", "m1")]))
    async with opening(llm) as germane:
        agent = germane.agent("a", user="ana")
        await extracted(agent, time, f"For me {salt} please, and {pepper}.")
        await extracted(agent, time, f"As I said, {both}")
        assert any(both in line for line in await lines(agent))
        assert (await extracted(agent, time, "By now they are fine, both of them")).ended == 1
        assert not any(word in line for line in await lines(agent) for word in (salt, pepper, both))
        held = {memory.text for memory in (await agent.memories.list(limit=9)).memories if memory.valid_to is None}
        assert held == {"they are fine"}


async def test_forgetting_a_memory_forgets_what_stands_in_its_place(opening: Opening, time: Ticking) -> None:
    """Its words would be shown still; the others stand by themselves again."""
    salt, pepper, both = "never any salt", "never any pepper", "never any salt or pepper"
    llm = ScriptedLLM(listed(entry(salt), entry(pepper)), answering((entry(both), [salt, pepper])))
    async with opening(llm) as germane:
        agent = germane.agent("a", user="ana")
        await extracted(agent, time, f"For me {salt} please, and {pepper}.")
        await extracted(agent, time, "As I said, never any of the two, salt or pepper")
        held = {memory.text: memory.id for memory in (await agent.memories.list(limit=9)).memories}
        assert held.keys() == {salt, pepper, both}
        await agent.forget(ids=[held[salt]])
        assert [memory.text for memory in (await agent.memories.list(limit=9)).memories] == [pepper]


async def test_forgetting_a_part_forgets_the_line(opening: Opening, time: Ticking) -> None:
    """A text that was made of a message goes with it."""
    async with one_line(opening, time) as agent:
        first = (await agent.messages()).messages[-1]
        assert first.text == KNEE
        await agent.forget(ids=[first.id])
        assert not (await agent.memories.list(limit=9)).memories
        assert await lines(agent) == [AGAIN]


async def test_hiding_and_pinning_a_part(opening: Opening, time: Ticking) -> None:
    """Nobody who hides a line wants it back in other words; a pinned line stands as it was said."""
    async with one_line(opening, time) as agent:
        part = next(line for line in (await agent.profile()).left_out if line.text == KNEE)
        await agent.mark_line(part.id, "hide")
        assert ONE_LINE not in await lines(agent)
        assert KNEE not in await lines(agent)
        await agent.mark_line(part.id, "pin")
        assert (await lines(agent))[0] == KNEE
        assert ONE_LINE not in await lines(agent)
        await agent.mark_line(part.id, None)
        assert await lines(agent) == [ONE_LINE]


async def test_hiding_the_line_hides_its_parts(opening: Opening, time: Ticking) -> None:
    async with one_line(opening, time) as agent:
        (line,) = (await agent.profile()).lines
        await agent.mark_line(line.id, "hide")
        assert await lines(agent) == []


async def test_what_is_found_when_it_is_asked_for_is_no_line(opening: Opening, time: Ticking) -> None:
    """The model says which memories stand always; the others are searched for."""
    tea = entry("likes green tea") | {"always": False}
    async with opening(ScriptedLLM(listed(tea, entry("takes no sugar", "m2") | {"always": True}))) as germane:
        agent = germane.agent("a", user="ana")
        await extracted(agent, time, "Green tea is what I like.", "I take no sugar in anything.")
        shown = await lines(agent)
        held = [memory.text for memory in (await agent.memories.list(limit=9)).memories]
    assert not any("likes green tea" in line for line in shown)
    assert "takes no sugar" in shown
    assert sorted(held) == ["likes green tea", "takes no sugar"]


async def test_nothing_of_others_and_nothing_sensitive_is_sent(opening: Opening, time: Ticking) -> None:
    """Not another user's lines, an agent-wide instruction, an id, or what is sensitive; and no more than twenty lines."""
    llm = ScriptedLLM()
    async with opening(llm) as germane:
        agent = germane.agent("a", user="ana")
        await germane.agent("a").remember("Quote prices with tax", kind="behavior")
        await germane.agent("a", user="ben").record([{"role": "user", "content": "I have no car, ben"}], session="s")
        await agent.remember("allergic to latex", sensitivity="sensitive", kind="preference")
        for number, food in enumerate(FOODS):
            await agent.record([{"role": "user", "content": f"I never eat {food}."}], session=f"s{number}")
        time.advance(timedelta(minutes=10))
        await agent.extract(session="s3")
        ids = [line.id for line in (await agent.profile()).lines]
    (prompt,) = llm.prompts
    assert len(known_in(prompt)) == 20
    assert [word for word in ("tax", "ben", "latex", *ids) if word in prompt] == []
