"""The memory digest, as an application gets it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from bench.digest import engine, problems, violations

from germane import Agent, Germane
from germane.api.digest import DIGEST, digest_strategy
from germane.api.strategies import Strategies
from germane.errors import InvalidInput
from germane.settings.settings import Settings
from germane.types.query import Filters
from germane.types.strategy import Cap
from support.calendar import Opening
from support.oracle import oracle

ASKED = [{"role": "user", "content": "When do we launch Aurora?"}]


async def filled(agent: Agent) -> None:
    await agent.remember("The launch of Aurora moved to 14 May", title="Launch")
    await agent.remember("Berlin", kind="fact", key="user.home")
    await agent.remember("Aurora's launch password is rosebud", sensitivity="sensitive")


@pytest.mark.requirement("DIG-1", "DIG-3")
async def test_a_question_gets_what_matters_for_it(agent: Agent) -> None:
    """And nothing else; `assemble` writes the same list into the messages."""
    await filled(agent)
    found = await agent.digest("When do we launch Aurora?")
    assert found.text.splitlines()[1] == "Memory digest:"
    assert "Launch — The launch of Aurora moved to 14 May" in found.text
    assert [item.id in found.text for item in found.items] == [True, True]
    assert (found.status, "rosebud" in found.text) == ("", False)
    assert "user.home — Berlin" in found.text, "what holds about the user always stands"
    context = await agent.assemble(ASKED, model="gpt-4o", strategy="digest", deadline=None)
    assert found.text in str(context.added)


@pytest.mark.requirement("DIG-4")
@pytest.mark.parametrize(
    ("v1", "status"),
    [
        ({"enabled": False}, "disabled by config"),
        ({"allow_sensitivities": []}, "no allowed sensitivities"),
        ({"keyword": {"enabled": False}, "budgets": {"about": {"items": 0}}}, "no matching memory"),
        ({"budgets": {"total": {"items": 0}}}, "no matching memory"),
    ],
)
async def test_an_empty_digest_says_why(agent: Agent, v1: dict[str, Any], status: str) -> None:
    """In one line, and `assemble` leaves the messages as they are."""
    await filled(agent)
    strategy = digest_strategy({"v1": v1})
    found = await agent.digest("When do we launch Aurora?", strategy=strategy, deadline=None)
    assert (found.text, found.status, found.items) == (f"Memory digest: {status}", status, ())
    context = await agent.assemble(ASKED, model="gpt-4o", strategy=strategy, deadline=None)
    assert context.messages == ASKED


@pytest.mark.requirement("DIG-4")
async def test_a_store_that_fails_is_told_from_an_empty_one(agent: Agent) -> None:
    """`unavailable` where no source answered."""
    await filled(agent)

    class Broken:
        async def gather(self, query: object, plan: object) -> list[Any]:
            raise OSError

    for name in ("memories", "profile"):
        agent._parts.engine.sources[name] = lambda _: Broken()  # type: ignore[index]
    assert (await agent.digest("When do we launch Aurora?")).status == "unavailable"


@pytest.mark.requirement("DIG-2")
async def test_kinds_that_share_a_budget_share_it() -> None:
    """Preferences and behaviours count against the facts' six items, unless they have a budget of their own."""
    assert DIGEST.shares.pools == {"preference": "fact", "behavior": "fact"}
    own = digest_strategy({"v1": {"budgets": {"preference": {"items": 2}}}})
    assert own.shares.kinds["preference"] == Cap(items=2)
    assert own.shares.pools == {"behavior": "fact"}


@pytest.mark.requirement("DIG-2", "BUD-6")
async def test_partial_settings_keep_the_defaults_beside_them(germane: Germane) -> None:
    """At every level; tokens in total are the strategy's cap."""
    strategy = digest_strategy(
        {"v1": {"budgets": {"fact": {"chars": 100}, "total": {"tokens": 300}}, "semantic": {"enabled": True}}}
    )
    assert strategy.shares.kinds["fact"] == Cap(items=6, chars=100)
    assert (strategy.shares.total, strategy.cap) == (Cap(items=12, chars=2400), 300)
    limits = {plan.name: (plan.limit, plan.keywords, plan.vectors) for plan in strategy.sources}
    assert limits["memories"] == (60, True, False)
    assert limits["semantic"] == (20, False, True)
    assert digest_strategy({}) == DIGEST == digest_strategy({"v1": None})
    assert germane.strategies.find("digest") == DIGEST


@pytest.mark.requirement("DIG-2", "GATHER-5")
async def test_settings_bound_what_a_request_may_see(agent: Agent) -> None:
    """A request's own filters narrow what the settings allow and never widen it."""
    await filled(agent)
    everything = Filters(sensitivities=("public", "private", "sensitive"))
    question = "the launch password of Aurora"
    assert "rosebud" not in (await agent.digest(question, filters=everything)).text
    allowing = digest_strategy({"v1": {"allow_sensitivities": ["private", "sensitive"]}})
    assert "rosebud" in (await agent.digest(question, strategy=allowing)).text
    assert "rosebud" not in (await agent.digest(question, strategy=allowing, filters=Filters(sensitivities=("private",)))).text


