"""Graph sources: entities, relations and patterns (GRAPH-6), and the lookup of the entities that a query names.

What the graph offers has no text to search in, so its relevance is a prior, P(relevant) by what the graph says, of the same
meaning as the P of every other source (SCORE-2). The priors are set by hand: there are no labelled data for such items, and
no built-in strategy except those of archetypes asks for them.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar

from germane.kinds.graph.aliases import SHORT, name_key
from germane.kinds.graph.reads import MatchingPatterns, SalientEntities, SeenNamed, WalkFrom
from germane.kinds.graph.traversal import decayed
from germane.kinds.graph.value import Entity, Pattern, Relation, entity_hash, pattern_hash, relation_hash
from germane.stages.gather.source import KnownEntities, NamesEntities, Source, SourceNature, SourceParts
from germane.stores.contract import ScopedStore
from germane.text.terms import unspaced
from germane.types.candidate import (
    SENSITIVITIES,
    Candidate,
    EntityText,
    GraphItem,
    PatternText,
    Provenance,
    RelationText,
)
from germane.types.query import Filters, Query
from germane.types.strategy import SourcePlan

_MENTIONED_PRIOR, _SALIENT_PRIOR = 0.3, 0.01
"""P(relevant) of an entity that the query names, and of the most salient one that it doesn't."""
_RELATED_PRIOR, _PATTERN_PRIOR = 0.3, 0.3
"""P(relevant) of a certain relation of a mentioned entity, and of a pattern that applies and never failed."""
_MENTION_FACTOR = 2.0
"""By what the salience of a mentioned entity is multiplied, up to 1."""
_MAX_PROPERTIES, _MAX_VALUE = 8, 200
"""Properties of an entity that are shown, and characters of one."""


class EntitySource:
    """The entities that the query names, then the ten most salient of the others."""

    nature: ClassVar = SourceNature()

    def __init__(self, lookup: NamesEntities) -> None:
        self._lookup = lookup

    @classmethod
    def planned(cls, plan: SourcePlan, parts: SourceParts) -> Source:
        return cls(parts.lookup)

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        known = await self._lookup.of(query)
        found = [from_entity(one, query, mentioned=True) for one in known.mentioned]
        return [*found, *(from_entity(one, query, mentioned=False) for one in known.salient)][: plan.limit]


class RelationSource:
    """The relations around the entities that the query names, or else around the most salient ones: both ways, up to `depth`
    steps, `fan_out` relations of one entity. Those that don't hold at the time asked about are left out, unless the request
    asks for what has ended."""

    nature: ClassVar = SourceNature()

    def __init__(self, store: ScopedStore, lookup: NamesEntities, *, depth: int, fan_out: int) -> None:
        self._store, self._lookup, self._depth, self._fan_out = store, lookup, depth, fan_out

    @classmethod
    def planned(cls, plan: SourcePlan, parts: SourceParts) -> Source:
        return cls(parts.store, parts.lookup, depth=parts.strategy.depth, fan_out=parts.strategy.fan_out)

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        known = await self._lookup.of(query)
        starts = known.mentioned or known.salient
        if not starts or not self._depth:
            return []
        filters = query.said_by_then
        around = await self._store.ask(
            WalkFrom(
                [entity.id for entity in starts],
                depth=self._depth,
                fan_out=self._fan_out,
                at=None if filters.with_ended else query.at,
                filters=filters,
                limit=plan.limit,
            )
        )
        entities = {entity.id: entity for entity in (*starts, *around.entities)}
        likely = _RELATED_PRIOR if known.mentioned else _SALIENT_PRIOR
        found = list[Candidate]()
        for relation in around.relations:
            ends = (entities.get(relation.source), entities.get(relation.target))
            if ends[0] is None or ends[1] is None or not (known_by(ends[0], filters) and known_by(ends[1], filters)):
                continue
            depth = min(around.depths.get(relation.source, self._depth), around.depths.get(relation.target, self._depth))
            found.append(from_relation(relation, ends[0], ends[1], depth=depth, likely=likely))
        return found[: plan.limit]


