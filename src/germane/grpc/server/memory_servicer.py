"""Memory servicer: the RPCs of `MemoryService`, of `EventService` (recorded messages) and of `DirectiveService`.

Each calls the method of `Agent` with the same meaning.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from types import MappingProxyType
from typing import Any, ClassVar, cast, overload

from germane.api.verbs.transfer import Exported
from germane.grpc.server import to_wire
from germane.grpc.server.assembly_servicer import AssembleArguments
from germane.grpc.server.authorisation import AgentResolver
from germane.grpc.server.call import RpcCall
from germane.grpc.server.from_wire import fields, filters, message_dict, moment
from germane.grpc.server.refusals import invalid
from germane.grpc.server.to_wire import memory, message, search_result, stats, user, wire_text
from germane.grpc.stubs import context_pb2
from germane.grpc.stubs import memory_pb2 as pb
from germane.kinds.keys.value import Right
from germane.kinds.memories.value import Memory
from germane.types.json_text import JsonText
from germane.types.limits import EXPLAINED, RECORDED, check_size

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
        check_size("request", asked.ByteSize(), EXPLAINED)
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


# `EventService` records the messages of conversations and lists them. `ActivityService` has the typed events.


class EventServicer:
    """Runs on the engine's loop. Raises `Refused` and `InvalidInput` for a request that its caller has to correct."""

    rights: ClassVar[Mapping[str, Right]] = MappingProxyType(
        {"Record": "write", "ListMessages": "read", "ListSessions": "read"}
    )

    def __init__(self, resolver: AgentResolver) -> None:
        self._resolver = resolver

    async def record(self, request: pb.RecordRequest, call: RpcCall) -> pb.RecordResponse:
        agent = self._resolver.scoped(request.scope, call)
        if not request.session_id:
            raise invalid("session_id is missing: say which conversation this is")
        check_size("messages", len(request.messages), RECORDED)
        recorded = await agent.record(
            _LazyMessages(request.messages),
            session=request.session_id,
            source_kind=request.source_kind or "user",
            channel=request.channel or None,
        )
        return pb.RecordResponse(
            added=recorded.added,
            skipped=recorded.skipped,
            secrets=recorded.secrets,
            extracted=recorded.extracted,
            assumed_resent=recorded.assumed_resent,
            assumed_new=recorded.assumed_new,
        )

    async def list_messages(self, request: pb.ListMessagesRequest, call: RpcCall) -> pb.ListMessagesResponse:
        agent = self._resolver.scoped(request.scope, call)
        page = await agent.messages(
            request.session_id or None,
            filters=filters(request.filters, default_sensitivities=ALL_SENSITIVITIES),
            limit=page_size(request.page_size),
            cursor=request.page_token or None,
            whole=False,
        )
        return pb.ListMessagesResponse(messages=map(to_wire.message, page.messages), next_page_token=page.cursor or "")

    async def list_sessions(self, request: pb.ListSessionsRequest, call: RpcCall) -> pb.ListSessionsResponse:
        agent = self._resolver.scoped(request.scope, call)
        page = await agent.sessions(limit=page_size(request.page_size), cursor=request.page_token or None)
        return pb.ListSessionsResponse(sessions=map(to_wire.session, page.sessions), next_page_token=page.cursor or "")


class _LazyMessages(Sequence[dict[str, Any]]):
    """The messages as the dicts that `Agent.record` takes. Each is made when it is needed, so that a long list doesn't block
    the loop."""

    def __init__(self, messages: Sequence[context_pb2.Message]) -> None:
        self._messages, self._json = messages, JsonText()

    def __len__(self) -> int:
        return len(self._messages)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(index, slice):
            return [message_dict(self._messages[each], each, self._json) for each in range(*index.indices(len(self)))]
        return message_dict(self._messages[index], index, self._json)


# `DirectiveService` reads and sets an agent's standing instructions.


class DirectiveServicer:
    """Runs on the engine's loop. Raises `Refused` and `InvalidInput` for a request that its caller has to correct."""

    rights: ClassVar[Mapping[str, Right]] = MappingProxyType({"GetDirective": "read", "SetDirective": "write"})

    def __init__(self, resolver: AgentResolver) -> None:
        self._resolver = resolver

    async def get_directive(self, request: pb.GetDirectiveRequest, call: RpcCall) -> pb.GetDirectiveResponse:
        return pb.GetDirectiveResponse(text=wire_text(await self._resolver.scoped(request.scope, call).directive()))

    async def set_directive(self, request: pb.SetDirectiveRequest, call: RpcCall) -> pb.SetDirectiveResponse:
        agent = self._resolver.scoped(request.scope, call)
        return pb.SetDirectiveResponse(text=wire_text(await agent.directive(request.text)))
