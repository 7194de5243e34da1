"""Memory servicer: the RPCs of `MemoryService`; each calls the method of `Agent` with the same meaning."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from types import MappingProxyType
from typing import Any, ClassVar, cast

from germane.access.key import Right
from germane.api.export import Exported
from germane.grpc import to_wire
from germane.grpc.agent_resolver import AgentResolver
from germane.grpc.assemble_request import AssembleArguments
from germane.grpc.call import RpcCall
from germane.grpc.from_wire import fields, filters, moment
from germane.grpc.refusals import invalid
from germane.grpc.stubs import memory_pb2 as pb
from germane.grpc.to_wire import memory, message, search_result, stats, user
from germane.memories.memory import Memory
from germane.types.limits import EXPLAINED, within

__all__ = ["ALL_SENSITIVITIES", "MemoryServicer", "limit_of", "page_size"]

_DEFAULT_PAGE_SIZE = 50
_DEFAULT_LIMIT = 10
_WHY_SECONDS = 10.0
"""When the assembly that is explained is due: much later than the service's own, so that no slow source hides the reason."""
_MAX_LIMIT = 1000
ALL_SENSITIVITIES = ("public", "private", "sensitive")
_VERDICTS: Mapping[int, bool] = MappingProxyType({pb.VERDICT_HELPFUL: True, pb.VERDICT_HARMFUL: False})


