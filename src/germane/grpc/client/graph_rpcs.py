"""Graph RPCs: the client's calls about entities, relations and patterns, as `client.graph`.

All return plain values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from google.protobuf.timestamp_pb2 import Timestamp

from germane.errors import InvalidInput
from germane.grpc.client.assembly import ClientScope, checked_text, filters_to_wire, time_to_wire
from germane.grpc.client.block_values import number_given, wire_struct
from germane.grpc.client.rpcs import ClientRpc, scope_to_wire
from germane.grpc.client.values import receipt_of_wire, set_time, struct_of_wire, time_of_wire
from germane.grpc.stubs import graph_pb2 as pb
from germane.grpc.stubs.graph_pb2_grpc import GraphServiceStub
from germane.kinds.graph.value import Entity, EntityPage, Neighbourhood, Pattern, Relation, Step
from germane.kinds.memories.value import Receipt
from germane.types.candidate import Sensitivity
from germane.types.limits import PAGE

_MAX_DEPTH, _MAX_FAN_OUT = 10, 200


def add(
    scope: ClientScope,
    type: str,
    name: str,
    *,
    aliases: Iterable[str] = (),
    properties: Mapping[str, Any] | None = None,
    sensitivity: str = "private",
) -> ClientRpc[Entity]:
    """Stores an entity and returns it. Where one of this type has one of the names, what is new is added to it. Raises
    `Conflict` where several have the names."""
    request = pb.AddEntityRequest(
        scope=scope_to_wire(scope),
        type=checked_text("type", type),
        name=checked_text("name", name),
        aliases=_texts("aliases", aliases),
        properties=None if properties is None else wire_struct("properties", properties),
        sensitivity=checked_text("sensitivity", sensitivity),
    )
    return ClientRpc(GraphServiceStub, "AddEntity", request, _entity)


def get(scope: ClientScope, id: str) -> ClientRpc[Entity]:
    """Returns the entity with this id. Raises `NotFound`."""
    request = pb.GetEntityRequest(scope=scope_to_wire(scope), id=checked_text("id", id))
    return ClientRpc(GraphServiceStub, "GetEntity", request, _entity)


def find(scope: ClientScope, name: str, type: str | None = None) -> ClientRpc[tuple[Entity, ...]]:
    """Returns the entities that have this name or alias, of one `type` where it is given."""
    request = pb.FindEntitiesRequest(scope=scope_to_wire(scope), name=checked_text("name", name), type=_given("type", type))
    return ClientRpc(GraphServiceStub, "FindEntities", request, _entities)


def list_entities(
    scope: ClientScope,
    type: str | None = None,
    *,
    prefix: str = "",
    limit: int = 50,
    cursor: str | None = None,
    filters: Any = None,
) -> ClientRpc[EntityPage]:
    """Returns a page of `limit` (1 to 1,000) entities by name: those whose name begins with `prefix`. `filters` is a
    `germane.Filters` or a mapping with the same names."""
    request = pb.ListEntitiesRequest(
        scope=scope_to_wire(scope),
        type=_given("type", type),
        prefix=checked_text("prefix", prefix, optional=True),
        page_size=number_given("limit", limit, 1, PAGE.maximum),
        page_token=checked_text("cursor", cursor, optional=True),
        filters=None if filters is None else filters_to_wire(filters, scope.zone),
    )

    def read(response: pb.ListEntitiesResponse) -> EntityPage:
        return EntityPage(entities=_entities(response), cursor=response.next_page_token or None)

    return ClientRpc(GraphServiceStub, "ListEntities", request, read)


def relate(
    scope: ClientScope,
    source: str,
    type: str,
    target: str,
    *,
    weight: float = 1.0,
    confidence: float = 0.8,
    properties: Mapping[str, Any] | None = None,
    valid_from: datetime | None = None,
    valid_to: datetime | None = None,
    exclusive: bool = False,
    sensitivity: str = "private",
) -> ClientRpc[Relation]:
    """Stores how one entity stands to another, and returns the relation. With `exclusive`, what held before ends. Raises
    `NotFound`."""
    request = pb.RelateEntitiesRequest(
        scope=scope_to_wire(scope),
        source=checked_text("source", source),
        type=checked_text("type", type),
        target=checked_text("target", target),
        weight=_share("weight", weight),
        confidence=_share("confidence", confidence),
        properties=None if properties is None else wire_struct("properties", properties),
        valid_from=_time("valid_from", valid_from, scope),
        valid_to=_time("valid_to", valid_to, scope),
        exclusive=exclusive,
        sensitivity=checked_text("sensitivity", sensitivity),
    )
    return ClientRpc(GraphServiceStub, "RelateEntities", request, _relation)


def unrelate(scope: ClientScope, id: str, at: datetime | None = None) -> ClientRpc[Relation]:
    """Ends a relation at a time (default: now) and returns it. Raises `NotFound`."""
    request = pb.EndRelationRequest(scope=scope_to_wire(scope), id=checked_text("id", id), at=_time("at", at, scope))
    return ClientRpc(GraphServiceStub, "EndRelation", request, _relation)


def relations(
    scope: ClientScope, entity: str, *, at: datetime | None = None, limit: int = 100
) -> ClientRpc[tuple[Relation, ...]]:
    """Returns the relations of an entity in both directions, the heaviest first. Raises `NotFound`."""
    request = pb.ListRelationsRequest(
        scope=scope_to_wire(scope),
        entity=checked_text("entity", entity),
        at=_time("at", at, scope),
        limit=number_given("limit", limit, 1, PAGE.maximum),
    )
    return ClientRpc(GraphServiceStub, "ListRelations", request, _relations)


def traverse(
    scope: ClientScope, start: str, *, depth: int = 2, fan_out: int = 20, at: datetime | None = None, limit: int = 200
) -> ClientRpc[Neighbourhood]:
    """Returns what is within `depth` steps (0 to 10) of an entity, of each entity at most `fan_out` relations. Raises
    `NotFound`."""
    request = pb.TraverseRequest(
        scope=scope_to_wire(scope),
        start=checked_text("start", start),
        depth=number_given("depth", depth, 0, _MAX_DEPTH),
        fan_out=number_given("fan_out", fan_out, 1, _MAX_FAN_OUT),
        at=_time("at", at, scope),
        limit=number_given("limit", limit, 1, PAGE.maximum),
    )

    def read(response: pb.TraverseResponse) -> Neighbourhood:
        return Neighbourhood(
            entities=_entities(response),
            relations=_relations(response),
            depths=dict(response.depths),
            capped=response.capped,
        )

    return ClientRpc(GraphServiceStub, "Traverse", request, read)


def salient(scope: ClientScope, limit: int = 10, *, at: datetime | None = None) -> ClientRpc[tuple[Entity, ...]]:
    """Returns the entities that matter most at a time (default: now): often mentioned, and lately."""
    request = pb.ListSalientEntitiesRequest(
        scope=scope_to_wire(scope), limit=number_given("limit", limit, 1, PAGE.maximum), at=_time("at", at, scope)
    )
    return ClientRpc(GraphServiceStub, "ListSalientEntities", request, _entities)


def chain(
    scope: ClientScope,
    start: str,
    types: Iterable[str] = ("causes", "fixes"),
    *,
    backwards: bool = False,
    limit: int = 50,
) -> ClientRpc[tuple[Relation, ...]]:
    """Returns the causal chain from an entity: relations of these types followed from source to target, or `backwards`, the
    nearest first. Raises `NotFound`."""
    if not isinstance(backwards, bool):
        raise InvalidInput("backwards must be True or False")
    wanted = _texts("types", types)
    if not wanted:
        raise InvalidInput("types is empty: name the types of relations to follow")
    request = pb.FollowChainRequest(
        scope=scope_to_wire(scope),
        start=checked_text("start", start),
        types=wanted,
        backwards=backwards,
        limit=number_given("limit", limit, 1, PAGE.maximum),
    )
    return ClientRpc(GraphServiceStub, "FollowChain", request, _relations)


def path(scope: ClientScope, start: str, goal: str, *, at: datetime | None = None) -> ClientRpc[tuple[Step, ...] | None]:
    """Returns a shortest path between two entities; () where both are one, None where there is none. Raises `NotFound`."""
    request = pb.FindPathRequest(
        scope=scope_to_wire(scope),
        start=checked_text("start", start),
        goal=checked_text("goal", goal),
        at=_time("at", at, scope),
    )

    def read(response: pb.FindPathResponse) -> tuple[Step, ...] | None:
        if not response.found:
            return None
        return tuple(Step(relation_of_wire(one.relation), one.backwards) for one in response.steps)

    return ClientRpc(GraphServiceStub, "FindPath", request, read)


def merge(scope: ClientScope, kept: str, gone: str) -> ClientRpc[Entity]:
    """Makes one entity of two, and returns `kept`. Raises `NotFound`."""
    request = pb.MergeEntitiesRequest(
        scope=scope_to_wire(scope), kept=checked_text("kept", kept), gone=checked_text("gone", gone)
    )
    return ClientRpc(GraphServiceStub, "MergeEntities", request, _entity)


def forget(
    scope: ClientScope, ids: Sequence[str], *, dry_run: bool = False, by: str = "", reason: str = ""
) -> ClientRpc[Receipt]:
    """Forgets entities with their relations, relations, and patterns, by id."""
    wanted = [ids] if isinstance(ids, str) else _texts("ids", ids)
    request = pb.ForgetGraphRequest(scope=scope_to_wire(scope), ids=wanted, dry_run=dry_run, by=by, reason=reason)
    return ClientRpc(GraphServiceStub, "ForgetGraph", request, lambda response: receipt_of_wire(response.receipt))


def learn(
    scope: ClientScope,
    action: str,
    *,
    keywords: Iterable[str] = (),
    intent: str | None = None,
    entity_types: Iterable[str] = (),
    sensitivity: str = "private",
) -> ClientRpc[Pattern]:
    """Stores an action and when it applies, and returns the pattern."""
    request = pb.LearnPatternRequest(
        scope=scope_to_wire(scope),
        action=checked_text("action", action),
        keywords=_texts("keywords", keywords),
        intent=_given("intent", intent),
        entity_types=_texts("entity_types", entity_types),
        sensitivity=checked_text("sensitivity", sensitivity),
    )
    return ClientRpc(GraphServiceStub, "LearnPattern", request, _pattern)


def match(
    scope: ClientScope, query: str = "", *, intent: str | None = None, entity_types: Iterable[str] = (), limit: int = 20
) -> ClientRpc[tuple[Pattern, ...]]:
    """Returns the patterns that apply to a request, the best success rate first."""
    request = pb.MatchPatternsRequest(
        scope=scope_to_wire(scope),
        query=checked_text("query", query, optional=True),
        intent=_given("intent", intent),
        entity_types=_texts("entity_types", entity_types),
        limit=number_given("limit", limit, 1, PAGE.maximum),
    )

    def read(response: pb.MatchPatternsResponse) -> tuple[Pattern, ...]:
        return tuple(map(pattern_of_wire, response.patterns))

    return ClientRpc(GraphServiceStub, "MatchPatterns", request, read)


def apply_result(scope: ClientScope, id: str, succeeded: bool) -> ClientRpc[Pattern]:
    """Counts that a pattern was tried, and whether it worked; returns the pattern. Raises `NotFound`."""
    if not isinstance(succeeded, bool):
        raise InvalidInput("succeeded must be True or False")
    request = pb.ApplyPatternRequest(scope=scope_to_wire(scope), id=checked_text("id", id), succeeded=succeeded)
    return ClientRpc(GraphServiceStub, "ApplyPattern", request, _pattern)


def _given(name: str, value: str | None) -> str:
    return "" if value is None else checked_text(name, value)


def _texts(name: str, given: Iterable[str]) -> list[str]:
    if isinstance(given, str):
        raise InvalidInput(f"{name} must be a list of strings, not a string")
    return [checked_text(name, one) for one in given]


def _time(name: str, value: datetime | None, scope: ClientScope) -> Timestamp | None:
    return None if value is None else time_to_wire(name, value, scope.zone)


def _share(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"{name} must be a number, 0 to 1")
    return float(value)


def _entity(response: Any) -> Entity:
    return entity_of_wire(response.entity)


def _entities(response: Any) -> tuple[Entity, ...]:
    return tuple(map(entity_of_wire, response.entities))


def _relation(response: Any) -> Relation:
    return relation_of_wire(response.relation)


def _relations(response: Any) -> tuple[Relation, ...]:
    return tuple(map(relation_of_wire, response.relations))


def _pattern(response: Any) -> Pattern:
    return pattern_of_wire(response.pattern)


# Reading: the service's messages as the values that the library returns.


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
