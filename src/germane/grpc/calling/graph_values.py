"""Graph values: the service's messages about entities, relations and patterns as the values that the library returns."""

from __future__ import annotations

from typing import cast

from germane.graph.entity import Entity
from germane.graph.pattern import Pattern
from germane.graph.relation import Relation
from germane.grpc.calling.plain_values import set_time, struct_of_wire, time_of_wire
from germane.grpc.stubs import graph_pb2 as pb
from germane.types.candidate import Sensitivity

__all__ = ["entity_of_wire", "pattern_of_wire", "relation_of_wire"]


def entity_of_wire(wire: pb.Entity) -> Entity:
    """An entity as `germane.Agent.graph` returns it. A key without the right to read gets no names and no properties."""
    return Entity(
        id=wire.id,
        type=wire.type,
        name=wire.name,
        user=wire.user_id or None,
        aliases=tuple(wire.aliases),
        properties=struct_of_wire(wire.properties),
        salience=wire.salience,
        salient_at=time_of_wire(wire.salient_at),
        mentions=wire.mentions,
        sensitivity=cast("Sensitivity", wire.sensitivity),
        created_at=time_of_wire(wire.created_at),
        updated_at=time_of_wire(wire.updated_at),
    )


def relation_of_wire(wire: pb.Relation) -> Relation:
    """A relation as `germane.Agent.graph` returns it."""
    return Relation(
        id=wire.id,
        source=wire.source,
        type=wire.type,
        target=wire.target,
        user=wire.user_id or None,
        weight=wire.weight,
        confidence=wire.confidence,
        properties=struct_of_wire(wire.properties),
        valid_from=time_of_wire(wire.valid_from),
        valid_to=set_time(wire, "valid_to"),
        refs=tuple(wire.refs),
        sensitivity=cast("Sensitivity", wire.sensitivity),
        created_at=time_of_wire(wire.created_at),
        updated_at=time_of_wire(wire.updated_at),
    )


def pattern_of_wire(wire: pb.Pattern) -> Pattern:
    """A pattern as `germane.Agent.graph.patterns` returns it."""
    return Pattern(
        id=wire.id,
        action=wire.action,
        keywords=tuple(wire.keywords),
        intent=wire.intent or None,
        entity_types=tuple(wire.entity_types),
        user=wire.user_id or None,
        successes=wire.successes,
        applications=wire.applications,
        sensitivity=cast("Sensitivity", wire.sensitivity),
        created_at=time_of_wire(wire.created_at),
        updated_at=time_of_wire(wire.updated_at),
    )
