"""The sources of the graph: entities, relations after them, patterns; one look-up for all."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.search.relevance import shipped
from germane.stages.gather.builtin import sources
from germane.stages.gather.graph import EntityLookup, EntitySource, from_entity, from_relation, mention_keys
from germane.stages.gather.merge import RequestContents, merge
from germane.types.candidate import Candidate, EntityText, PatternText, RelationText
from germane.types.query import Filters, Query
from germane.types.strategy import SourcePlan
from germane_testing.builders import MOMENT
from support.gather_stubs import asking, gathered, planning, scoped
from support.graph_stub import GraphStub, a_pattern, a_relation, an_entity

ALL = ("entities", "relations", "patterns")
CAROLINE, ACME, BOB = an_entity(), an_entity("Acme", "organisation", salience=0.9), an_entity("Bob", salience=0.1)


async def offered(graph: GraphStub, query: Query, *names: str, **fields: Any) -> list[Candidate]:
    """What the built-in sources with these names offer, by the order of the names."""
    store, planned = scoped(graph=graph), planning(*(names or ALL))
    made = sources(store, planned, {}, wait=False, said=RequestContents(()), relevance=shipped())
    return [one for name in names or ALL for one in await _read(made[name], query, SourcePlan(name=name, **fields))]


async def _read(source: Any, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
    found: Sequence[Candidate] = await source.gather(query, plan)
    return found


def about(text: str = "Where does Caroline work?", **fields: Any) -> Query:
    return asking(text, **{"names": ("Caroline",), **fields})


@pytest.mark.requirement("GRAPH-6", "SCORE-4")
async def test_mentioned_entities_come_first_and_their_salience_counts_double() -> None:
    """Then the most salient of the others; no entity twice; no salience above 1."""
    found = await offered(GraphStub(known=[BOB, CAROLINE, ACME]), about(), "entities")
    assert [one.id for one in found] == ["e-Caroline", "e-Acme", "e-Bob"]
    items = [one.graph for one in found if one.graph is not None]
    assert [item.salience for item in items] == pytest.approx([0.8, 0.9, 0.1])
    assert items[0].prior > 10 * items[1].prior > 10 * items[2].prior / 2
    strong = from_entity(an_entity(salience=0.8), about(), mentioned=True)
    assert strong.graph is not None
    assert strong.graph.salience == 1.0


@pytest.mark.requirement("GRAPH-6", "GATHER-1")
async def test_the_sources_of_an_assembly_share_one_look_up() -> None:
    """Relations and patterns wait for the entities; neither looks them up again."""
    graph = GraphStub(known=[CAROLINE], around=[(0, a_relation("Caroline", "works_at", "Acme"))], applying=[a_pattern()])
    store = scoped(graph=graph)
    made = sources(store, planning(*ALL), {}, wait=False, said=RequestContents(()), relevance=shipped())
    answer = await gathered(made, *ALL, on=store, query=about())
    assert sorted(graph.calls) == ["named", "neighbourhood", "patterns", "salient"]
    assert {report.name: report.status for report in answer.reports if report.name in ALL} == dict.fromkeys(ALL, "ok")
    assert graph.asked["patterns"]["entity_types"] == ["person"]


@pytest.mark.requirement("GATHER-1")
async def test_a_source_that_is_abandoned_doesnt_end_the_look_up_for_the_others() -> None:
    """The last one that waits does."""

    class Slow(GraphStub):
        async def salient(self, *_: Any, **__: Any) -> Any:
            await asyncio.sleep(0.01)
            return (ACME,)

    lookup = EntityLookup(scoped(graph=Slow(known=[CAROLINE])))
    first, second = (asyncio.create_task(lookup.of(about())) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).mentioned == (CAROLINE,)
    lookup = EntityLookup(scoped(graph=Slow(known=[CAROLINE])))
    alone = asyncio.create_task(lookup.of(about()))
    await asyncio.sleep(0)
    inner = lookup._task
    alone.cancel()
    await asyncio.wait([alone])
    assert inner is not None
    await asyncio.wait([inner])
    assert inner.cancelled()


async def test_a_look_up_that_fails_fails_its_sources_and_no_others() -> None:
    """Each of them reports the error."""
    store = scoped(graph=GraphStub(error=RuntimeError("broken")))
    made = sources(store, planning(*ALL, "recent"), {}, wait=False, said=RequestContents(()), relevance=shipped())
    answer = await gathered(made, *ALL, "recent", on=store, query=about())
    statuses = {report.name: report.status for report in answer.reports}
    assert {statuses[name] for name in ALL} == {"error"}
    assert statuses["recent"] == "ok"


@pytest.mark.requirement("GRAPH-6", "SCORE-4")
async def test_a_relation_scores_weight_times_confidence_halved_with_each_step() -> None:
    """Written with the names of both ends; as sensitive as the more sensitive end."""
    near = a_relation("Caroline", "works_at", "Acme", weight=0.5, confidence=0.8, refs=("ev1",))
    far = a_relation("Acme", "owned_by", "Bob", weight=1.0, confidence=1.0)
    secret = an_entity("Acme", "organisation", sensitivity="sensitive")
    graph = GraphStub(known=[CAROLINE, secret, BOB], around=[(0, near), (1, far)])
    first, second = await offered(graph, about(), "relations")
    assert first.graph is not None and second.graph is not None  # noqa: PT018
    assert (first.graph.salience, second.graph.salience) == pytest.approx((0.4, 0.5))
    assert first.graph.shown == RelationText(source="Caroline", type="works_at", target="Acme", valid_from=near.valid_from)
    assert (first.sensitivity, first.provenance.refs, first.confidence) == ("sensitive", ("ev1",), 0.8)


@pytest.mark.requirement("GRAPH-6")
async def test_a_walk_begins_at_what_is_mentioned_else_at_what_is_salient() -> None:
    """With the strategy's depth and fan-out, as of the time asked about; what has ended is walked on request."""
    graph = GraphStub(known=[CAROLINE, ACME], around=[(0, a_relation("Caroline", "knows", "Acme"))])
    (sure,) = await offered(graph, about(), "relations", limit=7)
    asked = graph.asked["neighbourhood"]
    assert (asked["starts"], asked["depth"], asked["fan_out"], asked["limit"]) == (["e-Caroline"], 2, 20, 7)
    assert asked["at"] == MOMENT
    (unsure,) = await offered(graph, asking("hello"), "relations")
    assert graph.asked["neighbourhood"]["starts"] == ["e-Acme", "e-Caroline"]
    assert sure.graph is not None and unsure.graph is not None  # noqa: PT018
    assert unsure.graph.prior < sure.graph.prior / 10
    await offered(graph, about(filters=Filters(with_ended=True)), "relations")
    assert graph.asked["neighbourhood"]["at"] is None


