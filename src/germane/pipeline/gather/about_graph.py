"""About graph: what the graph says of one name: the entities that have it, their other names, relations and mentions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from germane.graph.aliases import SHORT, name_key
from germane.graph.entity import Entity
from germane.graph.relation import Relation, valid
from germane.pipeline.gather.graph import from_relation
from germane.pipeline.gather.mentioned import lacks_what_is_filtered
from germane.store import ScopedStore
from germane.text.normal import fold
from germane.types.candidate import Candidate
from germane.types.query import Filters, Query

__all__ = ["EntitiesOfName", "entities_named", "like_names", "mentions_of", "relations_of"]

_MAX_ENTITIES, _MAX_NAMES, _MAX_RELATIONS = 8, 16, 100
"""Entities of one name, names of all of them that are looked for, and relations of one entity, the heaviest."""
_CERTAIN = 1.0
"""P(relevant) of a certain relation of the entity that was asked about."""
_MAX_LIKE, _BEGINNING = 100, 2
"""Names that are offered for comparison, and characters of the beginning that they share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntitiesOfName:
    """The entities that one name stands for, and all their names as they are written, the one asked about first."""

    entities: tuple[Entity, ...] = ()
    names: tuple[str, ...]

    @property
    def folded(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(" ".join(fold(name).split()) for name in self.names))


async def entities_named(store: ScopedStore, name: str, filters: Filters) -> EntitiesOfName:
    """Returns the entities that have this name or alias; where there are none, the one entity that it is the short form of. A
    short form of several stands for none of them."""
    key = name_key(name)
    found = await store.graph.named([key], filters=filters, limit=_MAX_ENTITIES) if key else ()
    if key and not found:
        found = await store.graph.named([f"{SHORT}{key}"], filters=filters, limit=2)
        found = found if len(found) == 1 else ()
    names = dict.fromkeys([name, *(one for entity in found for one in (entity.name, *entity.aliases))])
    return EntitiesOfName(entities=tuple(found), names=tuple(names)[:_MAX_NAMES])


async def relations_of(store: ScopedStore, entities: Sequence[Entity], query: Query, ended: str) -> list[Candidate]:
    """Returns the relations of these entities, each once, that began by the time asked about: those that hold then are
    required; the others have the category `ended`, and their dates in the text."""
    filters = query.filters
    if not entities or lacks_what_is_filtered(filters):
        return []
    read = await asyncio.gather(
        *(store.graph.relations(one.id, at=None, limit=_MAX_RELATIONS, filters=filters) for one in entities)
    )
    relations = {one.id: one for each in read for one in each if one.valid_from <= query.at and one.id not in filters.exclude}
    ends = dict.fromkeys(id for one in relations.values() for id in (one.source, one.target))
    known = {one.id: one for one in await store.graph.entities(list(ends))}
    found = list[Candidate]()
    for one in relations.values():
        source, target = known.get(one.source), known.get(one.target)
        if source is None or target is None:
            continue
        candidate = from_relation(one, source, target, depth=0, likely=_CERTAIN)
        if candidate.sensitivity in filters.sensitivities:
            found.append(_stated(candidate, one, query, ended))
    return found


def _stated(candidate: Candidate, relation: Relation, query: Query, ended: str) -> Candidate:
    if valid(relation, query.at):
        return candidate._replace(source="about", required=True)
    until = "" if relation.valid_to is None else f" to {relation.valid_to:%Y-%m-%d}"
    text = f"{candidate.text} ({relation.valid_from:%Y-%m-%d}{until})"
    return candidate._replace(source="about", category=ended, text=text)


async def mentions_of(store: ScopedStore, entities: Sequence[Entity], query: Query, limit: int) -> tuple[str, ...]:
    """Returns the ids of at most `limit` events and memories that mention one of these entities. None where the filters ask for
    what a mention doesn't say."""
    if lacks_what_is_filtered(query.filters):
        return ()
    until = query.said_by_then.until
    read = await asyncio.gather(*(store.graph.mentions(one.id, limit=limit, before=until) for one in entities))
    return tuple(dict.fromkeys(id for each in read for id in each if id not in query.filters.exclude))[:limit]


async def like_names(store: ScopedStore, name: str, filters: Filters) -> tuple[str, ...]:
    """Returns names of entities that begin like this one."""
    beginning = name_key(name)[:_BEGINNING]
    page = await store.graph.page(filters, prefix=beginning, limit=_MAX_LIKE)
    return tuple(entity.name for entity in page.entities)
