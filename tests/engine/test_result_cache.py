"""Outcomes of whole assemblies: what makes a request another one, and how long an outcome lasts."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import pytest

from germane.api.strategies import COMPACT, DEFAULT, derive
from germane.clock import Clock
from germane.engine.assembly import Deadline, Outcome
from germane.engine.breakers import Breakers, Guard, breaker_key
from germane.engine.result_cache import ResultCache
from germane.stages.gather.gather import Abandoned
from germane.types.message import Image, Message, Opaque, Text, ToolCall, ToolResult
from germane.types.query import Filters
from germane.types.request import Request
from germane.types.scope import Scope
from germane.types.strategy import Strategy
from germane_testing.builders import MOMENT, message
from germane_testing.faults import Garbage, Raise, faulty
from support.scoped_stores import scoped

TALK = (message("hello"), message("hi", "assistant"), message("what tea?"))
REQUEST = Request(scope=Scope(user="ann"), messages=TALK, raw=(), model="gpt-4o", provider="openai", at=MOMENT)
ONE, TWO = cast("Outcome", "one"), cast("Outcome", "two")


def key(request: Request = REQUEST, strategy: Strategy = DEFAULT) -> Hashable:
    return ResultCache().key(request, strategy)


def saying(*parts: Any, **fields: Any) -> Request:
    return replace(REQUEST, messages=(*TALK[:2], Message(role="user", parts=parts, **fields)))


CALL = {"id": "c1", "name": "tea"}
OTHERS = {
    "user": replace(REQUEST, scope=Scope(user="bo")),
    "org": replace(REQUEST, scope=Scope(org="other", user="ann")),
    "agent": replace(REQUEST, scope=Scope(agent="other", user="ann")),
    "session": replace(REQUEST, scope=Scope(user="ann", session="s1")),
    "zone": replace(REQUEST, scope=Scope(user="ann", zone="Europe/Vienna")),
    "text": saying(Text("what milk?")),
    "role": replace(REQUEST, messages=(*TALK[:2], message("what tea?", "assistant"))),
    "id": saying(Text("what tea?"), id="m1"),
    "name": saying(Text("what tea?"), name="Ann"),
    "fewer messages": replace(REQUEST, messages=TALK[1:]),
    "order": replace(REQUEST, messages=(TALK[1], TALK[0], TALK[2])),
    "joined": saying(Text("what"), Text("tea?")),
    "a result that reads like it": saying(ToolResult(call_id="c1", text="what tea?")),
    "a call that reads like it": saying(ToolCall(id=CALL["id"], name=CALL["name"])),
    "text that reads like a call": saying(Text("tea({})")),
    "tools": replace(REQUEST, tools=({"name": "brew"},)),
    "model": replace(REQUEST, model="gpt-4o-mini"),
    "provider": replace(REQUEST, provider="anthropic"),
    "query": replace(REQUEST, query="what tea?"),
    "max_tokens": replace(REQUEST, max_tokens=100),
    "filters": replace(REQUEST, filters=Filters(kinds=("fact",))),
    "effort": replace(REQUEST, effort="high"),
    "another effort": replace(REQUEST, effort=2),
    "like": replace(REQUEST, like="gpt-4"),
    "window": replace(REQUEST, window=32_000),
    "a time": replace(REQUEST, dated=True),
    "another time": replace(REQUEST, dated=True, at=MOMENT + timedelta(seconds=1)),
}


@pytest.mark.requirement("ENGINE-6")
def test_every_part_of_a_request_that_matters_makes_another_key() -> None:
    """Scope, messages to the last part, tools, model, query, caps, filters, time and strategy."""
    keys = {name: key(request) for name, request in OTHERS.items()}
    keys |= {"compact": key(strategy=COMPACT), "itself": key()}
    keys["cap"] = key(strategy=derive(DEFAULT, {"cap": 1}))
    alike = [pair for pair in ((a, b) for a in keys for b in keys if a < b) if keys[pair[0]] == keys[pair[1]]]
    assert alike == []


@pytest.mark.requirement("ENGINE-6")
def test_what_cannot_be_told_from_its_parts_by_joining_them_is_told_apart() -> None:
    """Marks inside a text don't make it look like two messages."""
    one = replace(REQUEST, messages=(message("a\0user\0None\0None\0b"),))
    two = replace(REQUEST, messages=(message("a"), message("b")))
    assert key(one) != key(two)