class PatternSource:
    """The patterns that apply: by the query's words, its intent, and the types of the entities that it names."""

    nature: ClassVar = SourceNature()

    def __init__(self, store: ScopedStore, lookup: NamesEntities) -> None:
        self._store, self._lookup = store, lookup

    @classmethod
    def planned(cls, plan: SourcePlan, parts: SourceParts) -> Source:
        return cls(parts.store, parts.lookup)

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        filters = query.said_by_then
        if lacks_what_is_filtered(filters):
            return []
        known = await self._lookup.of(query)
        found = await self._store.ask(
            MatchingPatterns(
                [term.word for term in query.terms],
                intent=query.intent,
                entity_types=sorted({entity.type for entity in known.mentioned}),
                filters=filters,
                limit=plan.limit,
            )
        )
        known_then = (one for one in found if filters.until is None or one.created_at <= filters.until)
        return [from_pattern(one) for one in known_then if filters.since is None or one.updated_at >= filters.since]


def from_entity(entity: Entity, query: Query, *, mentioned: bool) -> Candidate:
    """A candidate of an entity; its usefulness is its salience at the time asked about, doubled where the query names it."""
    salience = entity.salience_at(query.at)
    shown = EntityText(type=entity.type, name=entity.name, properties=_properties(entity.properties))
    about = ", ".join(f"{key}: {value}" for key, value in shown.properties)
    return Candidate(
        id=entity.id,
        source="entities",
        category="entity",
        text=f"{entity.type}: {entity.name}{f' ({about})' if about else ''}",
        created_at=max(entity.salient_at, entity.updated_at),
        kinds=("entity",),
        sensitivity=entity.sensitivity,
        title=entity.name,
        content_hash=entity_hash(entity.type, entity.name, entity.properties),
        graph=GraphItem(
            shown=shown,
            prior=_MENTIONED_PRIOR if mentioned else _SALIENT_PRIOR * _part(salience),
            salience=_part(salience * _MENTION_FACTOR if mentioned else salience),
        ),
    )


def from_relation(relation: Relation, source: Entity, target: Entity, *, depth: int, likely: float) -> Candidate:
    """A candidate of a relation between these entities, `depth` steps from where the walk began. Its usefulness is weight ×
    confidence × 0.5^depth, and its prior that times `likely`."""
    score = decayed(_part(relation.weight) * _part(relation.confidence), depth)
    shown = RelationText(
        source=source.name,
        type=relation.type,
        target=target.name,
        valid_from=relation.valid_from,
        valid_to=relation.valid_to,
    )
    return Candidate(
        id=relation.id,
        source="relations",
        category="relation",
        text=f"{source.name} --[{relation.type}]--> {target.name}",
        created_at=relation.updated_at,
        kinds=("relation",),
        confidence=_part(relation.confidence),
        sensitivity=max(relation.sensitivity, source.sensitivity, target.sensitivity, key=SENSITIVITIES.index),
        title=relation.type,
        content_hash=relation_hash(source.name, relation.type, target.name, relation.valid_to),
        provenance=Provenance(refs=relation.refs),
        graph=GraphItem(shown=shown, prior=likely * score, salience=score),
    )


def from_pattern(pattern: Pattern) -> Candidate:
    """A candidate of a pattern that applies; its usefulness is its success rate, (successes + 1) / (applications + 2)."""
    rate = _part(pattern.success_rate)
    return Candidate(
        id=pattern.id,
        source="patterns",
        category="pattern",
        text=pattern.action,
        created_at=pattern.updated_at,
        kinds=("pattern",),
        content_hash=pattern_hash(pattern.action),
        sensitivity=pattern.sensitivity,
        graph=GraphItem(
            shown=PatternText(action=pattern.action, successes=pattern.successes, applications=pattern.applications),
            prior=_PATTERN_PRIOR * rate,
            salience=rate,
        ),
    )


def _part(value: float) -> float:
    return min(1.0, max(0.0, value))