@pytest.mark.requirement("GRAPH-3", "SCORE-4")
async def test_a_pattern_is_matched_by_words_intent_and_types_of_what_is_mentioned() -> None:
    """It counts (successes + 1) / (applications + 2)."""
    graph = GraphStub(known=[CAROLINE], applying=[a_pattern(successes=3, applications=4), a_pattern("new")])
    first, second = await offered(graph, about(intent="fix"), "patterns")
    asked = graph.asked["patterns"]
    assert (asked["words"], asked["intent"], asked["entity_types"]) == (["caroline", "work"], "fix", ["person"])
    assert first.graph is not None and second.graph is not None  # noqa: PT018
    assert (first.graph.salience, second.graph.salience) == pytest.approx((4 / 6, 0.5))
    assert first.graph.shown == PatternText(action="run the tests again", successes=3, applications=4)


@pytest.mark.requirement("GATHER-4")
@pytest.mark.parametrize(
    "filters", [{"kinds": ("note",)}, {"tags": ("x",)}, {"session": "s1"}, {"event_types": ("error",)}, {"task": "t1"}]
)
async def test_filters_for_what_the_graph_doesnt_have_leave_it_out(filters: dict[str, Any]) -> None:
    """An entity has no kind, tag, session, event type or task."""
    graph = GraphStub(known=[CAROLINE], around=[(0, a_relation("Caroline", "knows", "Bob"))], applying=[a_pattern()])
    assert await offered(graph, about(filters=Filters(**filters))) == []


@pytest.mark.requirement("GRAPH-5", "GATHER-4")
async def test_an_archetypes_entity_types_hold_unless_the_request_names_others() -> None:
    graph = GraphStub(known=[CAROLINE])
    lookup = EntityLookup(scoped(graph=graph), ("file",))
    await lookup.of(about())
    assert {graph.asked[call]["filters"].entity_types for call in ("named", "salient")} == {("file",)}
    await EntityLookup(scoped(graph=graph), ("file",)).of(about(filters=Filters(entity_types=("person",))))
    assert graph.asked["named"]["filters"].entity_types == ("person",)


