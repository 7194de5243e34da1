"""Memory servicer: the RPCs of `MemoryService` and `MessageService` that have messages of their own.

Each calls the method of `Agent` with the same meaning.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from types import MappingProxyType
from typing import Any, ClassVar, cast, overload

from germane.api.verbs.transfer import Exported
from germane.errors import InvalidInput
from germane.grpc.messages import context_pb2
from germane.grpc.messages import memory_pb2 as pb
from germane.grpc.server.authorisation import AgentResolver
from germane.grpc.server.call import RpcCall
from germane.grpc.server.from_wire import fields, filters, message_dict, moment
from germane.grpc.server.refusals import invalid
from germane.grpc.server.to_wire import memory, search_result
from germane.kinds.keys.value import Right
from germane.kinds.memories.fields import MAIN_FIELDS
from germane.types.checks import check_size
from germane.types.json_text import JsonText
from germane.types.limits import RECORDED

_DEFAULT_LIMIT = 10
_MAX_LIMIT = 1000
_SCOPE: Mapping[str, str] = MappingProxyType(
    {"org": "scope.org_id", "agent": "scope.agent_id", "user": "scope.user_id", "zone": "scope.zone"}
)
_VERDICTS: Mapping[int, bool] = MappingProxyType({pb.VERDICT_HELPFUL: True, pb.VERDICT_HARMFUL: False})


class MemoryServicer:
    """Runs on the engine's loop. Every method raises `Refused` and `InvalidInput` for a request that its caller has to correct,
    and germane's other errors."""

    rights: ClassVar[Mapping[str, Right]] = MappingProxyType(
        {
            "Remember": "write",
            "Search": "read",
            "Forget": "write",
            "GiveFeedback": "write",
            "Export": "read",
        }
    )

    paths: ClassVar[Mapping[str, Mapping[str, str]]] = MappingProxyType(
        {
            "Remember": {**_SCOPE, "kind": "kind", "text": "text", "fields": "fields", "": "fields"},
            "Search": _SCOPE,
            "Forget": {**_SCOPE, "session": "session_id", "user": "user_id"},
            "GiveFeedback": _SCOPE,
            "Export": _SCOPE,
        }
    )

    def __init__(self, resolver: AgentResolver) -> None:
        self._resolver = resolver

    async def remember(self, request: pb.RememberRequest, call: RpcCall) -> pb.RememberResponse:
        agent = self._resolver.scoped(request.scope, call)
        content = fields(request.fields, ("text", "kind", "agent_wide", "provenance", "self"))
        call.names = frozenset(content)
        kind = request.kind or "note"
        try:
            stored = await agent.remember(request.text or None, kind=kind, agent_wide=request.agent_wide, **content)
        except InvalidInput as error:
            main = MAIN_FIELDS.get(kind) if request.text else None
            raise error.renamed(lambda path: "text" if path == main else path) from None
        return pb.RememberResponse(memory=memory(stored))

    async def search(self, request: pb.SearchRequest, call: RpcCall) -> AsyncGenerator[pb.SearchResponse, None]:
        agent = self._resolver.scoped(request.scope, call)
        if not request.query:
            raise invalid("query is missing: say what to look for")
        results = await agent.search(
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
            **receipt.by_kind(),
            dry_run=receipt.dry_run,
            scrubbed=receipt.scrubbed,
            waiting_for=receipt.waiting_for,
            checked=receipt.checked,
        )

    async def give_feedback(self, request: pb.GiveFeedbackRequest, call: RpcCall) -> pb.GiveFeedbackResponse:
        agent = self._resolver.scoped(request.scope, call)
        helpful = _VERDICTS.get(request.verdict)
        if helpful is None:
            raise invalid("verdict is missing: give VERDICT_HELPFUL or VERDICT_HARMFUL")
        return pb.GiveFeedbackResponse(known=await agent.feedback(list(request.ids), helpful=helpful))

    async def export(self, request: pb.ExportRequest, call: RpcCall) -> AsyncGenerator[pb.ExportResponse, None]:
        agent = self._resolver.scoped(request.scope, call)
        async with aclosing(cast("AsyncGenerator[Exported, None]", agent.export())) as items:
            async for item in items:
                yield pb.ExportResponse(json=_json(item))


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


# `MessageService` records the messages of conversations.


class MessageServicer:
    """Runs on the engine's loop. Raises `Refused` and `InvalidInput` for a request that its caller has to correct."""

    rights: ClassVar[Mapping[str, Right]] = MappingProxyType({"Record": "write"})
    paths: ClassVar[Mapping[str, Mapping[str, str]]] = MappingProxyType({"Record": {**_SCOPE, "session": "session_id"}})

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