def _properties(properties: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The first properties by name, each with its value on one line."""
    given = [(key, value) for key, value in sorted(properties.items()) if value not in (None, "", [], {})]
    return tuple((key[:_MAX_VALUE], _text(value)[:_MAX_VALUE]) for key, value in given[:_MAX_PROPERTIES])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


# The entities that a query names and the most salient ones, looked up once for all sources of an assembly.


_MAX_SALIENT = 10
"""The most salient entities that are offered whatever the query names (GRAPH-6)."""
_MAX_KEYS, _MAX_SHORT, _MAX_MENTIONED = 96, 16, 50
_MAX_WORDS, _MAX_RUN = 64, 3
"""Words of the query that are read for names of several words, and the words of the longest such name."""
_MAX_CHARACTERS, _MAX_UNSPACED = 48, 6
"""The same for scripts without spaces, in characters."""
_WORD = re.compile(r"[^\W_][\w'’.\-/@+#]{0,127}+")


def mention_keys(query: Query) -> tuple[str, ...]:
    """The name keys that the query may name an entity by, at most 96: of its identifiers, names, quoted phrases and words, of
    two or three words in a row, and the short forms that its identifiers and names may be."""
    keys = dict.fromkeys(key for name in _names(query) if (key := name_key(name)))
    short = (f"{SHORT}{key}" for name in (*query.identifiers, *query.names) if (key := name_key(name)))
    return tuple(dict.fromkeys((*islice(keys, _MAX_KEYS - _MAX_SHORT), *islice(short, _MAX_SHORT))))


def _names(query: Query) -> Iterator[str]:
    yield from query.identifiers
    yield from query.names
    yield from query.phrases
    yield from (term.word for term in query.terms)
    words = [found[0].rstrip("'’.-") for found in islice(_WORD.finditer(query.text), _MAX_WORDS)]
    yield from (word for word in words if not word.isalpha())
    for length in range(_MAX_RUN, 1, -1):
        yield from (" ".join(words[start : start + length]) for start in range(len(words) - length + 1))
    if query.text.isascii():
        return
    for run in unspaced().findall(query.text[:_MAX_CHARACTERS]):
        for length in range(min(_MAX_UNSPACED, len(run)), 1, -1):
            yield from (run[start : start + length] for start in range(len(run) - length + 1))


def lacks_what_is_filtered(filters: Filters) -> bool:
    """Whether the filters ask for something that an entity, a relation and a pattern doesn't have."""
    wanted = (filters.kinds, filters.tags, filters.session, filters.event_types, filters.task)
    return any(one is not None for one in wanted)


def known_by(entity: Entity, filters: Filters) -> bool:
    """Whether the filters' times let the entity pass: it was known by their end, and used since their beginning."""
    if filters.until is not None and entity.created_at > filters.until:
        return False
    return filters.since is None or max(entity.salient_at, entity.updated_at) >= filters.since


class EntityLookup:
    """Looks the entities up once, when they are first asked for; whoever asks later waits for the same answer. Lives for one
    assembly, whose sources all have the same query. A source that is abandoned doesn't end the look-up for the others; the last
    one does."""

    def __init__(self, store: ScopedStore, types: tuple[str, ...] = ()) -> None:
        """`types` are the entity types to look for, unless the request's filters name others; empty: all."""
        self._store, self._types = store, types
        self._task: asyncio.Task[KnownEntities] | None = None
        self._waiting = 0

    async def of(self, query: Query) -> KnownEntities:
        """The entities for this query. Raises what the store raises."""
        if self._task is None:
            self._task = asyncio.create_task(self._look_up(query))
            self._task.add_done_callback(lambda done: done.cancelled() or done.exception())
        task = self._task
        self._waiting += 1
        try:
            return await asyncio.shield(task)
        finally:
            self._waiting -= 1
            if not self._waiting and not task.done():
                task.cancel()
                self._task = None

    async def _look_up(self, query: Query) -> KnownEntities:
        filters = query.said_by_then
        if lacks_what_is_filtered(filters):
            return KnownEntities((), ())
        if filters.entity_types is None and self._types:
            filters = replace(filters, entity_types=self._types)
        keys = mention_keys(query)
        named, salient = await asyncio.gather(  # one trip to the store
            self._store.ask(SeenNamed(keys, filters=filters, limit=_MAX_MENTIONED)),
            self._store.ask(SalientEntities(_MAX_SALIENT, at=query.at, filters=filters)),
        )
        mentioned = tuple({one.id: one for one in named if known_by(one, filters)}.values())
        ids = {one.id for one in mentioned}
        return KnownEntities(mentioned, tuple(one for one in salient if one.id not in ids and known_by(one, filters)))
