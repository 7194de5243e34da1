"""Graph contract: the tests of `StoreContract` about entities, relations and patterns, and about tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from germane.errors import Conflict, GermaneError, InvalidInput, NotFound
from germane.kinds.events.reads import PutEvent
from germane.kinds.graph.reads import (
    CausalChain,
    CountPattern,
    EndRelation,
    EntitiesById,
    EntitiesNamed,
    ListEntities,
    MatchingPatterns,
    MentionedIn,
    MentionsOf,
    MergeEntities,
    OpenRelations,
    PatternById,
    PutEntity,
    PutMentions,
    PutPattern,
    RelationsById,
    RelationsOf,
    SalientEntities,
    SeenEntities,
    SeenNamed,
    ShortestPath,
    WalkFrom,
)
from germane.kinds.graph.statement import EntityStatement, keys_of
from germane.kinds.graph.value import EntityFinding, EntityName, Pattern, RelationFinding
from germane.kinds.inventory import AllowedIds, ScopeStats, TombstoneOf
from germane.kinds.memories.reads import Forget, ForgetOwner, IdsInUse, LeftOf, PutMemory, Select
from germane.kinds.tasks.plans import TaskOutcome, new_frame, pop_task, push_task
from germane.kinds.tasks.reads import FramesById, HeadOf, ListFrames, OpenChildren, PathTo, PutFrame, StackView
from germane.kinds.tasks.value import TaskFrame, shown_task
from germane.stores.contract import ExaminesItself, ScopedStore, Store
from germane.types.plan import uuid7
from germane.types.query import Filters
from germane.types.scope import Scope
from germane_testing.builders import (
    DAY,
    EVERY,
    NOON,
    a_memory,
    a_relation,
    an_entity,
    an_event,
    asking,
    living,
    named,
    person,
    put,
    put_relation,
    saying,
    writing,
)
from germane_testing.scope_contract import AGENT, ANNA, BEN, LATER


class GraphContract:
    """Tests of the graph. Inherit `StoreContract`, which has them all."""

    @pytest.mark.requirement("GRAPH-2")
    async def test_an_entity_comes_back_equal(self, scoped: ScopedStore) -> None:
        """Every field, found by id and by each of its names; a change of its names changes what finds it."""
        entity = an_entity("Zoë \x00", aliases=("Zo",), properties={"born": 1990, "n": [1]}, salience=0.5, sensitivity="public")
        await scoped.commit(writing(put(entity)))
        assert await scoped.ask(SeenEntities([entity.id, "absent"])) == (entity,)
        assert (await scoped.ask(SeenEntities([entity.id])))[0].properties == {"born": 1990, "n": [1]}
        assert await scoped.ask(SeenNamed(keys_of(entity), filters=Filters())) == (entity,)
        await scoped.commit(writing(put(replace(entity, aliases=("Z",)))))
        assert await named(scoped, "zo") == []
        assert await named(scoped, "z") == ["Zoë \x00"]
        assert await scoped.commit(asking(EntitiesById((entity.id,)))) == {entity.id: replace(entity, aliases=("Z",))}
        by_key: Any = await scoped.commit(asking(EntitiesNamed(("z", "zo"))))
        assert list(by_key) == ["z"]

    @pytest.mark.requirement("GRAPH-2")
    async def test_a_relation_comes_back_equal_and_ends(self, scoped: ScopedStore) -> None:
        """At most one of a source, type and target is open; a time decides what holds."""
        one, other, event = an_entity(), an_entity("Acme", "organisation"), an_event()
        relation = a_relation(
            one, other, "works_at", weight=0.5, confidence=0.9, properties={"as": "engineer"}, refs=(event.id,)
        )
        await scoped.commit(writing(PutEvent(event), put(one), put(other), put_relation(relation)))
        assert await scoped.ask(RelationsOf(one.id, at=None)) == (relation,)
        assert await scoped.ask(RelationsOf(other.id, at=NOON)) == (relation,)
        assert await scoped.commit(asking(RelationsById((relation.id, "absent")))) == {relation.id: relation}
        with pytest.raises(Conflict):
            await scoped.commit(writing(put_relation(a_relation(one, other, "works_at"))))
        await scoped.commit(writing(EndRelation(relation.id, NOON + DAY)))
        assert await scoped.commit(asking(OpenRelations(((one.id, "works_at"),)))) == ()
        (ended,) = await scoped.commit(asking(OpenRelations(((one.id, "works_at"),), with_ended=True)))
        assert ended.valid_to == NOON + DAY
        assert await scoped.ask(RelationsOf(one.id, at=NOON + DAY)) == ()
        assert await scoped.ask(RelationsOf(one.id, at=NOON)) == (ended,)
        with pytest.raises(NotFound):
            await scoped.commit(writing(EndRelation(relation.id, NOON)))
        await scoped.commit(writing(put_relation(a_relation(one, other, "works_at", valid_from=LATER))))

    @pytest.mark.requirement("GRAPH-4")
    async def test_what_is_found_again_is_one_entity(self, scoped: ScopedStore) -> None:
        """By its name or an alias, whatever the case; each mention raises its salience; another type is another entity."""
        first, _ = await scoped.commit(saying("a", [person("Caroline", "Caro", age=30)]))
        again = [person("CARO", city="Lisbon"), EntityFinding(type="file", name="caroline")]
        second, linked = await scoped.commit(saying("b", again, position=1))
        (entity,) = await scoped.ask(SeenNamed(["caro"], filters=Filters()))
        assert (entity.name, entity.aliases, entity.mentions) == ("Caroline", ("Caro",), 2)
        assert entity.properties == {"age": 30, "city": "Lisbon"}
        assert entity.salience == pytest.approx(0.19)
        assert await scoped.ask(MentionsOf(entity.id)) == (second, first)
        assert await scoped.ask(MentionsOf(entity.id, before=NOON + timedelta(seconds=1))) == (first,)
        assert await scoped.ask(MentionedIn([first, second, "absent"])) == {
            first: (entity.id,),
            second: tuple(one.id for one in linked.entities),
        }

    @pytest.mark.requirement("GRAPH-4")
    async def test_an_ambiguous_name_merges_nothing(self, scoped: ScopedStore) -> None:
        """Two entities with one alias: a text with that name alone makes a third one, which the next text then means."""
        await scoped.commit(saying("a", [person("Anna Lind", "Anna")]))
        await scoped.commit(saying("b", [person("Anna Berg")], position=1))
        berg = (await scoped.ask(SeenNamed(["anna berg"], filters=EVERY)))[0]
        known = replace(berg, aliases=("Anna",))
        await scoped.commit(writing(PutEntity(known, keys_of(known))))
        for position in (2, 3):
            await scoped.commit(saying("c", [person("Anna")], position=position))
        assert sorted(await named(scoped, "anna")) == ["Anna", "Anna Berg", "Anna Lind"]

    @pytest.mark.requirement("GRAPH-2")
    async def test_a_newer_exclusive_relation_ends_the_older(self, scoped: ScopedStore) -> None:
        """Also where the older one is heard of later. Without the newer one, the older has no end again."""
        places = [EntityFinding(type="place", name=name) for name in ("Porto", "Lisbon", "Faro")]
        caro = person("Caro")
        await scoped.commit(saying("1", [caro, *places], living("Caro", "Porto", exclusive=True)))
        then = {"created_at": NOON + 9 * DAY, "position": 1}
        second, _ = await scoped.commit(saying("2", [caro, *places], living("Caro", "Lisbon", exclusive=True), **then))
        late = {"created_at": NOON + 5 * DAY, "position": 2}
        await scoped.commit(saying("3", [caro, *places], living("Caro", "Faro", exclusive=True), **late))

        async def lives(at: datetime) -> list[str]:
            (entity,) = await scoped.ask(SeenNamed(["caro"], filters=EVERY))
            held = await scoped.ask(RelationsOf(entity.id, at=at))
            return [one.name for one in await scoped.ask(SeenEntities([relation.target for relation in held]))]

        assert [await lives(NOON + days * DAY) for days in (0, 5, 9)] == [["Porto"], ["Faro"], ["Lisbon"]]
        await scoped.commit(writing(Forget(event_ids=(second,), at=LATER)))
        assert [await lives(NOON + days * DAY) for days in (0, 5, 9)] == [["Porto"], ["Faro"], ["Faro"]]

    @pytest.mark.requirement("GRAPH-2", "MEM-3")
    async def test_what_is_forgotten_takes_what_it_said_along(self, store: Store) -> None:
        """Names and properties that only it knew, relations and entities that nothing else mentions, what was learned from it;
        what else is said stays, and so does what was stored on purpose."""
        scoped = store.within(AGENT)
        kept = an_entity("Lisbon", "place")
        await scoped.commit(writing(put(kept)))
        place = EntityFinding(type="place", name="Lisbon", properties={"secret": "canary"})
        told = [person("Caroline", "canary-alias", phone="canary-phone"), person("Mel"), place]
        said, linked = await scoped.commit(saying("x", told, living("Caroline", "Lisbon")))
        await scoped.commit(saying("y", [person("Caroline", city="Faro")], position=1))
        pattern = Pattern(id=uuid7(1), action="canary-action", created_at=NOON, updated_at=NOON)
        await scoped.commit(writing(PutPattern(pattern, (said,))))
        selected = await scoped.commit(asking(Select(ids=(said,))))
        gone = {one.id for one in linked.entities if one.name == "Mel"} | {linked.relations[0].id, pattern.id}
        assert set(selected.graph_ids) == gone, "a dry run tells what would go"
        change = Forget(event_ids=selected.event_ids, graph_ids=selected.graph_ids, at=LATER, by="me")
        await scoped.commit(writing(change))
        found = (await scoped.ask(ListEntities(EVERY))).entities
        assert [(one.name, one.aliases, dict(one.properties), one.mentions) for one in found] == [
            ("Caroline", (), {"city": "Faro"}, 1),
            ("Lisbon", (), {}, 0),
        ]
        assert await scoped.ask(MatchingPatterns([], intent=None, entity_types=[], filters=EVERY)) == ()
        left = await scoped.commit(asking(LeftOf((said, *selected.graph_ids))))
        assert not left.holding
        stone = await scoped.ask(TombstoneOf(pattern.id))
        assert stone is not None
        assert (stone.what, stone.by) == ("pattern", "me")
        assert not isinstance(store, ExaminesItself) or (await store.verify(full=True)).healthy

    @pytest.mark.requirement("GRAPH-2", "MEM-3")
    async def test_a_memory_that_changes_says_what_it_says_now(self, scoped: ScopedStore) -> None:
        """What its old text said of entities goes with the old text."""
        memory = a_memory("Caroline lives in Faro")
        entity = an_entity()
        changes = (PutMemory(memory), PutEntity(entity, keys_of(entity)))
        mention = PutMentions(memory.id, (entity.id,), {entity.id: EntityStatement(names=("Caroline",))})
        await scoped.commit(writing(*changes, mention))
        assert await scoped.ask(MentionsOf(entity.id)) == (memory.id,)
        await scoped.commit(writing(PutMemory(a_memory("She moved", id=memory.id, updated_at=LATER))))
        assert await scoped.ask(SeenEntities([entity.id])) == ()

    @pytest.mark.requirement("GRAPH-2", "MEM-3")
    async def test_entities_and_relations_are_forgotten_by_id_and_with_everything(self, store: Store) -> None:
        """With their relations; nothing is left in the statistics either."""
        scoped = store.within(ANNA)
        one, other = an_entity(user="anna"), an_entity("Mel", user="anna")
        relation = a_relation(one, other, user="anna")
        pattern = Pattern(id=uuid7(1), action="restart", user="anna", created_at=NOON, updated_at=NOON)
        await scoped.commit(writing(put(one), put(other), put_relation(relation), PutPattern(pattern)))
        stats = await scoped.ask(ScopeStats(NOON))
        assert (stats.entities, stats.relations, stats.patterns) == (2, 1, 1)
        selected = await scoped.commit(asking(Select(ids=(one.id,))))
        assert selected.graph_ids == (one.id,)
        await scoped.commit(writing(Forget(graph_ids=(one.id,), at=LATER)))
        assert await scoped.ask(RelationsOf(other.id, at=None)) == ()
        assert (await scoped.commit(asking(LeftOf((one.id,))))).holding == ()
        assert set((await scoped.commit(asking(Select(everything=True)))).graph_ids) == {other.id, pattern.id}
        await scoped.commit(writing(ForgetOwner(at=LATER)))
        assert (await scoped.ask(ListEntities(EVERY))).entities == ()
        stats = await scoped.ask(ScopeStats(NOON))
        assert (stats.entities, stats.relations, stats.patterns) == (0, 0, 0)

    @pytest.mark.requirement("SCOPE-2", "GRAPH-2")
    async def test_no_scope_reaches_the_graph_of_another(self, store: Store) -> None:
        """Not by name, id, walk, path, mention, pattern or gate; not to change it; users see what is agent-wide."""
        owner = store.within(ANNA)
        one, other, event = an_entity(user="anna"), an_entity("Mel", user="anna"), an_event(user="anna")
        relation = a_relation(one, other, user="anna")
        pattern = Pattern(id=uuid7(1), action="restart", user="anna", created_at=NOON, updated_at=NOON)
        mention = PutMentions(event.id, (one.id,))
        put_all = (PutEvent(event), put(one), put(other), put_relation(relation), PutPattern(pattern), mention)
        await owner.commit(writing(*put_all))
        ids = [one.id, relation.id, pattern.id]
        assert await owner.ask(AllowedIds(ids, LATER, Filters())) == frozenset(ids)
        for scope in (AGENT, BEN, Scope(user="anna", agent="other"), Scope(user="anna", org="other")):
            stranger = store.within(scope)
            await stranger.commit(writing(put(an_entity("Own", user=scope.user))))
            assert await stranger.ask(SeenEntities([one.id])) == ()
            assert await stranger.ask(SeenNamed(["caroline"], filters=EVERY)) == ()
            assert {found.name for found in await stranger.ask(SalientEntities(9, at=NOON, filters=EVERY))} == {"Own"}
            assert {found.name for found in (await stranger.ask(ListEntities(EVERY))).entities} == {"Own"}
            assert (await stranger.ask(WalkFrom([one.id], depth=3, fan_out=9, at=None, filters=EVERY))).entities == ()
            assert await stranger.ask(ShortestPath(one.id, other.id, at=None, filters=EVERY)) is None
            assert await stranger.ask(CausalChain(one.id, ["knows"], backwards=False)) == ()
            assert await stranger.ask(RelationsOf(one.id, at=None)) == ()
            assert await stranger.ask(MentionsOf(one.id)) == ()
            assert await stranger.ask(MentionedIn([event.id])) == {}
            assert await stranger.ask(MatchingPatterns([], intent=None, entity_types=[], filters=EVERY)) == ()
            assert await stranger.ask(AllowedIds(ids, LATER, EVERY)) == frozenset()
            user = scope.user
            mine = an_entity("Mine", user=user)
            for change in (
                put(replace(one, user=user, name="Stolen")),
                EndRelation(relation.id, LATER),
                MergeEntities(mine.id, one.id),
                CountPattern(pattern.id, succeeded=True, at=LATER),
                PutPattern(replace(pattern, user=user)),
                put_relation(a_relation(mine, one, user=user)),
                PutMentions(event.id, (mine.id,)),
            ):
                with pytest.raises(GermaneError):
                    await stranger.commit(writing(put(mine), change))
            await stranger.commit(writing(Forget(graph_ids=tuple(ids), at=LATER)))
        assert await owner.ask(SeenEntities([one.id])) == (replace(one, mentions=1),)
        wide = an_entity("Everyone")
        await store.within(AGENT).commit(writing(put(wide)))
        assert await named(store.within(BEN), "everyone") == ["Everyone"]

    @pytest.mark.requirement("GRAPH-2")
    async def test_a_walk_is_bounded_and_ends_in_cycles(self, scoped: ScopedStore) -> None:
        """Depth, fan-out with the heaviest first, a limit; self-relations and cycles once; both directions."""
        hub, *rest = entities = [an_entity(f"n{n}") for n in range(8)]
        links = [a_relation(hub, one, weight=weight / 10) for weight, one in enumerate(rest[:4], start=1)]
        links += [
            a_relation(rest[4], hub, weight=0.9),
            a_relation(rest[4], rest[5]),
            a_relation(rest[5], hub, "back", weight=0.8),
        ]
        links += [a_relation(hub, hub, "self", weight=1.0)]
        await scoped.commit(writing(*map(put, entities), *map(put_relation, links)))
        found = await scoped.ask(WalkFrom([hub.id], depth=1, fan_out=3, at=None, filters=EVERY))
        assert found.relations == (links[7], links[4], links[6])
        assert (found.capped, found.depths) == (True, {hub.id: 0, rest[4].id: 1, rest[5].id: 1})
        found = await scoped.ask(WalkFrom([hub.id], depth=10, fan_out=20, at=None, filters=EVERY))
        assert set(found.relations) == set(links)
        assert not found.capped
        assert (await scoped.ask(WalkFrom([rest[5].id], depth=0, fan_out=1, at=None, filters=EVERY))).entities == (rest[5],)
        assert len((await scoped.ask(WalkFrom([hub.id], depth=9, fan_out=9, at=None, filters=EVERY, limit=2))).relations) == 2
        with pytest.raises(InvalidInput):
            await scoped.ask(WalkFrom([hub.id], depth=11, fan_out=9, at=None, filters=EVERY))

    @pytest.mark.requirement("GRAPH-2")
    async def test_paths_are_shortest_and_chains_follow_one_direction(self, scoped: ScopedStore) -> None:
        """A path says which relations are walked backwards; a chain follows the wanted types only, cycles included."""
        a, b, c, d = entities = [an_entity(name, "event") for name in "abcd"]
        links = [a_relation(a, b, "causes"), a_relation(b, c, "causes"), a_relation(d, c, "fixes"), a_relation(c, a, "causes")]
        await scoped.commit(writing(*map(put, entities), *map(put_relation, links), put(an_entity("alone"))))
        found = await scoped.ask(ShortestPath(a.id, d.id, at=None, filters=EVERY))
        assert found == ((links[3], True), (links[2], True))
        assert await scoped.ask(ShortestPath(a.id, a.id, at=None, filters=EVERY)) == ()
        alone = (await scoped.ask(SeenNamed(["alone"], filters=EVERY)))[0]
        assert await scoped.ask(ShortestPath(a.id, alone.id, at=None, filters=EVERY)) is None
        assert await scoped.ask(CausalChain(a.id, ["causes"], backwards=False)) == (links[0], links[1], links[3])
        assert await scoped.ask(CausalChain(c.id, ["causes"], backwards=True, limit=1)) == (links[1],)

    @pytest.mark.requirement("GRAPH-2", "GRAPH-4")
    async def test_what_is_said_again_is_known_among_many_relations(self, scoped: ScopedStore) -> None:
        """Of an entity with more than 100 relations of one type an old one is found again, and counts once."""
        for position, number in enumerate((*range(105), 0)):
            link = RelationFinding(source=EntityName("person", "Caro"), type="knows", target=EntityName("person", f"P{number}"))
            found = [person("Caro"), person(f"P{number}")]
            await scoped.commit(saying(f"Caro knows P{number}", found, link, position=position))
        (caro,) = await scoped.ask(SeenNamed(["caro"], filters=EVERY))
        pairs = ((caro.id, "knows"),)
        known = await scoped.commit(asking(OpenRelations(pairs, with_ended=True)))
        assert len(known) == 105
        (first,) = await scoped.ask(SeenNamed(["p0"], filters=EVERY))
        (again,) = await scoped.commit(asking(OpenRelations(pairs, with_ended=True, targets=(first.id,))))
        assert (again.target, len(again.refs)) == (first.id, 2)

    @pytest.mark.requirement("GRAPH-2", "GRAPH-6")
    async def test_salience_orders_by_the_time_asked_about(self, scoped: ScopedStore) -> None:
        """An old important entity falls behind a newer one as time passes, and both are listed by name in pages."""
        old = an_entity("Old", salience=0.8, salient_at=NOON - 90 * DAY)
        new, newest = an_entity("New", salience=0.3), an_entity("Newest", salience=0.9, salient_at=NOON + 9 * DAY)
        await scoped.commit(writing(*map(put, (old, new, newest))))

        async def salient(at: datetime, limit: int = 9, **filters: Any) -> list[str]:
            return [one.name for one in await scoped.ask(SalientEntities(limit, at=at, filters=Filters(**filters)))]

        assert await salient(NOON) == ["Newest", "New", "Old"]
        assert await salient(NOON - 90 * DAY) == ["Newest", "Old", "New"]
        assert await salient(NOON, 1) == ["Newest"]
        assert await salient(NOON, entity_types=("place",)) == []
        assert await salient(NOON, exclude=frozenset({newest.id})) == ["New", "Old"]
        first = await scoped.ask(ListEntities(EVERY, limit=2))
        assert [one.name for one in first.entities] == ["New", "Newest"]
        rest = await scoped.ask(ListEntities(EVERY, limit=2, cursor=first.cursor))
        assert ([one.name for one in rest.entities], rest.cursor) == (["Old"], None)
        assert [one.name for one in (await scoped.ask(ListEntities(EVERY, prefix="new"))).entities] == ["New", "Newest"]
        assert (await scoped.ask(ListEntities(EVERY, type="place"))).entities == ()
        with pytest.raises(InvalidInput):
            await scoped.ask(ListEntities(EVERY, prefix="n", cursor=first.cursor))

    @pytest.mark.requirement("GRAPH-2")
    async def test_sensitivities_hold_for_entities_and_what_they_say(self, scoped: ScopedStore) -> None:
        """What only a sensitive text says isn't shown with the rest, and a walk doesn't lead to it."""
        secret = {"sensitivity": "sensitive"}
        told = [person("Caro", "Secret Alias", illness="canary"), person("Doctor")]
        treated = RelationFinding(source=EntityName("person", "Caro"), type="sees", target=EntityName("person", "Doctor"))
        _, linked = await scoped.commit(saying("a", told, treated, **secret))
        assert await scoped.ask(SeenNamed(["caro"], filters=Filters())) == ()
        await scoped.commit(saying("b", [person("Caro", city="Faro")], position=1))
        (caro,) = await scoped.ask(SeenNamed(["caro"], filters=Filters()))
        assert (caro.aliases, caro.properties) == ((), {"city": "Faro"})
        found = await scoped.ask(WalkFrom([caro.id], depth=2, fan_out=9, at=None, filters=Filters()))
        assert (found.entities, found.relations) == ((caro,), ())
        assert await scoped.ask(AllowedIds([caro.id, linked.relations[0].id], LATER, Filters())) == frozenset({caro.id})
        assert await scoped.ask(AllowedIds([linked.relations[0].id], LATER, EVERY)) == frozenset({linked.relations[0].id})

    @pytest.mark.requirement("GRAPH-2")
    async def test_merging_moves_names_mentions_and_relations(self, store: Store) -> None:
        """Relations that say the same become one, and nothing of the merged entity is left."""
        scoped = store.within(AGENT)
        first, one = await scoped.commit(saying("a", [person("Caroline", a=1), person("Mel")]))
        second, two = await scoped.commit(saying("b", [person("Lina", b=2), person("Mel")], position=1))
        (caroline, mel), lina = one.entities, two.entities[0]
        links = [
            put_relation(a_relation(caroline, mel)),
            put_relation(a_relation(lina, mel)),
            put_relation(a_relation(lina, caroline)),
        ]
        await scoped.commit(writing(*links))
        await scoped.commit(writing(MergeEntities(caroline.id, lina.id)))
        (found,) = await scoped.ask(SeenNamed(["lina"], filters=EVERY))
        assert (found.id, found.name, found.aliases, found.mentions) == (caroline.id, "Caroline", ("Lina",), 2)
        assert found.properties == {"a": 1, "b": 2}
        assert await scoped.ask(MentionsOf(caroline.id)) == (second, first)
        assert len(await scoped.ask(RelationsOf(caroline.id, at=None))) == 1
        assert await scoped.ask(SeenEntities([lina.id])) == ()
        with pytest.raises(InvalidInput):
            await scoped.commit(writing(MergeEntities(mel.id, mel.id)))
        assert not isinstance(store, ExaminesItself) or (await store.verify()).healthy

    @pytest.mark.requirement("GRAPH-3", "SCORE-4")
    async def test_patterns_apply_where_all_they_say_matches(self, scoped: ScopedStore) -> None:
        """Keywords, intent and entity types; the best success rate first; each application counts."""
        made: dict[str, Any] = {"created_at": NOON, "updated_at": NOON}
        always = Pattern(id=uuid7(1), action="read the log", **made)
        narrow = Pattern(id=uuid7(2), action="pin it", keywords=("ssl", "tls"), intent="fix", entity_types=("tool",), **made)
        await scoped.commit(writing(PutPattern(always), PutPattern(narrow)))

        async def found(*words: str, intent: str | None = "fix", types: tuple[str, ...] = ("tool",)) -> list[str]:
            these = await scoped.ask(MatchingPatterns(words, intent=intent, entity_types=types, filters=Filters()))
            return [pattern.action for pattern in these]

        assert await found("tls") == ["read the log", "pin it"]
        assert await found("http") == ["read the log"]
        assert await found("tls", intent=None) == ["read the log"]
        assert await found("tls", types=("file",)) == ["read the log"]
        await scoped.commit(writing(CountPattern(narrow.id, succeeded=True, at=LATER)))
        await scoped.commit(writing(CountPattern(always.id, succeeded=False, at=LATER)))
        assert await found("ssl") == ["pin it", "read the log"]
        known = await scoped.commit(asking(PatternById(narrow.id)))
        assert known == replace(narrow, successes=1, applications=1, updated_at=LATER)


# What every store must keep of tasks.


SESSION = "work"
BENS_SESSION = replace(ANNA, user="ben")


def _frame(goal: str, user: str | None = ANNA.user) -> TaskFrame:
    return new_frame(goal, session=SESSION, user=user, at=NOON)


class TaskContract:
    """A stack is decided and written in one transaction, belongs to one owner, and leaves nothing behind."""

    @pytest.fixture
    def opening(self) -> Callable[[], Store]:
        raise NotImplementedError

    async def test_a_stack_is_read_back_as_it_was_written(self, opening: Callable[[], Store]) -> None:
        """By plans and by the reader, here and in another handle."""
        store = opening()
        mine = store.within(ANNA)
        root = await mine.commit(push_task(_frame("root")))
        child = await mine.commit(push_task(_frame("child")))
        assert (child.parent, child.depth) == (root.id, 1)
        assert [one.id for one in await mine.commit(asking(OpenChildren(root.id)))] == [child.id]
        assert [one.id for one in await mine.commit(asking(PathTo(child.id)))] == [root.id, child.id]
        before = await mine.revision()
        ended = await mine.commit(pop_task(SESSION, "complete", TaskOutcome(text="done"), at=LATER))
        assert await mine.revision() > before
        assert (ended.version, ended.closed_at) == (2, LATER)
        other = opening()
        view = await other.within(ANNA).ask(StackView(SESSION))
        assert view is not None
        assert ([one.id for one in view.path], [one.id for one in view.results]) == ([root.id], [child.id])
        head = await mine.commit(asking(HeadOf(SESSION)))
        assert head is not None
        assert (head.moves, head.open, head.frames) == (3, 1, 2)
        await other.close()
        await store.close()

    async def test_no_other_scope_reads_or_writes_a_task(self, opening: Callable[[], Store]) -> None:
        """Nor may a frame be written for somebody else, nor over somebody else's."""
        store = opening()
        mine = store.within(ANNA)
        frame = await mine.commit(push_task(_frame("mine")))
        for scope in (BENS_SESSION, replace(ANNA, user=None), replace(ANNA, agent="another"), Scope(org="x", user=ANNA.user)):
            theirs = store.within(scope)
            assert await theirs.ask(FramesById((frame.id,))) == {}
            assert await theirs.ask(StackView(SESSION)) is None
            assert await theirs.commit(asking(FramesById((frame.id,)))) == {}
            assert frame.id in (await theirs.commit(asking(IdsInUse((frame.id,))))).elsewhere
            stolen = replace(frame, user=scope.user, goal="theirs")
            await theirs.commit(writing(PutFrame(stolen)))
            await theirs.commit(writing(Forget(task_ids=(frame.id,), at=LATER)))
        with pytest.raises(InvalidInput):
            await store.within(BENS_SESSION).commit(writing(PutFrame(frame)))
        assert (await mine.ask(FramesById((frame.id,))))[frame.id].goal == "mine"
        await store.close()

    async def test_the_gate_passes_versions_that_were_and_none_that_will_be(self, opening: Callable[[], Store]) -> None:
        """A text says how a task stood then; a forgotten task, and a sensitivity that isn't allowed, pass no more."""
        store = opening()
        mine = store.within(ANNA)
        frame = await mine.commit(push_task(_frame("mine")))

        async def passed(scoped: ScopedStore, *names: str, **filters: Any) -> set[str]:
            return set(await scoped.ask(AllowedIds(names, LATER, Filters(**filters))))

        now, later, odd = shown_task(frame, 7), f"{frame.id}@2", (f"{frame.id}@", f"{frame.id}@x", f"{frame.id}@0", "@1")
        assert await passed(mine, now, later, *odd) == {now}
        await mine.commit(pop_task(SESSION, "complete", TaskOutcome(text="done"), at=LATER))
        assert await passed(mine, now, later) == {now, later}
        assert await passed(mine, now, sensitivities=("public",)) == set()
        assert await passed(store.within(BENS_SESSION), now, later) == set()
        await mine.commit(writing(Forget(task_ids=(frame.id,), at=LATER)))
        assert await passed(mine, now, later) == set()
        await store.close()

    async def test_an_owner_that_is_forgotten_leaves_no_task(self, opening: Callable[[], Store]) -> None:
        store = opening()
        mine = store.within(ANNA)
        frame = await mine.commit(push_task(_frame("mine")))
        await mine.commit(writing(ForgetOwner(user=ANNA.user, at=LATER)))
        assert await mine.ask(ListFrames(None, None, 10)) == ()
        assert await mine.commit(asking(HeadOf(SESSION))) is None
        known = await mine.commit(asking(IdsInUse((frame.id,))))
        assert known.forgotten == {frame.id}
        await store.close()