@pytest.mark.requirement("DIG-1")
async def test_a_fault_of_the_originals_is_none_of_ours(agent: Agent) -> None:
    """A question of more than twelve words finds something, a fact's value is searched, and of two copies of a text the one
    that may be shown is shown."""
    await agent.remember("Reykjavik", kind="fact", key="office.city")
    long = "could you please tell me once more in which of all the many places our new office in Reykjavik is going to be"
    assert "Reykjavik" in (await agent.digest(long)).text
    await agent.remember("Aurora ships in May", sensitivity="sensitive")
    await agent.remember("Aurora ships in May", kind="episode", sensitivity="public")
    found = await agent.digest("When does Aurora ship?")
    assert "[episode]" in found.text
    assert "[note]" not in found.text


@pytest.mark.requirement("DIG-1")
async def test_named_facts_come_first_and_in_the_order_of_the_settings(agent: Agent) -> None:
    """The newest value of each."""
    for key, value in (("team", "Blue"), ("city", "Rome"), ("city", "Oslo"), ("role", "Lead")):
        await agent.remember(value, kind="fact", key=key)
    strategy = digest_strategy({"v1": {"structured": {"fact_keys": ["role", "city", "team"]}}})
    lines = (await agent.digest("hello", strategy=strategy)).text.splitlines()[3:-1]
    assert [line.partition(") ")[2].partition(" (")[0] for line in lines] == ["role — Lead", "city — Oslo", "team — Blue"]


@pytest.mark.parametrize(
    ("memory", "said"),
    [
        ({"v2": {}}, "memory takes v1, not v2"),
        ({"v1": {"allow": []}}, "memory.v1 takes enabled, .* not allow"),
        ({"v1": {"enabled": "yes"}}, "memory.v1.enabled must be true or false, not 'yes'"),
        ({"v1": {"allow_sensitivities": "public"}}, "must be a list of public, private, sensitive"),
        ({"v1": {"allow_sensitivities": ["secret"]}}, "must be a list of public, private, sensitive"),
        ({"v1": {"keyword": 3}}, "memory.v1.keyword must be a table"),
        ({"v1": {"keyword": {"limit": -1}}}, "memory.v1.keyword.limit must be a whole number"),
        ({"v1": {"structured": {"fact_keys": "city"}}}, "fact_keys must be a list of strings"),
        ({"v1": {"budgets": {"facts": {}}}}, "memory.v1.budgets takes total, .* not facts"),
        ({"v1": {"budgets": {"fact": {"items": -1}}}}, "memory.v1.budgets.fact.items must be"),
        ({"v1": {"budgets": {"fact": {"words": 1}}}}, "memory.v1.budgets.fact takes items, chars, tokens, not words"),
    ],
)
@pytest.mark.requirement("DIG-4", "OPS-1")
def test_settings_that_dont_fit_are_named(memory: dict[str, Any], said: str) -> None:
    """With their place."""
    with pytest.raises(InvalidInput, match=said):
        digest_strategy(memory)


@pytest.mark.requirement("DIG-4")
async def test_an_agents_own_yaml_file_is_read(tmp_path: Path, opening: Opening) -> None:
    """Its other keys are the agent's business; a strategy of the settings can be like the digest."""
    file = tmp_path / "agent.yml"
    file.write_text("name: helper\nmemory:\n  v1:\n    budgets:\n      total: {items: 3}\n")
    async with opening(settings=file) as germane:
        assert germane.strategies.find("digest").shares.total == Cap(items=3, chars=2400)
    short = Strategies({"short": {"like": "digest", "cap": 100}}, also=(DIGEST,)).find("short")
    assert (short.format, short.cap) == ("digest", 100)


@pytest.mark.parametrize(
    ("text", "said"), [("memory: [", "isn't YAML"), ("- a", "must be a table"), ("memory: 3", "must be tables")]
)
def test_a_yaml_file_that_cant_be_used_is_named(tmp_path: Path, text: str, said: str) -> None:
    """With its path."""
    file = tmp_path / "agent.yml"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=f"agent.yml.*{said}"):
        Settings.load(file)


@pytest.mark.requirement("DIG-1", "DIG-2", "DIG-3")
async def test_generated_stores_keep_every_budget() -> None:
    """`bench digest` runs 100,000."""
    random, made = Random(5), engine()
    for _ in range(60):
        assert await violations(random, made, oracle("o200k")) == []


async def test_the_check_of_the_budgets_can_fail(agent: Agent) -> None:
    """It sees an item, a character and a memory too many."""
    await filled(agent)
    strategy = replace(DIGEST, placement="split", sources=tuple(plan for plan in DIGEST.sources if plan.name != "directive"))
    context = await agent.assemble(ASKED, model="gpt-4o", strategy=strategy, deadline=None)
    small = replace(strategy, shares=digest_strategy({"v1": {"budgets": {"total": {"items": 0, "chars": 9}}}}).shares, cap=3)
    found = " ".join(problems(context, small, ("public",), oracle("o200k")))
    for said in ("a private memory", "total: 2 items of 0", "chars of 9", "tokens of 3"):
        assert said in found


@pytest.mark.requirement("DIG-4")
@pytest.mark.parametrize(("limit", "text"), [(1, ""), (500, "Memory digest: disabled by config")])
async def test_the_line_stands_within_the_limit_too(agent: Agent, limit: int, text: str) -> None:
    """A limit that has no room for it leaves the status alone."""
    found = await agent.digest(
        "Anything?", strategy=digest_strategy({"v1": {"enabled": False}}), max_tokens=limit, deadline=None
    )
    assert (found.text, found.status, found.tokens) == (text, "disabled by config", 0)
