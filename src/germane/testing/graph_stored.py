"""Graph stored: builders of entities and relations, and plans that record what is found in an event, for tests of stores."""

from __future__ import annotations

from collections.abc import Generator
from datetime import timedelta
from typing import Any

from germane.events.operations import PutEvent
from germane.graph.entity import Entity
from germane.graph.findings import EntityFinding, EntityName, RelationFinding
from germane.graph.operations import PutEntity, PutRelation
from germane.graph.record_findings import Linked, link_findings
from germane.graph.relation import Relation
from germane.graph.said import Said, keys_of
from germane.store import ScopedStore
from germane.testing.stored import NOON, an_event
from germane.types.ids import uuid7
from germane.types.plan import Decision, Plan
from germane.types.query import Filters

__all__ = ["DAY", "EVERY", "a_relation", "an_entity", "living", "named", "person", "put", "put_relation", "saying"]

EVERY = Filters(sensitivities=("public", "private", "sensitive"))
DAY = timedelta(days=1)


def an_entity(name: str = "Caroline", type: str = "person", **fields: Any) -> Entity:
    """An entity that nothing mentions, with defaults."""
    given: dict[str, Any] = {
        "id": uuid7(int(NOON.timestamp() * 1000)),
        "salient_at": NOON,
        "created_at": NOON,
        "updated_at": NOON,
        "mentions": 0,
    }
    return Entity(type=type, name=name, **given | fields)


def a_relation(source: Entity, target: Entity, type: str = "knows", **fields: Any) -> Relation:
    given: dict[str, Any] = {
        "id": uuid7(int(NOON.timestamp() * 1000)),
        "valid_from": NOON,
        "created_at": NOON,
        "updated_at": NOON,
    }
    return Relation(source=source.id, type=type, target=target.id, **given | fields)


def put(entity: Entity) -> PutEntity:
    """Stores an entity on purpose."""
    said = Said(names=(entity.name, *entity.aliases), properties=entity.properties, sensitivity=entity.sensitivity)
    return PutEntity(entity, keys_of(entity), said)


def put_relation(relation: Relation) -> PutRelation:
    return PutRelation(relation, stated=Said(properties=relation.properties, sensitivity=relation.sensitivity))


def saying(text: str, entities: list[EntityFinding], *relations: RelationFinding, **fields: Any) -> Plan[tuple[str, Linked]]:
    """A plan that records an event with what was found in it; the outcome is the event's id."""
    event = an_event(text, **fields)
    return _linking(event, entities, relations)


def _linking(event: Any, entities: Any, relations: Any) -> Generator[Any, Any, Decision[tuple[str, Linked]]]:
    given: dict[str, Any] = {"thing": event.id, "user": event.user, "sensitivity": event.sensitivity}
    linked = yield from link_findings(entities, relations, at=event.created_at, now=event.recorded_at, **given)
    return Decision((PutEvent(event), *linked.changes), (event.id, linked))


def person(name: str, *aliases: str, **properties: Any) -> EntityFinding:
    return EntityFinding(type="person", name=name, aliases=aliases, properties=properties)


def living(who: str, where: str, **fields: Any) -> RelationFinding:
    return RelationFinding(source=EntityName("person", who), type="lives_in", target=EntityName("place", where), **fields)


async def named(scoped: ScopedStore, key: str, filters: Filters = EVERY) -> list[str]:
    return [entity.name for entity in await scoped.graph.named([key], filters=filters)]