@pytest.mark.requirement("GATHER-4", "GATHER-6")
async def test_what_wasnt_known_by_the_time_asked_about_isnt_offered() -> None:
    """`at` and `until` count by when it was made, `since` by when it was last used."""
    graph = GraphStub(
        known=[CAROLINE, BOB], around=[(0, a_relation("Caroline", "knows", "Bob"))], applying=[a_pattern(successes=1)]
    )
    early = MOMENT - timedelta(days=90)
    assert await offered(graph, about(filters=Filters(until=early))) == []
    dated = Query(text="Caroline", at=early, dated=True, names=("Caroline",))
    assert await offered(graph, dated) == []
    assert [one.category for one in await offered(graph, about(filters=Filters(since=MOMENT + timedelta(days=1))))] == []
    graph.known = [CAROLINE, an_entity("Bob", created_at=MOMENT)]
    before = about(filters=Filters(until=MOMENT - timedelta(days=1)))
    assert [one.id for one in await offered(graph, before)] == ["e-Caroline", "p-run the tests again"]
    assert len(await offered(graph, about(filters=Filters(since=MOMENT - timedelta(hours=1))), "entities")) == 2


@pytest.mark.requirement("GATHER-3")
def test_the_surer_of_two_offers_of_one_entity_stays() -> None:
    """Mentioned by one source, salient by another."""
    one, other = (from_entity(CAROLINE, about(), mentioned=mentioned) for mentioned in (True, False))
    for pair in ([one, other], [other, one]):
        (found,) = merge(pair)
        assert found.graph == one.graph


def test_an_entity_is_shown_with_few_short_properties() -> None:
    """By name; empty ones are left out."""
    properties = {f"p{number}": "x" * 1_000 for number in range(20)} | {"a": None, "b": 3, "c": ["d"]}
    shown = from_entity(an_entity(properties=properties), about(), mentioned=False)
    assert shown.graph is not None
    assert isinstance(shown.graph.shown, EntityText)
    assert shown.graph.shown.properties[:2] == (("b", "3"), ("c", '["d"]'))
    assert len(shown.graph.shown.properties) == 8
    assert len(shown.text) < 2_000


@pytest.mark.requirement("SIG-1")
@pytest.mark.parametrize(
    ("text", "fields", "key"),
    [
        ("what about new york city today", {}, "new york city"),
        ("why does it fail", {"identifiers": ("src/App.py",)}, "src/app.py"),
        ("Who is Ana María?", {"names": ("Ana María", "Ana", "María")}, "ana maria"),
        ("東京都はどこ", {}, "東京都"),
        ("the ACME-Corp. contract", {}, "acme-corp"),
        ('who wrote "Lord of the Rings"', {"phrases": ("Lord of the Rings",)}, "lord of the rings"),
    ],
)
def test_a_query_names_an_entity_by_name_identifier_phrase_or_words_in_a_row(text: str, fields: Any, key: str) -> None:
    assert key in mention_keys(asking(text, **fields))


@given(st.text(max_size=300), st.lists(st.text(max_size=40), max_size=8))
def test_no_query_names_more_than_96_keys(text: str, names: list[str]) -> None:
    """Whatever it says."""
    keys = mention_keys(asking(text, names=tuple(names)))
    assert len(keys) <= 96
    assert "" not in keys


@pytest.mark.requirement("LIMITS-2")
@pytest.mark.parametrize("text", ["a" * 100_000, "a " * 50_000, "漢" * 100_000, "'" * 100_000, "a-" * 50_000, ""])
def test_a_query_of_any_length_is_read_in_little_time(text: str) -> None:
    assert len(mention_keys(Query(text=text, at=MOMENT))) <= 96


async def test_a_source_offers_no_more_than_its_limit() -> None:
    lookup = EntityLookup(scoped(graph=GraphStub(known=[CAROLINE, ACME, BOB])))
    assert len(await EntitySource(lookup).gather(about(), SourcePlan(name="entities", limit=2))) == 2


def test_a_weight_outside_its_range_gives_no_score_outside_its_range() -> None:
    """A store may hold anything."""
    found = from_relation(a_relation("a", "b", "c", weight=7.0, confidence=-1.0), CAROLINE, ACME, depth=0, likely=0.3)
    assert found.graph is not None
    assert (found.graph.salience, found.graph.prior, found.confidence) == (0.0, 0.0, 0.0)
