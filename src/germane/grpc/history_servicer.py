"""History servicer: the RPCs of `HistoryService`; each calls the method of `agent.history` with the same meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

from germane.access.key import Right
from germane.api.org_turns import by_turns
from germane.grpc.agent_resolver import AgentResolver
from germane.grpc.authentication import denied
from germane.grpc.call import RpcCall, may_read
from germane.grpc.from_wire import json_list, message, required
from germane.grpc.history_from_wire import history_strategy
from germane.grpc.history_to_wire import compacted, earlier, outline_line, summary, wire_messages
from germane.grpc.json_text import JsonText
from germane.grpc.memory_servicer import limit_of, page_size
from germane.grpc.refusals import invalid
from germane.grpc.stubs import context_pb2
from germane.grpc.stubs import history_pb2 as pb
from germane.types.limits import MESSAGES, TOOL_CHARACTERS, within

__all__ = ["HistoryServicer"]

_LISTED, _MILLISECONDS = 100, 5_000


class HistoryServicer:
    """Runs on the engine's loop. Raises `Refused`, `InvalidInput` and `NotFound`."""

    rights: ClassVar[Mapping[str, Right]] = MappingProxyType(
        {
            "CompactHistory": "write",
            "ShowEarlier": "read",
            "RebuildHistory": "read",
            "ListOutline": "read",
            "ListSummaries": "read",
        }
    )

    def __init__(self, resolver: AgentResolver) -> None:
        self._resolver = resolver

    async def compact_history(self, request: pb.CompactHistoryRequest, call: RpcCall) -> pb.CompactHistoryResponse:
        """The answer may hold a summary that was kept before, so the key has to allow reading too."""
        history = self._resolver.scoped(request.scope, call).history
        if not may_read(call):
            raise denied()
        session, model = required("session_id", request.session_id), required("model", request.model)
        for name in ("max_tokens", "max_messages", "deadline_ms"):
            if getattr(request, name) < 0:
                raise invalid(f"{name} must be 0 or more")
        within("tools_json", len(request.tools_json), TOOL_CHARACTERS)
        given: dict[str, Any] = {"low_water": request.low_water} if request.HasField("low_water") else {}
        if request.HasField("strategy"):
            given["strategy"] = history_strategy(request.strategy, "strategy")
        made = await history.compact(
            await _messages(request.messages),
            session=session,
            model=model,
            max_tokens=request.max_tokens or None,
            system=JsonText().read(request.system_json, "system_json") if request.system_json else None,
            tools=json_list(request.tools_json, "tools_json") if request.tools_json else (),
            provider=request.provider or None,
            max_messages=request.max_messages or None,
            deadline=(request.deadline_ms or _MILLISECONDS) / 1000,
            **given,
        )
        return compacted(made)

    async def show_earlier(self, request: pb.ShowEarlierRequest, call: RpcCall) -> pb.ShowEarlierResponse:
        history = self._resolver.scoped(request.scope, call).history
        return earlier(await history.show(required("handle", request.handle), session=request.session_id or None))

    async def rebuild_history(self, request: pb.RebuildHistoryRequest, call: RpcCall) -> pb.RebuildHistoryResponse:
        history = self._resolver.scoped(request.scope, call).history
        session, messages = required("session_id", request.session_id), await _messages(request.messages)
        made = await history.rebuild(messages, session=session, provider=request.provider or "openai")
        return pb.RebuildHistoryResponse(messages=wire_messages(made))

    async def list_outline(self, request: pb.ListOutlineRequest, call: RpcCall) -> pb.ListOutlineResponse:
        history = self._resolver.scoped(request.scope, call).history
        session, limit = required("session_id", request.session_id), page_size(request.page_size)
        page = await history.outline(session, limit=limit, cursor=request.page_token or None)
        return pb.ListOutlineResponse(lines=map(outline_line, page.lines), next_page_token=page.cursor or "")

    async def list_summaries(self, request: pb.ListSummariesRequest, call: RpcCall) -> pb.ListSummariesResponse:
        history = self._resolver.scoped(request.scope, call).history
        session, limit = required("session_id", request.session_id), limit_of("limit", request.limit, _LISTED)
        return pb.ListSummariesResponse(summaries=map(summary, await history.summaries(session, limit=limit)))


async def _messages(wire: Sequence[context_pb2.Message]) -> list[dict[str, Any]]:
    within("messages", len(wire), MESSAGES)
    texts = JsonText()
    return await by_turns(wire, lambda one, index: message(one, index, texts))
