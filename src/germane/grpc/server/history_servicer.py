"""History servicer: the RPCs of `HistoryService`; each calls the method of `agent.history` with the same meaning."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

from germane.api.workers.threads import by_turns
from germane.compaction.plan import Compaction, report_of
from germane.grpc.server.authorisation import AgentResolver, denied
from germane.grpc.server.call import RpcCall, may_read
from germane.grpc.server.from_wire import history_strategy, json_list, message_dict, required
from germane.grpc.server.memory_servicer import limit_of, page_size
from germane.grpc.server.refusals import invalid
from germane.grpc.server.to_wire import history_report, stamp, wire_text
from germane.grpc.stubs import context_pb2
from germane.grpc.stubs import history_pb2 as pb
from germane.kinds.archive.handle import EarlierMessages
from germane.kinds.archive.outline import OutlineLine
from germane.kinds.archive.value import KeptSummary
from germane.kinds.keys.value import Right
from germane.types.json_text import JsonText
from germane.types.limits import MESSAGES, TOOL_CHARACTERS, check_size
from germane.types.message import Message

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
        check_size("tools_json", len(request.tools_json), TOOL_CHARACTERS)
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
    check_size("messages", len(wire), MESSAGES)
    texts = JsonText()
    return await by_turns(wire, lambda one, index: message_dict(one, index, texts))


# Compacted conversations, archived messages, outlines and summaries as wire messages.


def compacted(made: Compaction) -> pb.CompactHistoryResponse:
    return pb.CompactHistoryResponse(
        messages=wire_messages(made.messages),
        system_json="" if made.system is None else json.dumps(made.system),
        provider=made.provider,
        report=history_report(report_of(made)),
        summary="" if made.summary is None else wire_text(made.summary.text),
        constraints=[wire_text(one.text) for one in made.constraints],
    )


def wire_messages(messages: Iterable[Mapping[str, Any] | Message]) -> list[context_pb2.Message]:
    """Returns the messages, each as role and text where these hold it, else as JSON."""
    return list(map(_message, messages))


def earlier(found: EarlierMessages) -> pb.ShowEarlierResponse:
    return pb.ShowEarlierResponse(
        handle=found.handle,
        kind=found.kind,
        title=wire_text(found.title),
        text=wire_text(found.text),
        messages_json=json.dumps(list(found.messages)),
        previous=found.previous,
        part=found.part,
        session_id=wire_text(found.session),
        provider=found.provider,
        created_at=stamp(found.created_at),
    )


def outline_line(line: OutlineLine) -> pb.OutlineLine:
    return pb.OutlineLine(
        text=wire_text(line.text),
        first_id=line.first_id,
        last_id=line.last_id,
        first_at=stamp(line.first_at),
        last_at=stamp(line.last_at),
        messages=line.messages,
        sensitivity=line.sensitivity,
        session_id=wire_text(line.session),
    )


def summary(kept: KeptSummary) -> pb.HistorySummary:
    made = kept.summary
    return pb.HistorySummary(
        id=kept.id,
        text=wire_text(made.text),
        covers=made.covers,
        tokens=made.tokens,
        method=made.method,
        note=wire_text(made.note),
        fingerprint=kept.fingerprint,
        session_id=wire_text(kept.session),
        created_at=stamp(kept.created_at),
    )


def _message(raw: Mapping[str, Any] | Message) -> context_pb2.Message:
    if isinstance(raw, Message):
        return context_pb2.Message(role=raw.role, content=wire_text(raw.content))
    role, content = raw.get("role"), raw.get("content")
    if len(raw) == 2 and isinstance(role, str) and isinstance(content, str) and wire_text(content) == content:
        return context_pb2.Message(role=wire_text(role), content=content)
    return context_pb2.Message(role=wire_text(role) if isinstance(role, str) else "", json=json.dumps(raw))
