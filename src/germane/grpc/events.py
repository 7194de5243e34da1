"""Events: the RPC of `EventService`: keeping what was said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, overload

from germane.access.key import Right
from germane.grpc.agent_resolver import AgentResolver
from germane.grpc.call import Call
from germane.grpc.from_wire import message
from germane.grpc.json_text import JsonText
from germane.grpc.refusals import invalid
from germane.grpc.stubs import context_pb2
from germane.grpc.stubs import memory_pb2 as pb
from germane.types.limits import RECORDED, within

__all__ = ["Events"]


class Events:
    rights: ClassVar[Mapping[str, Right]] = MappingProxyType({"Record": "write"})

    def __init__(self, reach: AgentResolver) -> None:
        self._reach = reach

    async def record(self, request: pb.RecordRequest, call: Call) -> pb.RecordResponse:
        agent = self._reach.scoped(request.scope, call)
        if not request.session_id:
            raise invalid("session_id is missing: say which conversation this is")
        within("messages", len(request.messages), RECORDED)
        recorded = await agent.record(
            _Sent(request.messages),
            session=request.session_id,
            source_kind=request.source_kind or "user",
            channel=request.channel or None,
        )
        return pb.RecordResponse(added=recorded.added, skipped=recorded.skipped)


class _Sent(Sequence[dict[str, Any]]):
    """The dicts that a library's caller would have given, each made when it is asked for: a long list isn't read in one go."""

    def __init__(self, messages: Sequence[context_pb2.Message]) -> None:
        self._messages, self._json = messages, JsonText()

    def __len__(self) -> int:
        return len(self._messages)

    @overload
    def __getitem__(self, at: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, at: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, at: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(at, slice):
            return [message(self._messages[place], place, self._json) for place in range(*at.indices(len(self)))]
        return message(self._messages[at], at, self._json)
