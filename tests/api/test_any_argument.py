"""Any argument: what can't be used is refused with an error of germane's that says so, wherever it is given."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import Any

import pytest

from germane import Agent, Germane
from germane.errors import GermaneError, InvalidInput
from germane.types.query import Filters

ODD: tuple[Any, ...] = (
    *(
        None,
        -1,
        10**30,
        10**400,
        math.nan,
        True,
        "",
        "x",
        "\x00",
        "\ud800",
        "a" * 50_000,
        b"bytes",
        object(),
        datetime(2020, 1, 1),
    ),
    *([], ["x"], [None], {}, {"a": 1}, {1: 2}, [["a"]]),
)
USUAL: Mapping[str, Any] = MappingProxyType(
    {
        "events": [{"type": "decision"}],
        "ids": ["x"],
        "keep": "both",
        "label": "n",
        "lines": [],
        "max_tokens": 500,
        "messages": [{"role": "user", "content": "hello"}],
        "model": "gpt-4o",
        "session": "s1",
        "succeeded": True,
        "type": "person",
        "version": 1,
    }
)
"""What is given for parameters without a default that take no other words."""
LEFT = ("backup", "close", "open", "reembed", "subscribe", "upgrade", "warm", "extract")
"""They write files, end the store, call back, or need a language model."""
ROOMS: Mapping[str, Callable[[Germane, Agent], Any]] = MappingProxyType(
    {
        "germane": lambda germane, agent: germane,
        "agent": lambda germane, agent: agent,
        **{
            name: partial(lambda name, germane, agent: getattr(agent, name), name)
            for name in ("blocks", "delegations", "documents", "events", "graph", "conversations", "memories", "tasks")
        },
        "patterns": lambda germane, agent: agent.graph.patterns,
    }
)


def verbs(room: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in dir(room):
        if not name.startswith("_") and name not in LEFT and inspect.ismethod(getattr(room, name)):
            yield name, getattr(room, name)


@pytest.mark.parametrize("room", ROOMS)
async def test_an_argument_that_can_not_be_used_is_refused(germane: Germane, agent: Agent, room: str) -> None:
    """One at a time, of each verb; nothing but germane's own errors comes out, and nothing hangs. What is called back raises
    errors of its own."""
    await agent.record([{"role": "user", "content": "hello there"}], session="s1")
    await agent.blocks.create("n", text="some words")
    context = await agent.assemble(USUAL["messages"], model="gpt-4o", deadline=None)
    given = {**USUAL, "built": await agent.build("hello", max_tokens=500), "context": context}
    tried, wrong = 0, list[str]()
    for name, verb in verbs(ROOMS[room](germane, agent)):
        parameters = inspect.signature(verb).parameters.values()
        named = [one for one in parameters if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL) and one.name != "progress"]
        usual = {one.name: given.get(one.name, "words") for one in named if one.default is one.empty}
        for parameter in named:
            for odd in ODD:
                tried += 1
                try:
                    outcome = verb(**{**usual, parameter.name: odd})
                    if inspect.isawaitable(outcome):
                        await asyncio.wait_for(outcome, 30)
                except GermaneError:
                    pass
                except Exception as error:
                    wrong.append(f"{room}.{name}({parameter.name}={odd!r:.40}): {type(error).__name__} {error}")
    assert wrong == []
    assert tried >= 5 * len(ODD)


async def test_times_without_a_zone_are_those_of_the_scope(germane: Germane) -> None:
    """Also where events are listed."""
    agent = germane.agent(user="ana", zone="Asia/Tokyo")
    await agent.events.record("decision", "go", session="s1", at=datetime(2026, 1, 1, 8))
    found = [
        (await agent.events.list(since=datetime(2026, 1, 1, 7), until=until)).events
        for until in (datetime(2026, 1, 1, 9), datetime(2026, 1, 1, 7, 30))
    ]
    assert list(map(len, found)) == [1, 0]


async def test_what_are_no_filters_is_refused_by_every_strategy(agent: Agent) -> None:
    """Also by one that allows some sensitivities only."""
    for strategy in ("default", "digest"):
        with pytest.raises(InvalidInput, match="filters must be a Filters"):
            await agent.assemble(
                [{"role": "user", "content": "hi"}],
                model="gpt-4o",
                strategy=strategy,
                filters={"tags": ["a"]},  # type: ignore[arg-type]
            )
    await agent.digest("hi", filters=Filters(tags=("a",)))


@pytest.mark.parametrize("deep", [300, 5_000])
async def test_a_block_of_no_json_or_of_deep_json_is_refused(agent: Agent, deep: int) -> None:
    """Before its texts are searched for secrets."""
    nested: Any = "x"
    for _ in range(deep):
        nested = [nested]
    for value in ({1: 2}, nested, {"a": nested}, [object()]):
        for schema in (None, "list", {"type": "map", "fields": [{"name": "a", "type": "text"}]}):
            with pytest.raises(InvalidInput):
                await agent.blocks.create("n", schema=schema, value=value)
