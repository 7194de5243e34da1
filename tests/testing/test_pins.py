"""Pins: checks of a context, and the messages of their failures."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from germane import Agent, Clock, Context, Germane, Strategy
from germane.api.strategies import COMPACT, VERBOSE, derive
from germane_testing.builders import MOMENT, Hashed
from germane_testing.pins import Pin, readable

SPLIT = derive(VERBOSE, {"name": "split", "placement": "split"})
XML = derive(VERBOSE, {"name": "xml", "details": ()})
TALK = [
    {"role": "user", "content": "Parcel 4711 came broken: the blue vase isn't whole.", "id": "m1", "created_at": MOMENT},
    {"role": "assistant", "content": "A new vase leaves on Monday.", "id": "m2", "created_at": MOMENT + timedelta(minutes=1)},
]
ASKED = {"role": "user", "content": "When does the new vase leave, and where is parcel 4711?"}


@pytest.fixture
async def agent() -> AsyncIterator[Agent]:
    async with Germane.open(":memory:", embedder=Hashed(), clock=Clock(now=lambda: MOMENT)) as germane:
        agent = germane.agent("support", user="caroline")
        await agent.directive("Be brief and kind.")
        await agent.record(TALK, session="monday")
        await agent.remember("Prefers e-mail to phone calls", kind="preference", pinned=True)
        yield agent


async def made(agent: Agent, *said: dict[str, Any], strategy: str | Strategy = "default", **more: Any) -> Context:
    given: dict[str, Any] = {"model": "gpt-4o", "at": MOMENT + timedelta(days=1), "deadline": None, "strategy": strategy}
    return await agent.assemble(said or [ASKED], **given | more)


@pytest.mark.requirement("EVAL-1")
async def test_what_is_so_can_be_said_in_one_line(agent: Agent) -> None:
    """Texts may be stored texts or the directive, and ids the caller's or germane's; each check returns the pin."""
    context = await made(agent)
    own = next(item.id for item in context.items if item.source != "messages")
    pin = Pin(context).includes("isn't whole", "Prefers e-mail", "Be brief", id="m2").includes(id=own)
    assert pin.excludes("birthday", id="m3").within(900).complete() is pin


@pytest.mark.requirement("EVAL-1")
async def test_of_what_is_missing_it_is_told_what_it_was_left_out_for(agent: Agent) -> None:
    """The message has reason, rank, score, source and cost from the trace."""
    context = await made(agent, strategy="verbose", max_tokens=140)
    with pytest.raises(AssertionError, match=r"'blue vase' is not in the context\n  left out for budget: #\d+ 0\.\d+ messages"):
        Pin(context).includes("blue vase")
    with pytest.raises(AssertionError, match=r"no item 'm1' is in the context\n  left out for budget"):
        Pin(context).includes(id="m1")


@pytest.mark.requirement("EVAL-1")
async def test_of_what_nobody_offered_that_is_told(agent: Agent) -> None:
    """The message points to what was recorded, not to the budget."""
    with pytest.raises(AssertionError, match=r"no source offered it; 3 items are in, 0 were left out"):
        Pin(await made(agent)).includes("red vase")


@pytest.mark.requirement("EVAL-1")
async def test_of_what_should_not_be_there_it_is_told_where_it_came_from(agent: Agent) -> None:
    context = await made(agent, strategy="compact")
    with pytest.raises(
        AssertionError, match=r"'4711' is in the context\n  a\d: #\d 0\.\d+ messages .Parcel 4711 .*, \d+ tokens"
    ):
        Pin(context).excludes("4711")
    with pytest.raises(AssertionError, match="the item 'm2' is in the context"):
        Pin(context).excludes(id="m2")
    with pytest.raises(AssertionError, match="in the directive or a header"):
        Pin(context).excludes("Be brief")


@pytest.mark.requirement("EVAL-1")
async def test_a_context_that_grew_too_big_names_its_dearest_items(agent: Agent) -> None:
    context = await made(agent)
    tokens = context.metadata.total_tokens_injected
    Pin(context).within(tokens)
    with pytest.raises(
        AssertionError, match=rf"takes {tokens} tokens, 10 more than {tokens - 10}\n  the most expensive items:\n  .*Parcel"
    ):
        Pin(context).within(tokens - 10)


@pytest.mark.requirement("EVAL-1", "INJECT-2")
async def test_a_prefix_that_stays_is_one_that_a_cache_can_keep(agent: Agent) -> None:
    """With `split` the stable text stands first and stays the same; otherwise the first message changes."""
    later = [ASKED, {"role": "assistant", "content": "On Monday."}, {"role": "user", "content": "Is the parcel lost?"}]
    for strategy, stays in ((SPLIT, True), (VERBOSE, False)):
        before = await made(agent, strategy=strategy)
        after = await made(agent, *later, strategy=strategy)
        if stays:
            Pin(after).keeps_prefix_of(before)
        else:
            with pytest.raises(AssertionError, match=r"the prefix ends in message 0\n  before: ….*\n  now:    …"):
                Pin(after).keeps_prefix_of(before)
    with pytest.raises(AssertionError, match="nothing stands before what changes"):
        Pin(after).keeps_prefix_of(await made(agent, strategy=VERBOSE, max_tokens=0))


async def test_a_context_that_is_not_whole_says_what_is_missing(agent: Agent) -> None:
    """A degraded context depends on the speed of the machine."""
    context = await made(agent, deadline=1e-9)
    with pytest.raises(AssertionError, match=r"the context is at L[23]\n  it fell back: assembly_timeout"):
        Pin(context).complete()


async def test_a_forgotten_await_is_named(agent: Agent) -> None:
    coroutine = made(agent)
    with pytest.raises(TypeError, match="not coroutine; is an `await` missing"):
        Pin(coroutine)
    coroutine.close()


@pytest.mark.requirement("EVAL-1")
@pytest.mark.parametrize("strategy", [VERBOSE, XML, COMPACT])
async def test_the_readable_text_is_the_same_in_another_store(agent: Agent, strategy: Strategy) -> None:
    """Nonce, germane's ids and scores don't change the text; the caller's ids and times do."""
    texts = {readable(await made(agent, strategy=strategy))}
    async with Germane.open(":memory:", embedder=Hashed(), clock=Clock(now=lambda: MOMENT)) as germane:
        other = germane.agent("support", user="caroline")
        await other.directive("Be brief and kind.")
        kept = await other.remember("Prefers e-mail to phone calls", kind="preference", pinned=True)
        await other.record(TALK, session="monday")
        await other.feedback([kept.id], helpful=True)
        texts.add(readable(await made(other, strategy=strategy)))
    (text,) = texts
    assert 'nonce="nonce"' in text
    assert "2026-03-10" in text
    assert "2026-03-10" not in readable(await made(agent, strategy=strategy), times=False)
    if strategy is VERBOSE:
        assert re.findall(r' id="(.*?)"', text) == ["…", "m1", "m2"]
    elif strategy is XML:
        assert re.findall(r' id="(.*?)"', text) == ["m", "a", "a"]
    else:
        assert "\n[a] user: Parcel" in text
