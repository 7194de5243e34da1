"""Restore graph: the plans that store the entities, relations and patterns of an export as they were.

What a message or memory said of them is restored where that is stored here, and isn't where it was forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from germane.kinds.graph.reads import (
    EntitiesById,
    OpenRelations,
    PatternById,
    PutEntity,
    PutMentions,
    PutPattern,
    PutRelation,
    RelationsById,
)
from germane.kinds.graph.statement import keys_of, merge_statements, rewritten
from germane.kinds.memories.reads import IdsInUse
from germane.transfer.contents import Sources, StoredEntity, StoredPattern, StoredRelation
from germane.transfer.restore import OTHER_CONTENT, TAKEN_ID, Placed, decided
from germane.types.plan import Change, Decision, Plan, read


def restore_entities(things: Sequence[StoredEntity], *, strict: bool) -> Plan[Placed]:
    """Stores the entities that aren't there. An entity is there where its id has the same type: its names and properties may
    have changed since, and stay. One that nothing mentions here, and that nobody stored on purpose, counts as forgotten."""
    ids = tuple(one.entity.id for one in things)
    use, held = (yield from read(IdsInUse(ids))), dict((yield from read(EntitiesById(ids))))
    there = (yield from read(IdsInUse(_ids_of_sources(one.mentions for one in things)))).own_sources()
    placed, changes = Placed(), list[Change]()
    for index, one in enumerate(things):
        mentions = [(id, said) for id, said in one.mentions if id in there]
        if one.entity.id in use.forgotten:
            placed.forgotten += 1
        elif one.entity.id in use.elsewhere:
            placed.clash(index, TAKEN_ID)
        elif (known := held.get(one.entity.id)) is not None:
            if known.type == one.entity.type:
                placed.known += 1
            else:
                placed.clash(index, OTHER_CONTENT)
        elif not mentions and one.stated is None:
            placed.forgotten += 1
        else:
            entity = one.entity
            if len(mentions) < len(one.mentions):
                told = [said for _, said in mentions] + ([] if one.stated is None else [one.stated])
                entity = rewritten(entity, merge_statements(told), entity.updated_at)
            held[entity.id] = entity
            changes.append(PutEntity(entity, keys_of(entity), one.stated))
            changes += [PutMentions(id, (entity.id,), {entity.id: said}) for id, said in mentions]
            placed.added += 1
    return _counted(placed, changes, strict)


def restore_relations(things: Sequence[StoredRelation], *, strict: bool) -> Plan[Placed]:
    """Stores the relations that aren't there, where both of their entities are."""
    ids = tuple(one.relation.id for one in things)
    use, held = (yield from read(IdsInUse(ids))), dict((yield from read(RelationsById(ids))))
    there = (yield from read(IdsInUse(_ids_of_sources(one.refs for one in things)))).own_sources()
    ends = tuple(dict.fromkeys(end for one in things for end in (one.relation.source, one.relation.target)))
    entities = yield from read(EntitiesById(ends))
    gone = (yield from read(IdsInUse(ends))).forgotten
    pairs = tuple(dict.fromkeys((one.relation.source, one.relation.type) for one in things))
    opened = {(one.source, one.type, one.target) for one in (yield from read(OpenRelations(pairs)))}
    placed, changes = Placed(), list[Change]()
    for index, one in enumerate(things):
        relation, refs = one.relation, [(id, said) for id, said in one.refs if id in there]
        triple = (relation.source, relation.type, relation.target)
        both = {relation.source, relation.target}
        if relation.id in use.forgotten or both & gone:
            placed.forgotten += 1
        elif relation.id in use.elsewhere:
            placed.clash(index, TAKEN_ID)
        elif (known := held.get(relation.id)) is not None:
            if (known.source, known.type, known.target) == triple:
                placed.known += 1
            else:
                placed.clash(index, OTHER_CONTENT)
        elif not refs and one.stated is None:
            placed.forgotten += 1
        elif not both <= entities.keys():
            placed.clash(index, "one of its entities isn't stored here")
        elif relation.valid_to is None and triple in opened:
            placed.clash(index, "another relation says the same")
        else:
            if len(refs) < len(one.refs):
                told = merge_statements([said for _, said in refs] + ([] if one.stated is None else [one.stated]))
                relation = replace(relation, properties=told.properties, sensitivity=told.sensitivity)
            held[relation.id] = relation
            if relation.valid_to is None:
                opened.add(triple)
            changes.append(PutRelation(replace(relation, refs=()), stated=one.stated, ended_by=one.ended_by))
            changes += [PutRelation(replace(relation, refs=(id,)), said, ended_by=one.ended_by) for id, said in refs]
            placed.added += 1
    return _counted(placed, changes, strict)


def restore_patterns(things: Sequence[StoredPattern], *, strict: bool) -> Plan[Placed]:
    """Stores the patterns that aren't there. One of whose sources isn't stored here counts as forgotten."""
    use = yield from read(IdsInUse(tuple(one.pattern.id for one in things)))
    refs = tuple(dict.fromkeys(ref for one in things for ref in one.refs))
    there = (yield from read(IdsInUse(refs))).own_sources()
    placed, changes, seen = Placed(), list[Change](), set[str]()
    for index, one in enumerate(things):
        id = one.pattern.id
        if id in use.forgotten or not there.issuperset(one.refs):
            placed.forgotten += 1
        elif id in use.elsewhere:
            placed.clash(index, TAKEN_ID)
        elif id in seen or (yield from read(PatternById(id))) is not None:
            placed.known += 1
        else:
            seen.add(id)
            changes.append(PutPattern(one.pattern, one.refs))
            placed.added += 1
    return _counted(placed, changes, strict)


def _ids_of_sources(sources: Iterable[Sources]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(id for these in sources for id, _ in these))


def _counted(placed: Placed, changes: list[Change], strict: bool) -> Decision[Placed]:
    added = placed.added
    decision = decided(placed, changes, strict)
    placed.added = added if decision.changes else 0
    return decision
