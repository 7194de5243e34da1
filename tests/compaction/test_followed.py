"""A followed conversation: whatever happens to it between two calls, the plan is that of the conversation as it is now."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.compaction.conversation import FollowedConversation, plan_compaction
from germane.compaction.render import render
from germane.compaction.strategy import Summarise
from germane.integrations.compactor import compactable
from support.examples import examples
from support.heated_rooms import turns

pytestmark = pytest.mark.requirement("HIST-2", "HIST-5")

TALK = turns(60)

step = st.one_of(
    st.tuples(st.just("grow"), st.integers(1, 40)),
    st.tuples(st.just("cut"), st.integers(0, 120)),
    st.tuples(st.just("edit"), st.integers(0, 120)),
    st.tuples(st.just("take out"), st.integers(0, 120)),
    st.tuples(st.just("say again"), st.integers(0, 120)),
)


def changed(now: list[dict[str, Any]], what: str, number: int) -> list[dict[str, Any]]:
    place = number % max(1, len(now))
    match what:
        case "grow":
            return [*now, *TALK[len(now) : len(now) + number]]
        case "cut":
            return now[:place]
        case "edit":
            return [*now[:place], *({**one, "content": "Something else."} for one in now[place : place + 1]), *now[place + 1 :]]
        case "take out":
            return [*now[:place], *now[place + 1 :]]
    return [dict(one) for one in now]


@given(st.lists(step, min_size=1, max_size=6))
@examples(40)
def test_the_plan_is_that_of_a_new_one(steps: list[tuple[str, int]]) -> None:
    """Growing, cut, edited, with a message less, or in other objects with the same content."""
    followed: FollowedConversation | None = None
    now = TALK[:60]
    for what, number in [("say again", 0), *steps]:
        now = changed(now, what, number)
        given_now = compactable(
            now,
            model="gpt-4o",
            max_tokens=3_000,
            provider=None,
            system=None,
            tools=(),
            strategy=Summarise(),
            archive=None,
            low_water=0.5,
            max_messages=None,
            cite=True,
        )
        if followed is None:
            followed = FollowedConversation(given_now.terms)
        plan = followed.plan(given_now.raws, given_now.messages)
        assert plan is not None
        anew = plan_compaction(given_now.raws, given_now.messages, given_now.terms)
        made, fresh = render(plan, plan.entries), render(anew, anew.entries)
        assert (made.messages, made.tokens, list(made.entries)) == (fresh.messages, fresh.tokens, list(fresh.entries))
        assert all(any(one is raw for raw in now) for one in made.messages if one in now)
        assert (len(followed), followed.characters) == (len(now), sum(len(str(k) + v) for one in now for k, v in one.items()))


def test_a_plan_in_pieces_is_the_same_plan() -> None:
    """Each call goes on where the one before stopped, and gets at least one message further."""
    asked = compactable(
        TALK[:60],
        model="gpt-4o",
        max_tokens=3_000,
        provider=None,
        system=None,
        tools=(),
        strategy=Summarise(),
        archive=None,
        low_water=0.5,
        max_messages=None,
        cite=True,
    )
    followed, calls = FollowedConversation(asked.terms), 1
    while (made := followed.plan(asked.raws, asked.messages, pause=lambda: True)) is None:
        calls += 1
    assert calls == len(asked.messages)
    assert render(made) == render(plan_compaction(asked.raws, asked.messages, asked.terms))
