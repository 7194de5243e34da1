"""Graph to wire: converts entities, relations and patterns to wire messages."""

from __future__ import annotations

from germane.graph.entity import Entity
from germane.graph.pattern import Pattern
from germane.graph.relation import Relation
from germane.grpc.stubs import graph_pb2 as pb
from germane.grpc.to_wire import object_struct, stamp, text

__all__ = ["entity", "pattern", "relation"]


def entity(stored: Entity, *, readable: bool = True) -> pb.Entity:
    """Returns an entity; without names and properties where the caller may not read."""
    return pb.Entity(
        id=stored.id,
        type=text(stored.type) if readable else "",
        name=text(stored.name) if readable else "",
        aliases=map(text, stored.aliases) if readable else (),
        properties=object_struct(stored.properties) if readable else None,
        user_id=stored.user or "",
        salience=stored.salience,
        salient_at=stamp(stored.salient_at),
        mentions=stored.mentions,
        sensitivity=stored.sensitivity,
        created_at=stamp(stored.created_at),
        updated_at=stamp(stored.updated_at),
    )


def relation(stored: Relation, *, readable: bool = True) -> pb.Relation:
    """Returns a relation; without type, properties and references where the caller may not read."""
    return pb.Relation(
        id=stored.id,
        source=stored.source,
        type=text(stored.type) if readable else "",
        target=stored.target,
        user_id=stored.user or "",
        weight=stored.weight,
        confidence=stored.confidence,
        properties=object_struct(stored.properties) if readable else None,
        valid_from=stamp(stored.valid_from),
        valid_to=stamp(stored.valid_to),
        refs=stored.refs if readable else (),
        sensitivity=stored.sensitivity,
        created_at=stamp(stored.created_at),
        updated_at=stamp(stored.updated_at),
    )


def pattern(stored: Pattern, *, readable: bool = True) -> pb.Pattern:
    """Returns a pattern; without what it does and when where the caller may not read."""
    return pb.Pattern(
        id=stored.id,
        action=text(stored.action) if readable else "",
        keywords=map(text, stored.keywords) if readable else (),
        intent=text(stored.intent or "") if readable else "",
        entity_types=map(text, stored.entity_types) if readable else (),
        user_id=stored.user or "",
        successes=stored.successes,
        applications=stored.applications,
        sensitivity=stored.sensitivity,
        created_at=stamp(stored.created_at),
        updated_at=stamp(stored.updated_at),
    )