class MemoryServicer:
    """Runs on the engine's loop. Every method raises `Refused` and `InvalidInput` for a request that its caller has to correct,
    and germane's other errors."""

    rights: ClassVar[Mapping[str, Right]] = MappingProxyType(
        {
            "Remember": "write",
            "GetMemory": "read",
            "ListMemories": "read",
            "UpdateMemory": "write",
            "GetMemoryHistory": "read",
            "Search": "read",
            "Forget": "write",
            "GiveFeedback": "write",
            "Export": "read",
            "Find": "read",
            "GetStats": "read",
            "ListUsers": "read",
            "ListAgents": "read",
            "Why": "read",
        }
    )

    def __init__(self, resolver: AgentResolver) -> None:
        self._resolver = resolver

    async def remember(self, request: pb.RememberRequest, call: RpcCall) -> pb.RememberResponse:
        agent = self._resolver.scoped(request.scope, call)
        content = fields(request.fields, ("text", "kind", "agent_wide", "provenance", "self"))
        stored = await agent.remember(
            request.text or None, kind=request.kind or "note", agent_wide=request.agent_wide, **content
        )
        return pb.RememberResponse(memory=memory(stored))

    async def get_memory(self, request: pb.GetMemoryRequest, call: RpcCall) -> pb.GetMemoryResponse:
        agent = self._resolver.scoped(request.scope, call)
        return pb.GetMemoryResponse(memory=memory(await agent.memories.get(_id(request.id))))

    async def list_memories(self, request: pb.ListMemoriesRequest, call: RpcCall) -> pb.ListMemoriesResponse:
        agent = self._resolver.scoped(request.scope, call)
        page = await agent.memories.list(
            filters(request.filters, default_sensitivities=ALL_SENSITIVITIES),
            limit=page_size(request.page_size),
            cursor=request.page_token or None,
        )
        return pb.ListMemoriesResponse(memories=map(memory, page.memories), next_page_token=page.cursor or "")

    async def update_memory(self, request: pb.UpdateMemoryRequest, call: RpcCall) -> pb.UpdateMemoryResponse:
        agent = self._resolver.scoped(request.scope, call)
        changes = fields(request.fields, ("text", "id", "self"))
        changed = await agent.memories.update(_id(request.id), request.text or None, **changes)
        return pb.UpdateMemoryResponse(memory=memory(changed))

    async def get_memory_history(self, request: pb.GetMemoryHistoryRequest, call: RpcCall) -> pb.GetMemoryHistoryResponse:
        agent = self._resolver.scoped(request.scope, call)
        return pb.GetMemoryHistoryResponse(memories=map(memory, await agent.memories.history(_id(request.id))))

    async def search(self, request: pb.SearchRequest, call: RpcCall) -> AsyncGenerator[pb.SearchResponse, None]:
        agent = self._resolver.scoped(request.scope, call)
        if not request.query:
            raise invalid("query is missing: say what to look for")
        results = await agent.recall(
            request.query,
            limit_of("limit", request.limit, _DEFAULT_LIMIT),
            filters=filters(request.filters),
            at=moment(request.at, "at") if request.HasField("at") else None,
            strategy=request.strategy or "default",
        )
        for result in results:
            yield search_result(result)

    async def forget(self, request: pb.ForgetRequest, call: RpcCall) -> pb.ForgetResponse:
        agent = self._resolver.scoped(request.scope, call)
        receipt = await agent.forget(
            list(request.ids) or None,
            key=request.key or None,
            tag=request.tag or None,
            session=request.session_id or None,
            source_kind=request.source_kind or None,
            channel=request.channel or None,
            user=request.user_id or None,
            everything=request.everything,
            dry_run=request.dry_run,
            by=request.by,
            reason=request.reason,
        )
        return pb.ForgetResponse(
            memory_ids=receipt.memory_ids,
            event_ids=receipt.event_ids,
            dry_run=receipt.dry_run,
            scrubbed=receipt.scrubbed,
            waiting_for=receipt.waiting_for,
            checked=receipt.checked,
            block_ids=receipt.block_ids,
            graph_ids=receipt.graph_ids,
            task_ids=receipt.task_ids,
            history_ids=receipt.history_ids,
        )

    async def give_feedback(self, request: pb.GiveFeedbackRequest, call: RpcCall) -> pb.GiveFeedbackResponse:
        agent = self._resolver.scoped(request.scope, call)
        helpful = _VERDICTS.get(request.verdict)
        if helpful is None:
            raise invalid("verdict is missing: give VERDICT_HELPFUL or VERDICT_HARMFUL")
        return pb.GiveFeedbackResponse(known=await agent.feedback(list(request.ids), helpful=helpful))

    async def find(self, request: pb.FindRequest, call: RpcCall) -> pb.FindResponse:
        agent = self._resolver.scoped(request.scope, call)
        thing = await agent.find(_id(request.id))
        if isinstance(thing, Memory):
            return pb.FindResponse(memory=memory(thing))
        return pb.FindResponse(message=message(thing))

    async def get_stats(self, request: pb.GetStatsRequest, call: RpcCall) -> pb.GetStatsResponse:
        return stats(await self._resolver.scoped(request.scope, call).stats())

    async def list_users(self, request: pb.ListUsersRequest, call: RpcCall) -> pb.ListUsersResponse:
        agent = self._resolver.scoped(request.scope, call)
        page = await agent.users(limit=page_size(request.page_size), cursor=request.page_token or None)
        return pb.ListUsersResponse(users=map(user, page.users), next_page_token=page.cursor or "")

    async def list_agents(self, request: pb.ListAgentsRequest, call: RpcCall) -> pb.ListAgentsResponse:
        page = await self._resolver.agents(
            request.org_id, call, limit=page_size(request.page_size), cursor=request.page_token or None
        )
        return pb.ListAgentsResponse(agents=map(to_wire.agent, page.agents), next_page_token=page.cursor or "")

    async def why(self, request: pb.WhyRequest, call: RpcCall) -> pb.WhyResponse:
        asked = request.request
        org = self._resolver.authorise(call, org=asked.org_id, agent=asked.agent_id, where="request.")
        within("request", asked.ByteSize(), EXPLAINED)
        thing, arguments = _id(request.id), await AssembleArguments.of(asked)
        agent = self._resolver.agent(org, arguments.agent, user=arguments.user, zone=arguments.zone)
        seconds = arguments.deadline or _WHY_SECONDS
        context = await agent.assemble(arguments.conversation.raw, deadline=seconds, **arguments.options)
        return to_wire.why(await agent.why(thing, context, session=arguments.options["session"]))

    async def export(self, request: pb.ExportRequest, call: RpcCall) -> AsyncGenerator[pb.ExportResponse, None]:
        agent = self._resolver.scoped(request.scope, call)
        async with aclosing(cast("AsyncGenerator[Exported, None]", agent.export())) as items:
            async for item in items:
                yield pb.ExportResponse(json=_json(item))


def _id(value: str) -> str:
    if not value:
        raise invalid("id is missing: give a memory's")
    return value


def page_size(given: int) -> int:
    """Returns how many entries a page has. Raises `Refused`."""
    return limit_of("page_size", given, _DEFAULT_PAGE_SIZE)


def limit_of(name: str, value: int, default: int) -> int:
    """Returns how many things a call returns at most. Raises `Refused`."""
    if not 0 <= value <= _MAX_LIMIT:
        raise invalid(f"{name} must be 1 to {_MAX_LIMIT:,}, or 0 for {default}")
    return value or default


def _json(item: Mapping[str, Any]) -> str:
    """Returns readable JSON; with lone surrogates, which UTF-8 can't encode, JSON with all but ASCII escaped."""
    readable = json.dumps(item, ensure_ascii=False)
    try:
        readable.encode()
    except UnicodeEncodeError:
        return json.dumps(item)
    return readable
