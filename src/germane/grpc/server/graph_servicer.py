"""Graph servicer: the RPCs of `GraphService`; each calls the method of `agent.graph` with the same meaning."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, cast

from germane.grpc.server.authorisation import AgentResolver
from germane.grpc.server.call import RpcCall, may_read
from germane.grpc.server.from_wire import required, set_filters, set_moment, set_object
from germane.grpc.server.memory_servicer import limit_of, page_size
from germane.grpc.server.refusals import invalid
from germane.grpc.server.to_wire import object_struct, receipt, stamp, wire_text
from germane.grpc.stubs import graph_pb2 as pb
from germane.kinds.graph.value import Entity, Pattern, Relation
from germane.kinds.keys.value import Right
from germane.types.candidate import Sensitivity

_RELATIONS, _DEPTH, _FAN_OUT, _WALKED, _PATTERNS = 100, 2, 20, 200, 20
_SALIENT, _LINKS, _CAUSAL = 10, 50, ("causes", "fixes")


class GraphServicer:
    """Runs on the engine's loop. Raises `Refused`, `InvalidInput`, `NotFound` and `Conflict`. What a key without the right to
    read gets holds no content."""

    rights: ClassVar[Mapping[str, Right]] = MappingProxyType(
        {
            "AddEntity": "write",
            "GetEntity": "read",
            "FindEntities": "read",
            "ListEntities": "read",
            "RelateEntities": "write",
            "EndRelation": "write",
            "ListRelations": "read",
            "Traverse": "read",
            "ListSalientEntities": "read",
            "FollowChain": "read",
            "FindPath": "read",
            "MergeEntities": "write",
            "ForgetGraph": "write",
            "LearnPattern": "write",
            "MatchPatterns": "read",
            "ApplyPattern": "write",
        }
    )

    def __init__(self, resolver: AgentResolver) -> None:
        self._resolver = resolver

    async def add_entity(self, request: pb.AddEntityRequest, call: RpcCall) -> pb.AddEntityResponse:
        graph = self._resolver.scoped(request.scope, call).graph
        type, name = required("type", request.type), required("name", request.name)
        made = await graph.add(
            type,
            name,
            aliases=list(request.aliases),
            properties=set_object(request, "properties"),
            sensitivity=cast("Sensitivity", request.sensitivity or "private"),
        )
        return pb.AddEntityResponse(entity=entity(made, readable=may_read(call)))

    async def get_entity(self, request: pb.GetEntityRequest, call: RpcCall) -> pb.GetEntityResponse:
        graph = self._resolver.scoped(request.scope, call).graph
        return pb.GetEntityResponse(entity=entity(await graph.get(required("id", request.id))))

    async def find_entities(self, request: pb.FindEntitiesRequest, call: RpcCall) -> pb.FindEntitiesResponse:
        graph = self._resolver.scoped(request.scope, call).graph
        found = await graph.find(required("name", request.name), request.type or None)
        return pb.FindEntitiesResponse(entities=map(entity, found))

    async def list_entities(self, request: pb.ListEntitiesRequest, call: RpcCall) -> pb.ListEntitiesResponse:
        graph = self._resolver.scoped(request.scope, call).graph
        page = await graph.list(
            request.type or None,
            prefix=request.prefix,
            limit=page_size(request.page_size),
            cursor=request.page_token or None,
            filters=set_filters(request),
        )
        return pb.ListEntitiesResponse(entities=map(entity, page.entities), next_page_token=page.cursor or "")

    async def relate_entities(self, request: pb.RelateEntitiesRequest, call: RpcCall) -> pb.RelateEntitiesResponse:
        graph = self._resolver.scoped(request.scope, call).graph
        source, type, target = (required(name, getattr(request, name)) for name in ("source", "type", "target"))
        made = await graph.relate(
            source,
            type,
            target,
            weight=request.weight if request.HasField("weight") else 1.0,
            confidence=request.confidence if request.HasField("confidence") else 0.8,
            properties=set_object(request, "properties"),
            valid_from=set_moment(request, "valid_from"),
            valid_to=set_moment(request, "valid_to"),
            exclusive=request.exclusive,
            sensitivity=cast("Sensitivity", request.sensitivity or "private"),
        )
        return pb.RelateEntitiesResponse(relation=relation(made, readable=may_read(call)))

    async def end_relation(self, request: pb.EndRelationRequest, call: RpcCall) -> pb.EndRelationResponse:
        graph = self._resolver.scoped(request.scope, call).graph
        ended = await graph.unrelate(required("id", request.id), set_moment(request, "at"))
        return pb.EndRelationResponse(relation=relation(ended, readable=may_read(call)))

    async def list_relations(self, request: pb.ListRelationsRequest, call: RpcCall) -> pb.ListRelationsResponse:
        graph = self._resolver.scoped(request.scope, call).graph
        limit = limit_of("limit", request.limit, _RELATIONS)
        found = await graph.relations(required("entity", request.entity), at=set_moment(request, "at"), limit=limit)
        return pb.ListRelationsResponse(relations=map(relation, found))

    async def traverse(self, request: pb.TraverseRequest, call: RpcCall) -> pb.TraverseResponse:
        graph = self._resolver.scoped(request.scope, call).graph
        found = await graph.traverse(
            required("start", request.start),
            depth=request.depth if request.HasField("depth") else _DEPTH,
            fan_out=request.fan_out or _FAN_OUT,
            at=set_moment(request, "at"),
            limit=limit_of("limit", request.limit, _WALKED),
        )
        return pb.TraverseResponse(
            entities=map(entity, found.entities),
            relations=map(relation, found.relations),
            depths=found.depths,
            capped=found.capped,
        )

    async def list_salient_entities(
        self, request: pb.ListSalientEntitiesRequest, call: RpcCall
    ) -> pb.ListSalientEntitiesResponse:
        graph = self._resolver.scoped(request.scope, call).graph
        found = await graph.salient(limit_of("limit", request.limit, _SALIENT), at=set_moment(request, "at"))
        return pb.ListSalientEntitiesResponse(entities=map(entity, found))

    async def follow_chain(self, request: pb.FollowChainRequest, call: RpcCall) -> pb.FollowChainResponse:
        graph = self._resolver.scoped(request.scope, call).graph
        found = await graph.chain(
            required("start", request.start),
            list(request.types) or _CAUSAL,
            backwards=request.backwards,
            limit=limit_of("limit", request.limit, _LINKS),
        )
        return pb.FollowChainResponse(relations=map(relation, found))

    async def find_path(self, request: pb.FindPathRequest, call: RpcCall) -> pb.FindPathResponse:
        graph = self._resolver.scoped(request.scope, call).graph
        start, goal = required("start", request.start), required("goal", request.goal)
        steps = await graph.path(start, goal, at=set_moment(request, "at"))
        walked = [pb.PathStep(relation=relation(one.relation), backwards=one.backwards) for one in steps or ()]
        return pb.FindPathResponse(found=steps is not None, steps=walked)

    async def merge_entities(self, request: pb.MergeEntitiesRequest, call: RpcCall) -> pb.MergeEntitiesResponse:
        graph = self._resolver.scoped(request.scope, call).graph
        made = await graph.merge(required("kept", request.kept), required("gone", request.gone))
        return pb.MergeEntitiesResponse(entity=entity(made, readable=may_read(call)))

    async def forget_graph(self, request: pb.ForgetGraphRequest, call: RpcCall) -> pb.ForgetGraphResponse:
        graph = self._resolver.scoped(request.scope, call).graph
        if not request.ids:
            raise invalid("ids is missing: say what to forget")
        given: dict[str, Any] = {"dry_run": request.dry_run, "by": request.by, "reason": request.reason}
        return pb.ForgetGraphResponse(receipt=receipt(await graph.forget(list(request.ids), **given)))

    async def learn_pattern(self, request: pb.LearnPatternRequest, call: RpcCall) -> pb.LearnPatternResponse:
        graph = self._resolver.scoped(request.scope, call).graph
        learned = await graph.patterns.learn(
            required("action", request.action),
            keywords=list(request.keywords),
            intent=request.intent or None,
            entity_types=list(request.entity_types),
            sensitivity=cast("Sensitivity", request.sensitivity or "private"),
        )
        return pb.LearnPatternResponse(pattern=pattern(learned, readable=may_read(call)))

    async def match_patterns(self, request: pb.MatchPatternsRequest, call: RpcCall) -> pb.MatchPatternsResponse:
        graph = self._resolver.scoped(request.scope, call).graph
        found = await graph.patterns.match(
            request.query,
            intent=request.intent or None,
            entity_types=list(request.entity_types),
            limit=limit_of("limit", request.limit, _PATTERNS),
        )
        return pb.MatchPatternsResponse(patterns=map(pattern, found))

    async def apply_pattern(self, request: pb.ApplyPatternRequest, call: RpcCall) -> pb.ApplyPatternResponse:
        graph = self._resolver.scoped(request.scope, call).graph
        counted = await graph.patterns.apply_result(required("id", request.id), request.succeeded)
        return pb.ApplyPatternResponse(pattern=pattern(counted, readable=may_read(call)))


# Entities, relations and patterns as wire messages.


def entity(stored: Entity, *, readable: bool = True) -> pb.Entity:
    """Returns an entity; without names and properties where the caller may not read."""
    return pb.Entity(
        id=stored.id,
        type=wire_text(stored.type) if readable else "",
        name=wire_text(stored.name) if readable else "",
        aliases=map(wire_text, stored.aliases) if readable else (),
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
        type=wire_text(stored.type) if readable else "",
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
        action=wire_text(stored.action) if readable else "",
        keywords=map(wire_text, stored.keywords) if readable else (),
        intent=wire_text(stored.intent or "") if readable else "",
        entity_types=map(wire_text, stored.entity_types) if readable else (),
        user_id=stored.user or "",
        successes=stored.successes,
        applications=stored.applications,
        sensitivity=stored.sensitivity,
        created_at=stamp(stored.created_at),
        updated_at=stamp(stored.updated_at),
    )
