"""Continuity: the session's last exchange comes back to a request that lacks all of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from germane import Agent, Germane
from germane.kinds.events.value import Event
from germane.stages.gather.merge import RequestContents
from germane.stages.gather.messages import ContinuitySource
from germane.stages.gather.source import Skipped
from germane.text.normal import content_hash
from germane.types.message import Message, Role
from germane.types.query import Filters
from germane.types.strategy import SourcePlan
from germane_testing.builders import MOMENT, an_event, message
from support.gather_stubs import EventsStub, asking, scoped
from support.oracle import oracle
from support.stories import ask, texts

pytestmark = pytest.mark.requirement("AMOUNT-4")
PLAN = SourcePlan(name="continuity", limit=6)
POEM = {"role": "user", "content": "Write a poem about the sea."}
SEA = {"role": "assistant", "content": "The grey sea rolls."}


def said(*turns: tuple[str, str]) -> list[Event]:
    """Events of one session, newest first."""
    made: list[Any] = [
        an_event(text, role=role, created_at=MOMENT + timedelta(seconds=at), content_hash=content_hash(role, text))
        for at, (role, text) in enumerate(turns)
    ]
    return made[::-1]


TALK = said(("user", "one"), ("assistant", "two"), ("user", "three"), ("assistant", "four"), ("assistant", "five"))


async def found(*messages: Message, latest: list[Event] = TALK, plan: SourcePlan = PLAN, **fields: Any) -> list[str]:
    """Texts that come back, newest first; all of them are required."""
    source = ContinuitySource(scoped(events=EventsStub(latest=latest), session="s1"), RequestContents(messages))
    candidates = await source.gather(asking(**fields), plan)
    assert all(one.required and one.source == "continuity" for one in candidates)
    return [one.text for one in candidates]


async def test_the_exchange_goes_back_to_the_last_message_of_the_user() -> None:
    """No further, and no more messages than the limit."""
    assert await found(message("and now?")) == ["five", "four", "three"]
    assert await found(message("and now?"), plan=SourcePlan(name="continuity", limit=2)) == ["five", "four"]
    assert await found(message("and now?"), latest=[]) == []


@pytest.mark.parametrize("at", range(3))
async def test_a_request_that_holds_any_message_of_it_gets_none_back(at: int) -> None:
    """Its caller keeps the conversation."""
    role: Role = "user" if TALK[at].role == "user" else "assistant"
    assert await found(message(TALK[at].text, role), message("and now?")) == []


async def test_a_request_that_holds_older_messages_alone_gets_it_back() -> None:
    """What it needs is the last exchange."""
    assert await found(message("one"), message("two", "assistant"), message("and now?")) == ["five", "four", "three"]


async def test_a_newest_turn_that_was_recorded_first_does_not_count() -> None:
    """The exchange is the one before it."""
    now = said(("user", "three"), ("assistant", "four"), ("user", "and now?"))
    assert await found(message("and now?"), latest=now) == ["four", "three"]
    assert await found(message("and now?"), latest=now, plan=SourcePlan(name="continuity", limit=2)) == ["four", "three"]
    assert await found(message("four", "assistant"), message("and now?"), latest=now) == []


async def test_what_the_filters_exclude_does_not_come_back() -> None:
    """Nor a part of its exchange."""
    assert await found(message("and now?"), filters=Filters(exclude=frozenset({TALK[1].id}))) == []


async def test_without_a_session_there_is_none() -> None:
    with pytest.raises(Skipped, match="no_session"):
        await ContinuitySource(scoped(), RequestContents(())).gather(asking(), PLAN)


async def test_a_bare_follow_up_gets_the_exchange_and_nothing_else(agent: Agent) -> None:
    """Also where nothing stored is needed; the next request of another session gets nothing."""
    await agent.record(
        [{"role": "user", "content": "I adopted a greyhound."}, {"role": "assistant", "content": "Nice."}], session="s0"
    )
    await agent.record([POEM, SEA], session="s1")
    context = await ask(agent, "make it shorter", session="s1")
    assert texts(context) == [POEM["content"], SEA["content"]]
    assert {item.source for item in context.items} == {"continuity"}
    assert (await ask(agent, "make it shorter", session="s2")).items == ()


async def test_a_session_of_the_same_name_is_each_tenants_own(germane: Germane) -> None:
    """Another user, another agent, another org."""
    await germane.agent("support", org="acme", user="ann").record([POEM, SEA], session="s1")
    others = [("support", "acme", "bo"), ("sales", "acme", "ann"), ("support", "other", "ann"), ("support", "acme", None)]
    for name, org, user in others:
        context = await ask(germane.agent(name, org=org, user=user), "make it shorter", session="s1")
        assert (context.items, context.added) == ((), "")
    own = germane.agent("support", org="acme", user="ann")
    assert len((await ask(own, "make it shorter", session="s1")).items) == 2


async def test_a_long_answer_is_cut_to_four_hundred_tokens(agent: Agent) -> None:
    """Each message by itself; the cap of the call still holds."""
    long = {"role": "assistant", "content": " ".join(f"Line {number} of the long poem about the sea." for number in range(400))}
    await agent.record([POEM, long], session="s1")
    context = await ask(agent, "make it shorter", session="s1")
    short, cut = context.items
    assert (short.text, short.share) == (POEM["content"], 1.0)
    assert 0 < cut.share < 1
    assert 200 < oracle("o200k")(cut.text) <= cut.tokens <= 400
    narrow = await ask(agent, "make it shorter", session="s1", max_tokens=120)
    assert narrow.metadata.total_tokens_injected <= 120
