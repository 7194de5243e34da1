"""Handle of the graph: the entities, relations and patterns of one scope, as `agent.graph`: add, find, relate, walk, learn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Any

from germane.api.arguments import normalise_filters, remarks
from germane.api.wiring import Parts
from germane.errors import InvalidInput, NotFound
from germane.kinds.graph.aliases import MAX_NAME, SHORT, name_key
from germane.kinds.graph.plans import add_entity, apply_pattern, end_relation, learn_pattern, merge_two, relate_two
from germane.kinds.graph.reads import (
    CausalChain,
    ListEntities,
    MatchingPatterns,
    MentionsOf,
    RelationsOf,
    SalientEntities,
    SeenEntities,
    SeenNamed,
    ShortestPath,
    WalkFrom,
)
from germane.kinds.graph.statement import MAX_ALIASES, MAX_PROPERTIES, EntityStatement
from germane.kinds.graph.traversal import MAX_DEPTH
from germane.kinds.graph.value import ENTITY_TYPES, Entity, EntityPage, Neighbourhood, Pattern, Relation, Step
from germane.kinds.memories.fields import ends_after, json_value, label, moment
from germane.kinds.memories.forgetting import forget, left_of
from germane.kinds.memories.value import Receipt
from germane.stores.contract import scrub_files
from germane.text.normal import fold
from germane.text.secrets.detection import SecretScreen
from germane.text.terms import analyse
from germane.types.candidate import SENSITIVITIES, Sensitivity
from germane.types.checks import (
    check_entries,
    check_flags,
    check_number,
    check_one_of,
    check_optional_text,
    check_text,
    check_type,
    check_whole_number,
)
from germane.types.limits import CURSOR, ID, IDS, NAME, NAMES, PAGE, QUERY, REMARK, TAG
from germane.types.operation import operation
from germane.types.plan import uuid7
from germane.types.query import EVERY_SENSITIVITY, Filters
from germane.types.scope import Scope

_FAN_OUT = 200
_MAX_SAME = 20


class AgentGraph:
    """What one scope knows of people, places, files and other things. It reads what is its user's own and what is agent-wide,
    and changes its user's own (what is agent-wide, where it has no user). An entity is named by its id or by a name; a name
    that several have raises `InvalidInput` with their ids. Everything raises `InvalidInput` for arguments beyond the limits."""

    def __init__(self, parts: Parts, scope: Scope) -> None:
        self._parts, self._scope = parts, scope
        self._store = parts.store.within(scope)

    @cached_property
    def patterns(self) -> Patterns:
        """What worked before."""
        return Patterns(self._parts, self._scope)

    @operation("write")
    async def add(
        self,
        type: str,
        name: str,
        *,
        aliases: Iterable[str] = (),
        properties: Mapping[str, Any] | None = None,
        sensitivity: Sensitivity = "private",
    ) -> Entity:
        """Stores an entity and returns it. Where one of this type has one of the names, what is new is added to it. It stays
        until it is forgotten. Raises `Conflict` where several have the names."""
        other = check_entries("aliases", aliases, replace(NAMES, maximum=MAX_ALIASES), NAME)
        screen = self._screen("the entity")
        names = tuple(dict.fromkeys(screen.text(_name("name", one))[:MAX_NAME] for one in (name, *other)))
        said = EntityStatement(names=names, properties=screen.json(_properties(properties)), sensitivity=_level(sensitivity))
        plan = add_entity(_type(type), said, user=self._scope.user, at=self._now())
        return await self._store.commit(plan)

    @operation("read")
    async def get(self, id: str) -> Entity:
        """Returns the entity with this id. Raises `NotFound`."""
        found = await self._store.ask(SeenEntities([check_text("id", id, ID)]))
        if not found:
            raise NotFound("no entity {} here", id)
        return found[0]

    @operation("read")
    async def find(self, name: str, type: str | None = None) -> tuple[Entity, ...]:
        """Returns the entities that have this name or alias, whatever its case and accents; of one `type` where it is given.
        Where none has it, the one of which it is a short form, as Caro is of Caroline; none where that fits several."""
        return await self._named(check_text("name", name, NAME), None if type is None else _type(type))

    @operation("read")
    async def list(
        self,
        type: str | None = None,
        *,
        prefix: str = "",
        limit: int = 50,
        cursor: str | None = None,
        filters: Filters | None = None,
    ) -> EntityPage:
        """Returns a page of entities by name: those whose name begins with `prefix`."""
        check_optional_text("cursor", cursor, CURSOR)
        given = normalise_filters(filters, self._scope.zone) or EVERY_SENSITIVITY
        chosen = None if type is None else _type(type)
        key, number_of = (
            name_key(check_text("prefix", prefix, NAME)),
            check_whole_number("limit", limit, low=1, high=PAGE.maximum),
        )
        return await self._store.ask(ListEntities(given, prefix=key, type=chosen, limit=number_of, cursor=cursor))

    @operation("read")
    async def salient(self, limit: int = 10, *, at: datetime | str | None = None) -> tuple[Entity, ...]:
        """Returns the entities that matter most at a time (default: now): often mentioned, and lately."""
        count = check_whole_number("limit", limit, low=1, high=PAGE.maximum)
        return await self._store.ask(SalientEntities(count, at=self._time("at", at) or self._now(), filters=EVERY_SENSITIVITY))

    @operation("write")
    async def relate(
        self,
        source: str,
        type: str,
        target: str,
        *,
        weight: float = 1.0,
        confidence: float = 0.8,
        properties: Mapping[str, Any] | None = None,
        valid_from: datetime | str | None = None,
        valid_to: datetime | str | None = None,
        exclusive: bool = False,
        sensitivity: Sensitivity = "private",
    ) -> Relation:
        """Stores how one entity stands to another, from `valid_from` (default: now) until `valid_to`, and returns it. A
        relation that says the same of the same time is the same one. `exclusive`: the source has one target of this type at a
        time, so that what held before ends. Raises `NotFound`."""
        check_flags(exclusive=exclusive)
        now = self._now()
        begins, ends = self._time("valid_from", valid_from) or now, self._time("valid_to", valid_to)
        ends_after(begins, given=valid_from is not None, valid_to=ends)
        relation = Relation(
            id=uuid7(int(now.timestamp() * 1000)),
            source=await self._id("source", source),
            type=_type(type),
            target=await self._id("target", target),
            user=self._scope.user,
            weight=check_number("weight", weight, 0, 1),
            confidence=check_number("confidence", confidence, 0, 1),
            properties=self._screen("the relation").json(_properties(properties)),
            valid_from=begins,
            valid_to=ends,
            sensitivity=_level(sensitivity),
            created_at=now,
            updated_at=now,
        )
        return await self._store.commit(relate_two(relation, exclusive=exclusive, at=now))

    @operation("write")
    async def unrelate(self, id: str, at: datetime | str | None = None) -> Relation:
        """Ends a relation at a time (default: now) and returns it. Raises `NotFound`."""
        return await self._store.commit(end_relation(check_text("id", id, ID), self._time("at", at) or self._now()))

    @operation("read")
    async def relations(self, entity: str, *, at: datetime | str | None = None, limit: int = 100) -> tuple[Relation, ...]:
        """Returns the relations of an entity in both directions, the heaviest first; those that hold `at` a time where it is
        given, else all. Raises `NotFound`."""
        count = check_whole_number("limit", limit, low=1, high=PAGE.maximum)
        return await self._store.ask(RelationsOf(await self._id("entity", entity), at=self._time("at", at), limit=count))

    @operation("read")
    async def mentions(self, entity: str, *, limit: int = 100, before: datetime | str | None = None) -> tuple[str, ...]:
        """Returns the ids of the messages and memories that mention an entity, the latest first. Raises `NotFound`."""
        count = check_whole_number("limit", limit, low=1, high=PAGE.maximum)
        return await self._store.ask(
            MentionsOf(await self._id("entity", entity), limit=count, before=self._time("before", before))
        )

    @operation("read")
    async def traverse(
        self, start: str, *, depth: int = 2, fan_out: int = 20, at: datetime | str | None = None, limit: int = 200
    ) -> Neighbourhood:
        """Returns what is within `depth` steps (0 to 10) of an entity: breadth first, in both directions, of each entity at
        most `fan_out` relations, the heaviest first, and at most `limit` relations in all. `at` leaves out what doesn't hold
        then. Raises `NotFound`."""
        check_whole_number("depth", depth, high=MAX_DEPTH)
        check_whole_number("fan_out", fan_out, low=1, high=_FAN_OUT)
        check_whole_number("limit", limit, low=1, high=PAGE.maximum)
        bounds: dict[str, Any] = {"depth": depth, "fan_out": fan_out, "limit": limit, "at": self._time("at", at)}
        return await self._store.ask(WalkFrom([await self._id("start", start)], filters=EVERY_SENSITIVITY, **bounds))

    @operation("read")
    async def path(self, start: str, goal: str, *, at: datetime | str | None = None) -> tuple[Step, ...] | None:
        """Returns a shortest path between two entities, of at most 10 relations in either direction; () where both are one,
        None where there is none. Raises `NotFound`."""
        ends = await self._id("start", start), await self._id("goal", goal)
        return await self._store.ask(ShortestPath(*ends, at=self._time("at", at), filters=EVERY_SENSITIVITY))

    @operation("read")
    async def chain(
        self, start: str, types: Iterable[str] = ("causes", "fixes"), *, backwards: bool = False, limit: int = 50
    ) -> tuple[Relation, ...]:
        """Returns the causal chain from an entity: relations of these types followed from source to target, or `backwards`, the
        nearest first. Raises `NotFound`."""
        check_flags(backwards=backwards)
        wanted, count = check_entries("types", types, NAMES, TAG), check_whole_number("limit", limit, low=1, high=PAGE.maximum)
        return await self._store.ask(CausalChain(await self._id("start", start), wanted, backwards=backwards, limit=count))

    @operation("write")
    async def merge(self, kept: str, gone: str) -> Entity:
        """Makes one entity of two: names, mentions and relations of `gone` go to `kept`, which is returned. Raises
        `NotFound`."""
        one, other = await self._id("kept", kept), await self._id("gone", gone)
        await self._store.commit(merge_two(one, other))
        self._parts.engine.forget(self._scope)
        return await self.get(one)

    @operation("write")
    async def forget(self, ids: Sequence[str], *, dry_run: bool = False, by: str = "", reason: str = "") -> Receipt:
        """Forgets entities with their relations, relations, and patterns, by id, and returns the receipt of `Agent.forget`."""
        check_flags(dry_run=dry_run)
        wanted = check_entries("ids", (ids,) if isinstance(ids, str) else ids, IDS, ID)
        given = remarks(self._parts.secrets, by, reason)
        receipt = await self._store.commit(forget(ids=wanted, scope=self._scope, at=self._now(), dry_run=dry_run, **given))
        if dry_run:
            return receipt
        self._parts.engine.forget(self._scope)
        receipt = await self._store.commit(left_of(receipt))
        waiting_for = await scrub_files(self._store)
        return replace(receipt, scrubbed=not waiting_for, waiting_for=waiting_for)

    def __repr__(self) -> str:
        return f"<AgentGraph {self._scope}>"

    async def _id(self, path: str, entity: str) -> str:
        """Returns the id of an entity that is named by its id or by a name."""
        named = check_text(path, entity, ID)
        if found := await self._store.ask(SeenEntities([named])):
            return found[0].id
        same = await self._named(named, None, limit=_MAX_SAME)
        if not same:
            raise NotFound("no entity {} here", entity)
        if len(same) > 1:
            those = ", ".join(f"{one.id} ({one.type})" for one in same)
            raise InvalidInput(
                f"{{}} is the name of {len(same)} entities",
                entity,
                path=path,
                advice=f"give the id of one of them: {those}",
            )
        return same[0].id

    async def _named(self, name: str, type: str | None, limit: int = 50) -> tuple[Entity, ...]:
        """Looks a name up as it is, then as one of each type may be written, then as a short form."""
        filters = EVERY_SENSITIVITY if type is None else replace(EVERY_SENSITIVITY, entity_types=(type,))
        plain = name_key(name)
        typed = tuple(dict.fromkeys(name_key(name, one) for one in (ENTITY_TYPES if type is None else (type,))))
        for keys in ((plain,), typed):
            if found := await self._store.ask(SeenNamed(keys, filters=filters, limit=limit)):
                return found
        short = await self._store.ask(SeenNamed([SHORT + key for key in (plain, *typed) if key], filters=filters, limit=2))
        return short if len(short) == 1 else ()

    def _screen(self, place: str) -> SecretScreen:
        return SecretScreen(self._parts.secrets, place)

    def _time(self, name: str, value: datetime | str | None) -> datetime | None:
        return None if value is None else moment(name, value, self._scope.zone)

    def _now(self) -> datetime:
        return self._parts.clock.now()


class Patterns:
    """What worked before, as `agent.graph.patterns`."""

    def __init__(self, parts: Parts, scope: Scope) -> None:
        self._parts, self._scope = parts, scope
        self._store = parts.store.within(scope)

    @operation("write")
    async def learn(
        self,
        action: str,
        *,
        keywords: Iterable[str] = (),
        intent: str | None = None,
        entity_types: Iterable[str] = (),
        sensitivity: Sensitivity = "private",
    ) -> Pattern:
        """Stores an action and when it applies, and returns the pattern; learning the same again returns the one that is there.
        `keywords` are words of requests, `intent` is fix, explain, question, action or other."""
        check_optional_text("intent", intent, TAG)
        screen = SecretScreen(self._parts.secrets, "the pattern")
        if not (said := screen.text(check_text("action", action, REMARK)).strip()):
            raise InvalidInput("is empty", path="action", advice="say what to do")
        now = self._parts.clock.now()
        given = [screen.text(word) for word in check_entries("keywords", keywords, NAMES, TAG)]
        pattern = Pattern(
            id=uuid7(int(now.timestamp() * 1000)),
            action=said,
            keywords=tuple(dict.fromkeys(fold(word).strip() for word in given if word.strip())),
            intent=intent,
            entity_types=check_entries("entity_types", entity_types, NAMES, TAG),
            user=self._scope.user,
            sensitivity=_level(sensitivity),
            created_at=now,
            updated_at=now,
        )
        return await self._store.commit(learn_pattern(pattern))

    @operation("read")
    async def match(
        self, query: str = "", *, intent: str | None = None, entity_types: Iterable[str] = (), limit: int = 20
    ) -> tuple[Pattern, ...]:
        """Returns the patterns that apply to a request: all that a pattern says must match. The best success rate first."""
        check_optional_text("intent", intent, TAG)
        asked = fold(check_text("query", query, QUERY))
        words = tuple(dict.fromkeys((*asked.split(), *analyse(asked))))[: NAMES.maximum]
        count = check_whole_number("limit", limit, low=1, high=PAGE.maximum)
        types = check_entries("entity_types", entity_types, NAMES, TAG)
        return await self._store.ask(
            MatchingPatterns(words, intent=intent, entity_types=types, filters=EVERY_SENSITIVITY, limit=count)
        )

    @operation("write")
    async def apply_result(self, id: str, succeeded: bool) -> Pattern:
        """Counts that a pattern was tried, and whether it worked; returns the pattern. Raises `NotFound`."""
        check_flags(succeeded=succeeded)
        plan = apply_pattern(check_text("id", id, ID), succeeded=succeeded, at=self._parts.clock.now())
        return await self._store.commit(plan)

    def __repr__(self) -> str:
        return f"<Patterns {self._scope}>"


def _name(what: str, value: str) -> str:
    name = label(what, value, max_length=MAX_NAME)
    if not name_key(name):
        raise InvalidInput("has no character that can be looked up", path=what)
    return name


def _type(value: str) -> str:
    return label("type", value, max_length=TAG.maximum)


def _properties(value: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if value is None:
        return {}
    check_type("properties", value, Mapping, "a mapping")
    if len(value) > MAX_PROPERTIES:
        raise InvalidInput(f"has {len(value):,} entries, {MAX_PROPERTIES} are allowed", path="properties")
    found: Mapping[str, Any] = json_value("properties", {label("properties", name): one for name, one in value.items()})
    return found


def _level(value: Sensitivity) -> Sensitivity:
    return check_one_of("sensitivity", value, SENSITIVITIES)
