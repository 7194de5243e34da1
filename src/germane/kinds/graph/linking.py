"""Linking: stores what was found in one event or memory, and links it with known entities, within a plan.

An entity is found again by its type and any form of its name or of an alias (see `aliases`). An ambiguous name never
merges two entities, but makes a new one.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from germane.kinds.graph.aliases import MAX_NAME, Resolution, lookup_keys, name_key, resolve
from germane.kinds.graph.reads import EndRelation, EntitiesNamed, OpenRelations, PutEntity, PutMentions, PutRelation
from germane.kinds.graph.statement import MAX_ALIASES, MAX_PROPERTIES, EntityStatement, keys_of, whole_keys, with_statement
from germane.kinds.graph.value import Entity, EntityFinding, EntityName, Relation, RelationFinding, used
from germane.types.candidate import Sensitivity
from germane.types.plan import Change, Read, read, uuid7

MAX_FINDINGS = 64
"""Entities, and relations, that are stored of one text; later ones aren't."""
_MAX_TYPE = 64
_NOTHING: Mapping[EntityName, Sequence[str]] = MappingProxyType({})
SURE = 0.7
"""The confidence of a finding below which it makes no entity: it counts as a mention of one that is known, or not at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """What is to be written, and the entities and relations as they will be."""

    changes: tuple[Change, ...] = ()
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()


def link_findings(
    entities: Iterable[EntityFinding],
    relations: Iterable[RelationFinding] = (),
    *,
    thing: str,
    user: str | None,
    at: datetime,
    now: datetime,
    sensitivity: Sensitivity = "private",
    again: bool = False,
    borrowed: Mapping[EntityName, Sequence[str]] = _NOTHING,
) -> Generator[Read[Any], Any, Linked]:
    """Decides how the findings in `thing` (the id of an event or memory of the scope's own, said `at`) are stored; the changes
    follow the one that stores the thing. Findings without a usable name are left out, those of a confidence below 0.7 that
    are of no known entity, and relations between entities that weren't found beside them. With `again`, the thing may have been
    read before: an entity that was mentioned at this time or later gains no salience. The `borrowed` entities have words of
    other things, by the ids of these: those mention them, and the thing itself doesn't."""
    mentioning = {EntityName(name.type, name_key(name.name, name.type)): things for name, things in borrowed.items()}
    told = _by_name(entities, sensitivity)
    keys = dict.fromkeys(key for name, one in told.items() for key in asked_keys(name.type, one.said.names))
    known = NamedEntities((yield from read(EntitiesNamed(tuple(keys)))) if keys else {})
    found, said_of = dict[EntityName, Entity](), dict[str, EntityStatement]()
    # Sure findings come first: an unsure one counts only as a known entity, which may be one that this text names surely.
    for name, (said, confidence) in sorted(told.items(), key=lambda one: one[1].confidence < SURE):
        same = known.stands_for(name.type, said.names).entity
        if same is None and confidence < SURE:
            continue
        entity = same or _new(name.type, said, user=user, at=at, now=now)
        mentioned = entity.id in said_of
        entity = with_statement(replace(entity, created_at=min(entity.created_at, at)), said, now)
        if same is not None and not mentioned and not (again and same.salient_at >= at):
            entity = replace(entity, salience=used(entity.salience_at(at)), salient_at=max(entity.salient_at, at))
        # Two names of one entity in a text: both stand for its newest state.
        for other, held in found.items():
            if held.id == entity.id:
                found[other] = entity
        found[name] = entity
        known.put(entity)
        said_of[entity.id] = _joined(said_of.get(entity.id), said)
    kept = {entity.id: entity for entity in found.values()}
    changes: list[Change] = [PutEntity(entity, keys_of(entity)) for entity in kept.values()]
    by_thing: dict[str, list[str]] = {}
    for name, entity in found.items():
        for one in mentioning.get(name, (thing,)):
            by_thing.setdefault(one, []).append(entity.id)
    changes += [PutMentions(one, tuple(dict.fromkeys(ids)), said_of) for one, ids in by_thing.items()]
    stated = yield from _relations(relations, found, thing=thing, user=user, at=at, now=now, sensitivity=sensitivity)
    return Linked(changes=(*changes, *stated[0]), entities=tuple(kept.values()), relations=stated[1])


class _Told(NamedTuple):
    """What a text says of an entity, and how sure it is that there is one."""

    said: EntityStatement
    confidence: float


def _by_name(entities: Iterable[EntityFinding], sensitivity: Sensitivity) -> dict[EntityName, _Told]:
    """What the text says of each entity, by type and name key."""
    told = dict[EntityName, _Told]()
    for finding in entities:
        key, names = name_key(finding.name, finding.type), [finding.name.strip(), *(alias.strip() for alias in finding.aliases)]
        usable = [name for name in names if 0 < len(name) <= MAX_NAME and name_key(name)][: MAX_ALIASES + 1]
        if not key or not usable or usable[0] != names[0] or not 0 < len(finding.type) <= _MAX_TYPE:
            continue
        name = EntityName(finding.type, key)
        if name not in told and len(told) == MAX_FINDINGS:
            break
        properties = dict(list(finding.properties.items())[:MAX_PROPERTIES])
        said = EntityStatement(names=tuple(usable), properties=properties, sensitivity=sensitivity)
        before = told.get(name)
        told[name] = (
            _Told(said, finding.confidence)
            if before is None
            else _Told(_joined(before.said, said), max(before.confidence, finding.confidence))
        )
    return told


def _joined(one: EntityStatement | None, other: EntityStatement) -> EntityStatement:
    if one is None:
        return other
    names = tuple(dict.fromkeys((*one.names, *other.names)))
    return replace(one, names=names, properties={**one.properties, **other.properties})


def _new(type: str, said: EntityStatement, *, user: str | None, at: datetime, now: datetime) -> Entity:
    return Entity(
        id=uuid7(int(now.timestamp() * 1000)),
        type=type,
        name=said.names[0],
        user=user,
        properties=said.properties,
        salient_at=at,
        sensitivity=said.sensitivity,
        created_at=now,
        updated_at=now,
    )


def _relations(
    relations: Iterable[RelationFinding],
    found: dict[EntityName, Entity],
    *,
    thing: str,
    user: str | None,
    at: datetime,
    now: datetime,
    sensitivity: Sensitivity,
) -> Generator[Read[Any], Any, tuple[list[Change], tuple[Relation, ...]]]:
    wanted = list[tuple[RelationFinding, Relation]]()
    by_name = {EntityName(one.type, key): one for one in reversed(found.values()) for key in whole_keys(one)} | found
    for finding in relations:
        ends = [by_name.get(EntityName(one.type, name_key(one.name, one.type))) for one in (finding.source, finding.target)]
        if len(wanted) == MAX_FINDINGS:
            break
        if ends[0] is None or ends[1] is None or not 0 < len(finding.type) <= _MAX_TYPE:
            continue
        if ends[0].id == ends[1].id and finding.source != finding.target:
            continue  # two names of one entity
        relation = Relation(
            id=uuid7(int(now.timestamp() * 1000)),
            source=ends[0].id,
            type=finding.type,
            target=ends[1].id,
            user=user,
            weight=min(1.0, max(0.0, finding.weight)),
            confidence=min(1.0, max(0.0, finding.confidence)),
            properties=dict(list(finding.properties.items())[:MAX_PROPERTIES]),
            valid_from=finding.valid_from or at,
            valid_to=finding.valid_to,
            refs=(thing,),
            sensitivity=sensitivity,
            created_at=now,
            updated_at=now,
        )
        if relation.valid_to is None or relation.valid_to > relation.valid_from:
            wanted.append((finding, relation))
    if not wanted:
        return [], ()
    pairs = tuple(dict.fromkeys((relation.source, relation.type) for _, relation in wanted))
    exclusive = any(finding.exclusive for finding, _ in wanted)
    targets = () if exclusive else tuple(dict.fromkeys(relation.target for _, relation in wanted))
    known = {one.id: one for one in (yield from read(OpenRelations(pairs, with_ended=True, targets=targets)))}
    changes, written = list[Change](), dict[str, Relation]()
    for finding, relation in wanted:
        # Each one is decided beside those before it: an exclusive relation may end one that the same text begins.
        made, kept = relation_changes(relation, known.values(), exclusive=finding.exclusive, now=now)
        for change in made:
            if isinstance(change, PutRelation):
                known[change.relation.id] = change.relation
            elif isinstance(change, EndRelation):
                known[change.id] = replace(known[change.id], valid_to=change.at)
        changes += made
        written[kept.id] = kept
    return changes, tuple(written.values())


def relation_changes(
    relation: Relation, known: Iterable[Relation], *, exclusive: bool, now: datetime, stated: EntityStatement | None = None
) -> tuple[list[Change], Relation]:
    """Returns the changes that store a relation beside those that are `known` of its source and type, and the relation as it is
    stored. One that is known already, and holds at that time, gets its refs, and the larger weight and confidence. An
    `exclusive` one ends the others that hold when it begins; where a later one is known, it ends when that one begins."""
    said = EntityStatement(properties=relation.properties, sensitivity=relation.sensitivity)
    others = [one for one in known if (one.source, one.type) == (relation.source, relation.type)]
    same = [one for one in others if one.target == relation.target]
    held = next((one for one in same if _overlap(one, relation)), None)
    if held is not None:
        both = EntityStatement(properties=held.properties, sensitivity=held.sensitivity)
        told = _told(both, said)
        ends = (
            held.valid_to
            if relation.valid_to is None
            else relation.valid_to
            if held.valid_to is None
            else max(held.valid_to, relation.valid_to)
        )
        new = replace(
            held,
            weight=max(held.weight, relation.weight),
            confidence=max(held.confidence, relation.confidence),
            properties=told.properties,
            sensitivity=told.sensitivity,
            valid_from=min(held.valid_from, relation.valid_from),
            valid_to=ends,
            refs=(*(ref for ref in held.refs if ref not in relation.refs), *relation.refs),
            updated_at=now,
        )
        return [PutRelation(replace(new, refs=relation.refs), said, stated)], new
    rivals = [one for one in others if one.target != relation.target] if exclusive else []
    later = min((one for one in rivals if one.valid_from > relation.valid_from), key=_begins, default=None)
    ended_by = None
    if later is not None and (relation.valid_to is None or later.valid_from < relation.valid_to):
        relation, ended_by = replace(relation, valid_to=later.valid_from), later.id
    changes = list[Change]()
    for one in rivals:
        if one.valid_from > relation.valid_from:
            continue
        if one.valid_to is None:
            changes.append(EndRelation(one.id, relation.valid_from, relation.id))
        elif one.valid_to > relation.valid_from:  # another one that began later has ended it
            shorter = replace(one, valid_to=relation.valid_from, refs=(), updated_at=now)
            changes.append(PutRelation(shorter, ended_by=relation.id))
    return [*changes, PutRelation(relation, said, stated, ended_by)], relation


def _told(one: EntityStatement, other: EntityStatement) -> EntityStatement:
    if one.sensitivity == "sensitive" != other.sensitivity:
        return other
    if other.sensitivity == "sensitive" != one.sensitivity:
        return one
    level: Sensitivity = "private" if "private" in (one.sensitivity, other.sensitivity) else one.sensitivity
    return EntityStatement(properties={**one.properties, **other.properties}, sensitivity=level)


def _overlap(held: Relation, relation: Relation) -> bool:
    """Whether a known relation and a new one say the same of the same time."""
    if held.valid_to is None and relation.valid_to is None:
        return True
    ends = held.valid_to is None or relation.valid_from < held.valid_to
    return ends and (relation.valid_to is None or held.valid_from < relation.valid_to)


def _begins(relation: Relation) -> datetime:
    return relation.valid_from


# The stored entities that a plan has read by their names, beside those that it is going to write.


def asked_keys(type: str, names: Sequence[str]) -> tuple[str, ...]:
    """Returns the keys to look an entity up by that a text gives these names: all that the first one, its main name, may stand
    for, and the others as they are."""
    main, *others = names
    return tuple(dict.fromkeys((*lookup_keys(main, type), *(key for name in others if (key := name_key(name, type))))))


class NamedEntities:
    """Entities by their keys. Mutable; lives for one plan."""

    def __init__(self, stored: Mapping[str, Sequence[Entity]]) -> None:
        """`stored` is what `EntitiesNamed` found: entities by key."""
        self._entities = {entity.id: entity for found in stored.values() for entity in found}
        self._ids = {key: dict.fromkeys(entity.id for entity in found) for key, found in stored.items()}

    def put(self, entity: Entity) -> None:
        """Counts an entity as it is going to be written."""
        self._entities[entity.id] = entity
        for key in keys_of(entity):
            self._ids.setdefault(key, {})[entity.id] = None

    def stands_for(self, type: str, names: Sequence[str]) -> Resolution[Entity]:
        """Decides which of the entities these names of one thing are of. The first name counts before the others; an other one
        counts as it is, and not as a short form. `ambiguous` where they are of several."""
        main, *others = names
        decided = resolve(main, type, self._under(lookup_keys(main, type)))
        if decided.decision != "new":
            return decided
        having, own = dict[str, Entity](), dict[str, Entity]()
        for key, found in self._under([name_key(name, type) for name in others]).items():
            for entity in found:
                if entity.type == type and key in whole_keys(entity):
                    having[entity.id] = entity
                    if name_key(entity.name, type) == key:
                        own[entity.id] = entity
        match tuple((own or having).values()):
            case ():
                return decided
            case (only,):
                return Resolution(decision="merge", entity=only)
            case several:
                return Resolution(decision="ambiguous", candidates=several)

    def _under(self, keys: Sequence[str]) -> dict[str, list[Entity]]:
        return {key: [self._entities[id] for id in self._ids[key]] for key in keys if key in self._ids}


# What a plan has decided to store already, so that its later reads find it beside what is stored.


T = TypeVar("T")


class PendingGraph:
    """The entities and relations that one plan is going to write. Mutable; lives for one plan."""

    def __init__(self) -> None:
        self._entities: dict[str, Entity] = {}
        self._by_key: dict[str, dict[str, None]] = {}
        self._relations: dict[str, Relation] = {}

    def add(self, changes: Iterable[Change]) -> None:
        """Counts these changes as made."""
        for change in changes:
            match change:
                case PutEntity(entity=entity):
                    self._entities[entity.id] = entity
                    for key in keys_of(entity):
                        self._by_key.setdefault(key, {})[entity.id] = None
                case PutRelation(relation=relation):
                    self._relations[relation.id] = relation
                case EndRelation(id=id):
                    self._relations.pop(id, None)

    def seen_by(self, steps: Generator[Read[Any], Any, T]) -> Generator[Read[Any], Any, T]:
        """Runs the steps of a plan; what they read is as if the changes so far were stored."""
        try:
            question = next(steps)
            while True:
                answer = yield question
                question = steps.send(self._amended(question, answer))
        except StopIteration as stop:
            result: T = stop.value
            return result

    def _amended(self, question: Read[Any], answer: Any) -> Any:
        if isinstance(question, EntitiesNamed):
            found = dict(answer)
            for key in question.keys:
                more = [self._entities[id] for id in self._by_key.get(key, ())]
                stored = [self._entities.get(entity.id, entity) for entity in found.get(key, ())]
                if more:
                    found[key] = tuple({entity.id: entity for entity in (*stored, *more)}.values())
                elif stored:
                    found[key] = tuple(stored)
            return found
        if isinstance(question, OpenRelations):
            known = {relation.id: self._relations.get(relation.id, relation) for relation in answer}
            pairs = set(question.pairs)
            for relation in self._relations.values():
                if (relation.source, relation.type) in pairs and (relation.valid_to is None or question.with_ended):
                    known[relation.id] = relation
            return tuple(sorted(known.values(), key=lambda relation: relation.valid_from))
        return answer