@pytest.mark.requirement("ENGINE-6")
def test_the_same_request_has_the_same_key_whenever_it_is_asked() -> None:
    """The clock's own time is no part of it."""
    later = replace(REQUEST, at=MOMENT + timedelta(seconds=9), deadline=0.03, raw=({"role": "user"},))
    assert key() == key(later)


@pytest.mark.requirement("ENGINE-6")
@pytest.mark.parametrize(
    "request_",
    [
        replace(REQUEST, deadline=None),
        replace(REQUEST, messages=(message("x" * 200_001),)),
        replace(REQUEST, messages=(message("x"),) * 1001),
        saying(Image(width=10, height=10)),
        saying(Opaque(kind="audio")),
    ],
    ids=["no hurry", "very large", "very many", "image", "opaque"],
)
def test_some_requests_are_not_remembered(request_: Request) -> None:
    assert not ResultCache().suits(request_)
    assert ResultCache().suits(REQUEST)
    assert not ResultCache(max_entries=0).suits(REQUEST)


@pytest.mark.requirement("ENGINE-6")
def test_any_text_makes_a_key() -> None:
    assert key(replace(REQUEST, messages=(message("\ud800 \x00"),), tools=({"b": {1}, "a": "\udfff"},))) is not None


@pytest.mark.requirement("ENGINE-6")
async def test_an_outcome_lasts_thirty_seconds() -> None:
    """From when it was made, however often it was asked for; and no longer."""
    cache = ResultCache()
    cache.put("k", 1, ONE, 100.0)
    assert [await given(cache, now=now) for now in (100.0, 120.0, 129.9, 130.0, 500.0)] == [ONE, ONE, ONE, None, None]
    cache.put("k", 1, TWO, 131.0)
    assert await given(cache, now=160.0) == TWO


@pytest.mark.requirement("ENGINE-6")
async def test_it_is_bounded_and_the_oldest_goes_first() -> None:
    cache = ResultCache(max_entries=2)
    for number in range(4):
        cache.put(number, 1, ONE, float(number))
    assert [await given(cache, number, now=4.0) for number in range(4)] == [None, None, ONE, ONE]


@pytest.mark.requirement("ENGINE-6")
async def test_an_outcome_is_given_while_nothing_has_changed_since_what_it_was_made_of() -> None:
    """A change of which it isn't certain that the sources saw it counts as one that they didn't see."""
    cache = ResultCache()
    cache.put("k", 7, ONE, 0.0)
    assert [await given(cache, now=1.0, revision=revision) for revision in (3, 7, 8, 7)] == [ONE, ONE, None, ONE]


@pytest.mark.requirement("ENGINE-6")
async def test_without_a_key_or_a_revision_nothing_is_kept_or_found() -> None:
    cache = ResultCache()
    cache.put(None, 1, ONE, 0.0)
    assert await given(cache, None, now=0.0) is None
    assert (cache.hits, cache.misses) == (0, 0)
    cache.put("k", None, ONE, 0.0)
    assert await given(cache, now=0.0) is None


@pytest.mark.requirement("ENGINE-6", "ENGINE-2")
@pytest.mark.parametrize("rubbish", ["7", None, [1]], ids=repr)
def test_a_store_that_does_not_tell_what_it_knows_has_nothing_kept(rubbish: object) -> None:
    assert ResultCache().known_revision(faulty(scoped(), Garbage(rubbish), "known_revision")) is None
    assert ResultCache().known_revision(faulty(scoped(), Raise(ValueError()), "known_revision")) is None
    assert ResultCache().known_revision(scoped()) == 1


@pytest.mark.requirement("ENGINE-6", "OPS-1")
async def test_hits_and_misses_are_counted() -> None:
    """One that is too old is a miss, and so is one that the store has changed since."""
    cache = ResultCache()
    cache.put("k", 1, ONE, 0.0)
    for asked, now, revision in (("k", 1.0, 1), ("other", 1.0, 1), ("k", 2.0, 2), ("k", 31.0, 1)):
        await given(cache, asked, now=now, revision=revision)
    assert (cache.hits, cache.misses) == (1, 3)


async def given(cache: ResultCache, key: Hashable = "k", *, now: float, revision: int = 1) -> Outcome | None:
    """What a request with this key is given, of a store at this revision."""
    store = faulty(scoped(), Garbage(revision), "revision")
    guard = Guard(clock=Clock(), breakers=Breakers(), abandoned=Abandoned(), key=breaker_key(store.scope))
    return await cache.current(cache.find(key, now), store, Deadline.of(guard.clock.steady(), 10.0), guard)
