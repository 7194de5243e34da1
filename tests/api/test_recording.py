"""What is kept of a conversation, what comes of it, and what germane itself said is no part of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from germane import Agent, Conflict, Germane, InvalidInput, Message
from germane.api.strategies import VERBOSE, derive
from support.calendar import Calendar, Opening
from support.stories import ASKED, MODELS, TALK, ask, ids, texts, told

SPLIT = derive(VERBOSE, {"name": "split", "placement": "split"})


async def stored(agent: Agent, session: str | None = None) -> list[str]:
    """Everything kept of conversations, by session."""
    kept = [one async for one in agent.export() if one["type"] == "message"]
    return [one["content"] for one in kept if session in (None, one["session"])]


@pytest.mark.requirement("INJECT-5")
@pytest.mark.parametrize("later", ["s2", None], ids=["session", "no session"])
@pytest.mark.parametrize("strategy", ["default", "verbose", "compact", SPLIT], ids=["default", "verbose", "compact", "split"])
@pytest.mark.parametrize("provider", MODELS)
async def test_what_germane_injected_is_not_recorded(agent: Agent, provider: str, strategy: Any, later: str | None) -> None:
    """The messages that came back from it are kept as the caller said them, also where the question named no session."""
    await agent.directive("Answer in one sentence.")
    await told(agent)
    context = await agent.assemble(ASKED, model=MODELS[provider], strategy=strategy, session=later, deadline=None)
    assert "Biscuit" in context.added
    reply = {"openai": "content", "anthropic": "content", "gemini": "parts"}[provider]
    said: Any = "Biscuit." if reply == "content" else [{"text": "Biscuit."}]
    await agent.record(
        [*context.messages, {"role": "model" if provider == "gemini" else "assistant", reply: said}], session="s2"
    )
    assert await stored(agent, "s2") == [ASKED[0]["content"], "Biscuit."]


async def test_a_conversation_sent_again_from_its_beginning_is_kept_once(agent: Agent) -> None:
    """Each turn the whole of it, as clients do; "ok" twice is two messages."""
    talk = [
        *({"role": "user", "content": "ok"}, {"role": "assistant", "content": "fine"}),
        *({"role": "user", "content": "ok"}, {"role": "assistant", "content": "fine"}, {"role": "user", "content": "bye"}),
    ]
    for end in range(1, len(talk) + 1):
        outcome = await agent.record(talk[:end], session="s1")
        assert (len(outcome.added), outcome.skipped) == (1, end - 1)
    assert await stored(agent) == [one["content"] for one in talk]


async def test_a_conversation_with_ids_is_kept_once_wherever_it_is_resumed(agent: Agent) -> None:
    """By id within the session; another session is another conversation."""
    await told(agent)
    assert (await agent.record(TALK[2:], session="s1")).added == ()
    assert len((await agent.record([*TALK[3:], {"id": "m5", "role": "user", "content": "Thanks"}], session="s1")).added) == 1
    assert len((await agent.record(TALK[:1], session="s3")).added) == 1


async def test_a_conflict_leaves_nothing_half_written(agent: Agent) -> None:
    """Not even what came before it in the list."""
    await told(agent)
    before = await stored(agent)
    changed = [{"id": "m0", "role": "user", "content": "before"}, {**TALK[1], "content": "changed"}, {"id": "m9", **ASKED[0]}]
    with pytest.raises(Conflict, match="m2"):
        await agent.record(changed, session="s1")
    assert await stored(agent) == before
    assert "changed" not in texts(await ask(agent, "changed before"))


async def test_what_is_kept_of_a_message_is_told(agent: Agent) -> None:
    """Id, name, time, channel and the kind of source."""
    said = Message.of("user", "My greyhound", id="m1", name="Caroline", created_at=None)
    await agent.record([said], session="s1", channel="web", source_kind="import")
    (item,) = (await ask(agent)).items
    told = item.provenance
    assert (told.message_id, told.channel, told.source_kind, told.session) == ("m1", "web", "import", "s1")
    assert item.scored.candidate.speaker == "Caroline"


@pytest.mark.requirement("MEM-5")
@pytest.mark.parametrize("strategy", ["default", "verbose", "compact", "composite"])
async def test_feedback_moves_the_rank(agent: Agent, strategy: str) -> None:
    """Of two alike, the one that helped goes first; and the other way when it did harm."""
    one = await agent.remember("Biscuit likes the beach on Mondays")
    two = await agent.remember("Biscuit likes the beach on Tuesdays")
    for _ in range(6):
        await agent.feedback([one.id], helpful=True)
        await agent.feedback([two.id], helpful=False)
    assert [item.id for item in (await ask(agent, "Biscuit beach?", strategy=strategy, session=None)).items] == [one.id, two.id]
    for _ in range(20):
        await agent.feedback([two.id], helpful=True)
        await agent.feedback([one.id], helpful=False)
    assert [item.id for item in (await ask(agent, "Biscuit beach?", strategy=strategy, session=None)).items] == [two.id, one.id]


@pytest.mark.requirement("MEM-5")
async def test_retrievals_rise_only_for_what_was_injected_and_after_the_answer(opening: Opening) -> None:
    """Not for what recall found nor what stayed out; written by the time it is closed; the content's revision stays."""
    async with opening() as germane:
        agent = germane.agent(user="caroline")
        injected = await agent.remember("Biscuit likes the beach")
        outside = await agent.remember("Biscuit " + "likes a very long walk along the river " * 40)
        await agent.search("Biscuit")
        revision = await agent._scoped(agent.scope).revision()
        contexts = [await ask(agent, "Biscuit beach?", max_tokens=120, strategy="verbose") for _ in range(3)]
        assert all([item.id for item in context.items] == [injected.id] for context in contexts)
        assert (await agent.memories.get(injected.id)).retrieval_count == 0
    async with opening() as germane:
        agent = germane.agent(user="caroline")
        assert (await agent.memories.get(injected.id)).retrieval_count == 3
        assert (await agent.memories.get(outside.id)).retrieval_count == 0
        assert await agent._scoped(agent.scope).revision() == revision


