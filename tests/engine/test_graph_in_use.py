"""The graph and what happened in a real store: sources, shares, the gate, the sections, the explanation."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from germane import Agent, Context, Filters, Germane
from germane.api.strategies import DEFAULT, VERBOSE, derive
from germane.kinds.graph.reads import PutEntity, PutPattern, PutRelation
from germane.kinds.graph.statement import EntityStatement, keys_of
from germane.stores.contract import ScopedStore
from germane.types.candidate import Candidate
from germane.types.message import Message
from germane.types.strategy import SourcePlan
from germane_testing.builders import MOMENT, writing
from support.graph_stub import a_pattern, a_relation, an_entity

GRAPH = tuple(SourcePlan(name=name) for name in ("entities", "relations", "patterns"))
SECTIONS = ("## Recent Activity", "## Relevant Content", "## Known Entities", "## Relationships", "## Applicable Patterns")
CAROLINE = an_entity(properties={"city": "Vienna"}, aliases=("Caro",))
ACME = an_entity("Acme", "organisation")
WORKS = a_relation("Caroline", "works_at", "Acme", weight=0.9, confidence=0.9)
AGAIN = a_pattern(keywords=("tests",), successes=3, applications=4)


def store_of(agent: Agent) -> ScopedStore:
    return agent._parts.store.within(agent.scope)


async def filled(agent: Agent, **changes: Any) -> Agent:
    """A person at a company, a pattern, and a session in which the tests fail."""
    entities = (replace(CAROLINE, user=agent.scope.user, **changes), replace(ACME, user=agent.scope.user))
    names = [
        PutEntity(one, keys_of(one), EntityStatement(names=(one.name, *one.aliases), properties=one.properties))
        for one in entities
    ]
    more = (PutRelation(replace(WORKS, user=agent.scope.user)), PutPattern(replace(AGAIN, user=agent.scope.user)))
    await store_of(agent).commit(writing(*names, *more))
    await agent.events.record("file_read", {"path": "src/app.py"}, session="s1", outcome="success")
    await agent.events.record(
        "shell_exec", {"command": "pytest", "stdout": "E  assert 1 == 2"}, session="s1", outcome="failure", id="run"
    )
    await agent.record([{"role": "user", "content": "I told Caroline that the tests of the app fail"}], session="s1")
    return agent


async def asked(agent: Agent, question: str = "Why do the tests of Caro fail?", **options: Any) -> Context:
    given: dict[str, Any] = {"model": "gpt-4o", "deadline": None, "session": "s1", "strategy": "coding"}
    return await agent.assemble([{"role": "user", "content": question}], **given | options)


def everything(**changes: Any) -> Any:
    """A strategy of the log-odds form, written as Markdown."""
    return derive(VERBOSE, {"name": "graph", "format": "markdown", "details": (), **changes})


@pytest.mark.requirement("GRAPH-5", "GRAPH-6", "FORMAT-2")
async def test_an_archetypes_context_has_a_section_for_each_kind_of_memory(germane: Germane, agent: Agent) -> None:
    """In their order; what happened stands by time."""
    await filled(agent)
    strategy = replace(germane.strategies.find("coding"), entity_types=())
    context = await asked(agent, strategy=strategy)
    lines = context.added.splitlines()
    assert [line for line in lines if line.startswith("## ")] == [one for one in SECTIONS if one in lines]
    for expected in (
        "Read: src/app.py [success]",
        "Executed: `pytest` [failure]",
        "  E  assert 1 == 2",
        "**person**: Caroline (city: Vienna)",
        "Caroline --[works_at]--> Acme",
        "success rate 75 % (3 of 4): run the tests again",
    ):
        assert any(line.endswith(expected) for line in lines), f"{expected} in {context.added}"
    assert lines.index("## Recent Activity") < lines.index("## Known Entities")
    told = context.explain()
    for name in ("events", "entities", "relations", "patterns"):
        assert any(item.source == name for item in context.items), name
        assert f"{name} " in told
    assert context.metadata.degradation_level == 0


@pytest.mark.requirement("PACK-8", "GATHER-5")
async def test_the_gate_judges_what_the_graph_offers(agent: Agent) -> None:
    """A sensitive entity and its relations are shown only where that is allowed."""
    await filled(agent, sensitivity="sensitive")
    shown = {item.category for item in (await asked(agent, strategy=_with_graph())).items}
    assert shown.isdisjoint({"relation"})
    allowed = Filters(sensitivities=("public", "private", "sensitive"))
    context = await asked(agent, strategy=_with_graph(), filters=allowed)
    assert {item.scored.candidate.title for item in context.items if item.category == "entity"} >= {"Caroline"}
    assert any(item.category == "relation" for item in context.items)


def _with_graph(**changes: Any) -> Any:
    return replace(everything(), sources=(*VERBOSE.sources, *GRAPH), **changes)


@pytest.mark.requirement("SCOPE-2", "GATHER-5")
async def test_another_users_graph_is_never_offered(germane: Germane, agent: Agent) -> None:
    """Nor that of another org or agent."""
    await filled(agent)
    for other in (
        germane.agent("support", org="acme", user="mallory"),
        germane.agent("support", org="other", user="caroline"),
        germane.agent("sales", org="acme", user="caroline"),
    ):
        context = await asked(other, strategy=_with_graph())
        assert "Acme" not in context.added
        assert not context.items


@pytest.mark.requirement("GATHER-6", "GRAPH-2")
async def test_a_relation_that_ended_is_shown_only_where_it_is_asked_for(agent: Agent) -> None:
    """With the day of its end."""
    await filled(agent)
    ended = replace(WORKS, user=agent.scope.user, valid_to=MOMENT - timedelta(days=1))
    await store_of(agent).commit(writing(PutRelation(ended)))
    now = await asked(agent, strategy=_with_graph(), at=MOMENT)
    assert "works_at" not in now.added
    then = await asked(agent, strategy=_with_graph(), at=MOMENT, filters=Filters(with_ended=True))
    assert f"Acme ({ended.valid_from:%Y-%m-%d} until {ended.valid_to:%Y-%m-%d})" in then.added


@pytest.mark.requirement("BUD-6", "GRAPH-5")
async def test_no_part_of_an_archetype_takes_more_than_its_share_while_others_want_theirs(
    germane: Germane, agent: Agent
) -> None:
    """Sixty events don't push the relations out."""
    await filled(agent)
    for number in range(60):
        await agent.events.record("shell_exec", {"command": f"make target-{number} of the tests"}, session="s1")
    strategy = replace(germane.strategies.find("coding"), entity_types=())
    context = await asked(agent, strategy=strategy, max_tokens=600)
    assert {"events", "entities", "relations", "patterns"} <= {item.source for item in context.items}
    assert context.metadata.total_tokens_injected <= 600


