"""A caller's fault is not the store's: what can't be answered closes no source, and one org's trouble is no other's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from germane import Filters, InvalidInput
from germane.api.strategies import DEFAULT
from germane.engine.engine import Engine
from germane.stores.contract import ScopedStore
from germane.types.context import Context
from germane.types.scope import Scope
from germane_testing.builders import Hashed
from germane_testing.faults import Fault, Hang, Raise, faulty
from germane_testing.time_warp import warped
from support.calendar import Opening
from support.scoped_stores import Kept, engine, keep_result, request, scoped

STORE = (
    *(
        "memories.search",
        "ask.PinnedMemories",
        "events.search",
        "ask.RecentEvents",
        "events.speakers",
        "ask.CurrentDirective",
        "ask.AllowedIds",
    ),
    *("ask.StandingBlocks", "blocks.search", "revision", "ask.ListMemories", "ask.TellingClauses", "ask.LineMarks"),
)
ASKED = [{"role": "user", "content": "What?"}]
NEIGHBOUR = Kept(scope=Scope(org="brill", user="bo"))
BAD: list[Callable[[], dict[str, Any]]] = [
    lambda: {"filters": Filters(tags=["x"] * 32_767)},  # type: ignore[arg-type]
    lambda: {"filters": Filters(kinds=["\ud800"])},  # type: ignore[arg-type]
    lambda: {"filters": Filters(event_types=["x"] * 40_000)},  # type: ignore[arg-type]
    lambda: {"filters": Filters(sensitivities=["public"] * 40_000)},  # type: ignore[arg-type]
    lambda: {"strategy": replace(DEFAULT, tags=("x",) * 40_000)},
    lambda: {"strategy": replace(DEFAULT, fact_keys=(5,))},  # type: ignore[arg-type]
    lambda: {"filters": Filters(since=datetime(2024, 5, 2, tzinfo=UTC), until=datetime(2024, 5, 1, tzinfo=UTC))},
]
"""Each reached a source once, and raised there."""


async def asked(germane: Engine, stored: ScopedStore, **fields: Any) -> Context:
    """The same question never twice, and each with a result that is kept, so that the store's revision is asked for."""
    question = request(f"question {id(fields)} {asyncio.get_running_loop().time()}?", **{"scope": stored.scope} | fields)
    keep_result(germane, question)
    return await germane.assemble(question, stored, DEFAULT)


def failing(fault: Fault, org: str, user: str, *methods: str) -> ScopedStore:
    return faulty(Kept(scope=Scope(org=org, user=user)), fault, *(methods or STORE))


def troubled(germane: Engine) -> list[str]:
    return [one.source for one in germane.state().breakers if one.condition != "closed"]


@pytest.mark.requirement("ENGINE-4", "SCOPE-2")
@warped
async def test_requests_that_cannot_be_answered_close_nothing_for_anybody() -> None:
    """However many, of however many users: 0 of 120 answers of a neighbour are without their sources."""
    germane, full = engine(), []
    for number in range(120):
        bad = failing(Raise(InvalidInput("too much")), "mallory", f"user {number % 7}")
        assert (await asked(germane, bad)).metadata.degradation_level > 0
        full.append((await asked(germane, NEIGHBOUR)).metadata.degradation_level == 0)
    assert full == [True] * 120
    for number in range(40):  # nor without anybody else's success in between
        await asked(germane, failing(Raise(InvalidInput("too much")), "mallory", f"user {number}"))
    assert troubled(germane) == []
    sound = Kept(scope=Scope(org="mallory", user="user 1"))
    assert (await asked(germane, sound)).metadata.degradation_level == 0


@pytest.mark.requirement("ENGINE-4")
@warped
async def test_nor_do_they_speak_against_the_embedder() -> None:
    """It embeds the next question."""
    germane = engine(faulty(Hashed(quick=False), Raise(InvalidInput("too long")), "embed"))
    for _ in range(20):
        await asked(germane, scoped())
    assert troubled(germane) == []


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize("method", ["ask.AllowedIds", "revision"])
@warped
async def test_nor_against_the_gate_and_the_revision(method: str) -> None:
    """The small questions of an assembly are under the same rule; what the gate can't tell isn't allowed."""
    germane = engine()
    for _ in range(20):
        context = await asked(germane, failing(Raise(InvalidInput("too much")), "mallory", "ann", method))
        assert bool(context.items) == (method != "ask.AllowedIds")
    assert troubled(germane) == []


@pytest.mark.requirement("ENGINE-4", "SCOPE-2")
@pytest.mark.parametrize("bad", BAD)
async def test_a_bad_request_is_refused_before_it_reaches_a_source(opening: Opening, bad: Any) -> None:
    """Ten of three users, who then have all their sources."""
    async with opening() as germane:
        agents = [germane.agent(org="mallory", user=user) for user in ("ann", "bo", "cy")]
        for number in range(10):
            with pytest.raises(InvalidInput):
                await agents[number % 3].assemble(ASKED, model="gpt-4o", deadline=None, **bad())
            with suppress(InvalidInput):
                await agents[number % 3].search("What?", **bad())
        assert not [one for one in germane.state.breakers if one.condition != "closed"]


@pytest.mark.requirement("ENGINE-4", "SCOPE-2")
@pytest.mark.parametrize("fault", [Raise(OSError), Hang()], ids=repr)
@warped
async def test_an_org_whose_every_user_fails_takes_no_source_from_another(fault: Fault) -> None:
    """However many users it makes up, with nobody else's success in between."""
    germane = engine()
    await asked(germane, NEIGHBOUR)
    for number in range(60):
        await asked(germane, failing(fault, "mallory", f"user {number}"))
    context = await asked(germane, failing(fault, "mallory", "one more"))
    assert context.metadata.fallback_reason == "assembly_error:BreakerOpen"
    context = await asked(germane, NEIGHBOUR)
    assert (context.metadata.degradation_level, context.metadata.fallback_reason) == (0, "")


@pytest.mark.requirement("ENGINE-4")
@warped
async def test_a_store_that_hangs_for_one_org_costs_the_second_two_requests_and_the_third_none() -> None:
    """Time-outs as well as faults: by then it has been silent for long enough."""
    germane, loop = engine(), asyncio.get_running_loop()
    for number in range(24):
        await asked(germane, failing(Hang(), "acme", f"user {number}"))
    waited = []
    for org, user in (("brill", "a"), ("brill", "b"), ("brill", "c"), ("corp", "a"), ("duff", "a")):
        began = loop.time()
        await asked(germane, failing(Hang(), org, user))
        waited.append(loop.time() > began)
    assert waited == [True, True, False, False, False]
