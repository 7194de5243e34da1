"""Graph sources: entities, relations and patterns (GRAPH-6).

What the graph offers has no text to search in, so its relevance is a prior, P(relevant) by what the graph says, of the same
meaning as the P of every other source (SCORE-2). The priors are set by hand: there are no labelled data for such items, and no
built-in strategy but those of archetypes asks for them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from germane.graph.entity import Entity
from germane.graph.pattern import Pattern
from germane.graph.relation import Relation
from germane.graph.shown import entity_hash, pattern_hash, relation_hash
from germane.graph.traverse import decayed
from germane.pipeline.gather.mentioned import EntityLookup, known_by, lacks_what_is_filtered
from germane.store import ScopedStore
from germane.types.candidate import Candidate, Provenance, Sensitivity
from germane.types.graph_item import EntityText, GraphItem, PatternText, RelationText
from germane.types.query import Query
from germane.types.strategy import SourcePlan

__all__ = ["EntitySource", "PatternSource", "RelationSource", "from_entity", "from_pattern", "from_relation"]

_MENTIONED, _SALIENT = 0.3, 0.01
"""P(relevant) of an entity that the query names, and of the most salient one that it doesn't."""
_RELATED, _APPLIES = 0.3, 0.3
"""P(relevant) of a certain relation of a mentioned entity, and of a pattern that applies and never failed."""
_MENTION = 2.0
"""By what the salience of a mentioned entity is multiplied, up to 1."""
_MAX_PROPERTIES, _MAX_VALUE = 8, 200
"""Properties of an entity that are shown, and characters of one."""
_STRICTNESS: tuple[Sensitivity, ...] = ("public", "private", "sensitive")


class EntitySource:
    """The entities that the query names, then the ten most salient of the others."""

    def __init__(self, lookup: EntityLookup) -> None:
        self._lookup = lookup

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        known = await self._lookup.of(query)
        found = [from_entity(one, query, mentioned=True) for one in known.mentioned]
        return [*found, *(from_entity(one, query, mentioned=False) for one in known.salient)][: plan.limit]


class RelationSource:
    """The relations around the entities that the query names, or else around the most salient ones: both ways, up to `depth`
    steps, `fan_out` relations of one entity. Those that don't hold at the time asked about are left out, unless the request
    asks for history."""

    def __init__(self, store: ScopedStore, lookup: EntityLookup, *, depth: int, fan_out: int) -> None:
        self._store, self._lookup, self._depth, self._fan_out = store, lookup, depth, fan_out

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        known = await self._lookup.of(query)
        starts = known.mentioned or known.salient
        if not starts or not self._depth:
            return []
        filters = query.said_by_then
        around = await self._store.graph.neighbourhood(
            [entity.id for entity in starts],
            depth=self._depth,
            fan_out=self._fan_out,
            at=None if filters.with_history else query.at,
            filters=filters,
            limit=plan.limit,
        )
        entities = {entity.id: entity for entity in (*starts, *around.entities)}
        likely = _RELATED if known.mentioned else _SALIENT
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

    def __init__(self, store: ScopedStore, lookup: EntityLookup) -> None:
        self._store, self._lookup = store, lookup

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        filters = query.said_by_then
        if lacks_what_is_filtered(filters):
            return []
        known = await self._lookup.of(query)
        found = await self._store.graph.patterns(
            [term.word for term in query.terms],
            intent=query.intent,
            entity_types=sorted({entity.type for entity in known.mentioned}),
            filters=filters,
            limit=plan.limit,
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
            prior=_MENTIONED if mentioned else _SALIENT * _part(salience),
            salience=_part(salience * _MENTION if mentioned else salience),
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
        sensitivity=max(relation.sensitivity, source.sensitivity, target.sensitivity, key=_STRICTNESS.index),
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
            prior=_APPLIES * rate,
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