@pytest.mark.requirement("GATHER-2a")
async def test_what_the_request_holds_is_never_a_candidate_and_the_rest_of_its_session_is(agent: Agent) -> None:
    """By id, else by role and content."""
    await told(agent)
    bare = [{"role": one["role"], "content": one["content"]} for one in TALK]
    for held in (TALK[2:], bare[2:]):
        context = await agent.assemble([*held, *ASKED], model="gpt-4o", session="s1", strategy="compact", deadline=None)
        assert set(ids(context)) == {"m1", "m2"}
        assert {one.id for one in context.trace.left_out} == set()
        assert any("history" in (item.source, *item.scored.candidate.also) for item in context.items)
    for strategy in ("compact", "default"):
        context = await agent.assemble([*TALK, *ASKED], model="gpt-4o", session="s1", strategy=strategy, deadline=None)
        assert ids(context) == []


@pytest.mark.requirement("GATHER-2a")
async def test_history_is_of_the_running_session_only(agent: Agent) -> None:
    """And has nothing to do without one, which takes nothing away."""
    await told(agent)
    context = await ask(agent, session="s2", strategy="compact")
    assert not any("history" in (item.source, *item.scored.candidate.also) for item in context.items)
    context = await ask(agent, session=None, strategy="compact")
    assert {report.name: report.reason for report in context.metadata.sources}["history"] == "no_session"
    assert context.metadata.degradation_level == 0


@pytest.mark.requirement("OPS-2")
@pytest.mark.parametrize("deadline", [None, 0.5])
async def test_a_directive_is_visible_at_once_and_so_are_its_changes(agent: Agent, deadline: float | None) -> None:
    """Set, replaced, removed."""
    await agent.warm()
    assert "<directive" not in (await ask(agent, deadline=deadline)).added
    for text in ("Be brief.", "Be kind.", ""):
        assert await agent.directive(text) == text
        context = await ask(agent, deadline=deadline)
        assert text in context.added
        assert bool(context.added) == context.metadata.directive_injected == bool(text)


async def test_a_users_directive_goes_before_the_agents(germane: Germane) -> None:
    """And when it is removed the agent's holds again."""
    wide, own = germane.agent("support"), germane.agent("support", user="caroline")
    await wide.directive("For everybody.")
    assert await own.directive() == "For everybody."
    await own.directive("For Caroline.")
    assert await germane.agent("support", user="ben").directive() == "For everybody."
    assert "For Caroline." in (await ask(own)).added
    assert await own.directive("") == "For everybody."


def spoken(count: int, start: int = 0) -> list[dict[str, Any]]:
    return [{"role": "assistant" if at % 2 else "user", "content": f"turn {at} of many"} for at in range(start, start + count)]


async def begun(agent: Agent) -> None:
    """Returns when something of a recording is kept."""
    while not await stored(agent):
        pass


