"""Events: the RPC of `EventService`: keeping what was said."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

from germane.access.key import Right
from germane.grpc.call import Call
from germane.grpc.incoming import message
from germane.grpc.json_text import JsonText
from germane.grpc.reach import Reach
from germane.grpc.refusals import invalid
from germane.grpc.stubs import context_pb2
from germane.grpc.stubs import memory_pb2 as pb
from germane.limits import RECORDED, within

__all__ = ["Events"]

_AT_ONCE = 256
"""Messages that are read without a pause: less than a millisecond, but for JSON."""


class Events:
    rights: ClassVar[Mapping[str, Right]] = MappingProxyType({"Record": "write"})

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    async def record(self, request: pb.RecordRequest, call: Call) -> pb.RecordResponse:
        agent = self._reach.scoped(request.scope, call)
        if not request.session_id:
            raise invalid("session_id is missing: say which conversation this is")
        within("messages", len(request.messages), RECORDED)
        recorded = await agent.record(
            await _read(request.messages),
            session=request.session_id,
            source_kind=request.source_kind or "user",
            channel=request.channel or None,
        )
        return pb.RecordResponse(added=recorded.added, skipped=recorded.skipped)


async def _read(sent: Sequence[context_pb2.Message]) -> list[dict[str, Any]]:
    """The dicts that a library's caller would have given, a few at a time: others want the event loop too."""
    json, read = JsonText(), list[dict[str, Any]]()
    for at, one in enumerate(sent):
        read.append(message(one, at, json))
        if at % _AT_ONCE == _AT_ONCE - 1:
            await asyncio.sleep(0)
    return read