@pytest.mark.requirement("INJECT-6", "GATHER-3")
@pytest.mark.parametrize("placement", ["append", "first"])
async def test_what_was_shown_of_the_graph_stays_where_it_stands(agent: Agent, placement: Any) -> None:
    """In the append placement its text stands as long as nothing that it shows has changed."""
    await filled(agent)
    strategy = _with_graph(placement=placement)
    turns = [{"role": "user", "content": "Where does Caroline work?"}]
    given: dict[str, Any] = {"model": "gpt-4o", "deadline": None, "session": "s2", "strategy": strategy}
    first = await agent.assemble(turns, **given)
    assert "works_at" in first.added
    turns += [{"role": "assistant", "content": "At Acme."}, {"role": "user", "content": "And what is the city of Caroline?"}]
    second = await agent.assemble(turns, **given)
    assert not [warning for warning in second.metadata.warnings if "withdrawn" in warning]
    if placement == "append":
        assert WORKS.id in {item.id for text in second.trace.earlier for item in text.items}
        assert WORKS.id not in {item.id for item in second.items}
    await store_of(agent).commit(
        writing(PutRelation(replace(WORKS, user=agent.scope.user, valid_to=MOMENT - timedelta(days=30))))
    )
    third = await agent.assemble(turns, **given)
    assert "Caroline --[works_at]--> Acme" not in str(third.messages)


@pytest.mark.requirement("ENGINE-8")
async def test_the_default_strategy_never_asks_the_graph(agent: Agent) -> None:
    """Nor do the other built-in ones: their output doesn't depend on it."""
    assert not {plan.name for plan in DEFAULT.sources} & {"entities", "events", "patterns", "relations"}
    context = await asked(await filled(agent), strategy="default")
    assert {item.category for item in context.items} <= {"activity", "conversation"}


@pytest.mark.requirement("ENGINE-5")
async def test_why_tells_what_became_of_an_entity(agent: Agent) -> None:
    """It went in, or no source of the strategy offers entities, or this one wasn't reached."""
    await filled(agent)
    context = await asked(agent, strategy=_with_graph())
    entity: Candidate = next(item.scored.candidate for item in context.items if item.category == "entity")
    assert (await agent.why(entity.id, context)).outcome == "injected"
    assert f"entity {entity.title!r} {entity.id}" in context.explain()
    plain = await asked(agent, strategy="verbose")
    assert (await agent.why(entity.id, plain)).reason == "entities"
    elsewhere = await asked(agent, strategy=_with_graph(), filters=Filters(entity_types=("file",)))
    assert (await agent.why(entity.id, elsewhere)).outcome == "not_reached"


@pytest.mark.requirement("GRAPH-2", "GRAPH-6")
async def test_an_imported_conversation_has_its_entities_as_of_its_own_time() -> None:
    """An entity is known from the time of the first text that names it, not from the time at which that was stored."""
    async with Germane.open(":memory:", entities=True, warm=False) as germane:
        agent = germane.agent("late")
        for said, year in (("Zofia Nowak lives in Gdynia.", 2023), ("Zofia Nowak called.", 2021)):
            at = datetime(year, 5, 8, tzinfo=UTC)
            await agent.record([Message.of("user", said, created_at=at)], session=f"s{year}")
        (zofia,) = await agent.graph.find("Zofia Nowak")
        assert zofia.created_at == datetime(2021, 5, 8, tzinfo=UTC)
        strategy = replace(germane.strategies.find("default"), sources=(SourcePlan(name="entities"),), need=0.0)
        for year, known in ((2020, False), (2022, True)):
            context = await agent.assemble(
                [{"role": "user", "content": "Who is Zofia Nowak?"}],
                model="gpt-4o",
                strategy=strategy,
                at=datetime(year, 1, 1, tzinfo=UTC),
                deadline=None,
            )
            assert any("Zofia" in item.text for item in context.items) == known