@pytest.mark.requirement("LIMITS-3")
async def test_a_long_conversation_is_kept_in_slices_in_order(agent: Agent, calendar: Calendar) -> None:
    """Sent again, and with more: only what is new is added, as for a short one."""
    talk = spoken(700)
    assert len((await agent.record(talk, session="s1")).added) == 700
    calendar.advance(seconds=1)
    assert (await agent.record(talk, session="s1")).added == ()
    outcome = await agent.record([*talk, {"role": "user", "content": "bye"}], session="s1")
    assert (len(outcome.added), outcome.skipped) == (1, 700)
    assert await stored(agent) == [one["content"] for one in (*talk, {"content": "bye"})]


async def test_a_long_text_is_found_by_what_stands_in_its_middle(agent: Agent) -> None:
    """It is analysed in parts, and whole."""
    text = " ".join(f"filler{at}" for at in range(20_000))
    await agent.record([{"role": "user", "content": f"{text} the zebra crossed {text}"}], session="s1")
    found = await agent.search("Which zebra crossed?")
    assert [one.candidate.category for one in found] == ["conversation"]


@pytest.mark.requirement("LIMITS-3")
async def test_others_write_between_the_slices_of_a_long_conversation(germane: Germane) -> None:
    """A short call that comes after a long one is answered before it."""
    long, short = germane.agent("a", org="one"), germane.agent("a", org="two")
    task = asyncio.ensure_future(long.record(spoken(3000), session="s"))
    await asyncio.sleep(0)
    await short.record(spoken(1), session="s")
    assert not task.done()
    assert len((await task).added) == 3000


async def test_two_calls_that_send_the_same_long_conversation_keep_it_once(agent: Agent) -> None:
    """They see one another's slices."""
    talk = spoken(1000)
    outcomes = await asyncio.gather(agent.record(talk, session="s1"), agent.record(talk, session="s1"))
    assert await stored(agent) == [one["content"] for one in talk]
    assert sum(len(outcome.added) for outcome in outcomes) == 1000


async def test_what_another_call_says_between_the_slices_is_kept_too(agent: Agent) -> None:
    """And nothing twice."""
    talk = spoken(1000)
    task = asyncio.ensure_future(agent.record(talk, session="s1"))
    await begun(agent)
    await agent.record([{"role": "user", "content": "between"}], session="s1")
    await task
    assert sorted(await stored(agent)) == sorted([*(one["content"] for one in talk), "between"])


async def test_an_interrupted_long_recording_is_completed_by_the_same_call(agent: Agent, calendar: Calendar) -> None:
    """Each slice is durable by itself."""
    talk = spoken(2000)
    task = asyncio.ensure_future(agent.record(talk, session="s1"))
    await begun(agent)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert 0 < len(await stored(agent)) < 2000
    calendar.advance(seconds=1)
    await agent.record(talk, session="s1")
    assert await stored(agent) == [one["content"] for one in talk]


async def test_a_conflict_in_a_long_conversation_writes_nothing(agent: Agent) -> None:
    await agent.record([{"role": "user", "content": "kept", "id": "x"}], session="s1")
    with pytest.raises(Conflict):
        await agent.record([*spoken(500), {"role": "user", "content": "other", "id": "x"}], session="s1")
    assert await stored(agent) == ["kept"]


async def test_a_message_that_cannot_be_read_is_named_by_its_place_in_a_long_list(agent: Agent) -> None:
    with pytest.raises(InvalidInput, match=r"messages\[700\]"):
        await agent.record([*spoken(700), {"role": "nobody", "content": "?"}], session="s1")


@pytest.mark.parametrize(("count", "size"), [(3, 10), (3, 40_000), (300, 10)], ids=["short", "large", "long"])
async def test_each_message_is_read_once(agent: Agent, count: int, size: int) -> None:
    """A list may make its messages when they are asked for, as the service's does."""

    class Made(Sequence[dict[str, Any]]):
        def __init__(self) -> None:
            self.made: list[int] = []

        def __len__(self) -> int:
            return count

        def __getitem__(self, at: Any) -> Any:
            if isinstance(at, slice):
                return [self[place] for place in range(*at.indices(count))]
            if at >= count:
                raise IndexError
            self.made.append(at)
            return {"role": "user", "content": f"{at} " * (size // 2)}

    messages = Made()
    assert len((await agent.record(messages, session="s1")).added) == count
    assert messages.made == list(range(count))
