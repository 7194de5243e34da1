"""Event servicer: the RPCs of `EventService`, which record the messages of conversations and list them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, overload

from germane.access.key import Right
from germane.grpc import to_wire
from germane.grpc.agent_resolver import AgentResolver
from germane.grpc.call import RpcCall
from germane.grpc.from_wire import filters, message
from germane.grpc.json_text import JsonText
from germane.grpc.memory_servicer import ALL_SENSITIVITIES, page_size
from germane.grpc.refusals import invalid
from germane.grpc.stubs import context_pb2
from germane.grpc.stubs import memory_pb2 as pb
from germane.types.limits import RECORDED, within

__all__ = ["EventServicer"]


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
        within("messages", len(request.messages), RECORDED)
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
            return [message(self._messages[each], each, self._json) for each in range(*index.indices(len(self)))]
        return message(self._messages[index], index, self._json)
