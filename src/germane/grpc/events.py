"""Events: the RPC of `EventService`: keeping what was said."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from germane.access.key import Right
from germane.grpc.call import Call
from germane.grpc.incoming import message
from germane.grpc.json_text import JsonText
from germane.grpc.reach import Reach
from germane.grpc.refusals import invalid
from germane.grpc.stubs import memory_pb2 as pb
from germane.limits import RECORDED, within

__all__ = ["Events"]


class Events:
    rights: ClassVar[Mapping[str, Right]] = MappingProxyType({"Record": "write"})

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    async def record(self, request: pb.RecordRequest, call: Call) -> pb.RecordResponse:
        agent = self._reach.scoped(request.scope, call)
        if not request.session_id:
            raise invalid("session_id is missing: say which conversation this is")
        within("messages", len(request.messages), RECORDED)
        json = JsonText()
        recorded = await agent.record(
            [message(one, at, json) for at, one in enumerate(request.messages)],
            session=request.session_id,
            source_kind=request.source_kind or "user",
            channel=request.channel or None,
        )
        return pb.RecordResponse(added=recorded.added, skipped=recorded.skipped)
