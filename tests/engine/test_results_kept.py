"""Results of whole assemblies, kept and given again, over a real store: never without what has changed meanwhile (ENGINE-6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from germane import Agent, Context
from germane.api.strategies import VERBOSE
from germane.engine import result_cache
from germane.stores.sqlite import erasure
from germane.types.candidate import Candidate
from germane.types.query import Query
from germane.types.strategy import SourcePlan
from support.calendar import Opening

pytestmark = pytest.mark.requirement("ENGINE-6")

OWN = replace(VERBOSE, name="own", sources=(SourcePlan(name="mine", limit=1), *VERBOSE.sources))
ASKED = [{"role": "user", "content": "What is my greyhound called?"}]
NAMES = ("Biscuit", "Waffle", "Crumpet", "Scone")


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store may take its time to tell its revision: on a busy machine it takes longer than an answer's 10 ms."""
    monkeypatch.setattr(result_cache, "_MAX_REVISION_SECONDS", 60.0)


async def asked(agent: Agent) -> Context:
    context = await agent.assemble(ASKED, model="gpt-4o", strategy=OWN, deadline=60.0)
    assert context.metadata.degradation_level == 0
    return context


async def told(agent: Agent, name: str) -> None:
    await agent.record([{"role": "user", "content": f"My greyhound is called {name}."}], session="s1")


class _Speaking:
    """A source that has something recorded while the others search, as often as `agent` is set."""

    agent: Agent | None = None

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        if self.agent is not None:
            agent, self.agent = self.agent, None
            await told(agent, NAMES[1])
        return []


async def test_what_changes_while_the_sources_search_is_in_the_next_answer(opening: Opening) -> None:
    """Whether the first one had it or not. Nobody can tell, so the first isn't given again."""
    source = _Speaking()
    async with opening(sources={"mine": lambda _: source}) as germane:
        agent = germane.agent("support", user="caroline")
        await told(agent, NAMES[0])
        source.agent = agent
        await asked(agent)
        second, third = await asked(agent), await asked(agent)
        assert (second.metadata.cached, third.metadata.cached) == (False, True)
        assert all(NAMES[1] in context.added for context in (second, third))


async def test_what_another_process_writes_is_in_the_next_answer(opening: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    """And from the second or third answer after it on, the same is given again."""
    monkeypatch.setattr(erasure, "_POLL", 3600.0)  # this process hears of nothing but by asking
    options: dict[str, Any] = {"sources": {"mine": lambda _: _Speaking()}}
    async with opening(**options) as here, opening(**options) as there:
        mine, theirs = (germane.agent("support", user="caroline") for germane in (here, there))
        for name in NAMES:
            await told(theirs, name)
            answers = [await asked(mine) for _ in range(4)]
            assert all(name in context.added for context in answers)
            assert not answers[0].metadata.cached
            assert answers[-1].metadata.cached


async def test_what_other_users_write_keeps_the_result(opening: Opening) -> None:
    async with opening(sources={"mine": lambda _: _Speaking()}) as germane:
        agent = germane.agent("support", user="caroline")
        await told(agent, NAMES[0])
        await asked(agent)
        for name in NAMES:
            await told(germane.agent("support", user="melanie"), name)
            assert (await asked(agent)).metadata.cached
