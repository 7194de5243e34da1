"""Memories: the RPCs of `MemoryService`, each a call of the front."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from types import MappingProxyType
from typing import Any, ClassVar, cast

from germane.access.key import Right
from germane.api.export import Exported
from germane.grpc.agent_resolver import AgentResolver
from germane.grpc.call import Call
from germane.grpc.from_wire import fields, filters, moment
from germane.grpc.refusals import invalid
from germane.grpc.stubs import memory_pb2 as pb
from germane.grpc.to_wire import found, memory

__all__ = ["Memories"]

_PAGE = 50
_FOUND = 10
_MOST = 1000
_EVERY = ("public", "private", "sensitive")
_VERDICTS: Mapping[int, bool] = MappingProxyType({pb.VERDICT_HELPFUL: True, pb.VERDICT_HARMFUL: False})


class Memories:
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
        }
    )

    def __init__(self, reach: AgentResolver) -> None:
        self._reach = reach

    async def remember(self, request: pb.RememberRequest, call: Call) -> pb.RememberResponse:
        agent = self._reach.scoped(request.scope, call)
        given = fields(request.fields, ("text", "kind", "agent_wide", "provenance", "self"))
        kept = await agent.remember(request.text or None, kind=request.kind or "note", agent_wide=request.agent_wide, **given)
        return pb.RememberResponse(memory=memory(kept))

    async def get_memory(self, request: pb.GetMemoryRequest, call: Call) -> pb.GetMemoryResponse:
        agent = self._reach.scoped(request.scope, call)
        return pb.GetMemoryResponse(memory=memory(await agent.memories.get(_id(request.id))))

    async def list_memories(self, request: pb.ListMemoriesRequest, call: Call) -> pb.ListMemoriesResponse:
        agent = self._reach.scoped(request.scope, call)
        page = await agent.memories.list(
            filters(request.filters, otherwise=_EVERY),
            limit=_limit("page_size", request.page_size, _PAGE),
            cursor=request.page_token or None,
        )
        return pb.ListMemoriesResponse(memories=map(memory, page.memories), next_page_token=page.cursor or "")

    async def update_memory(self, request: pb.UpdateMemoryRequest, call: Call) -> pb.UpdateMemoryResponse:
        agent = self._reach.scoped(request.scope, call)
        given = fields(request.fields, ("text", "id", "self"))
        changed = await agent.memories.update(_id(request.id), request.text or None, **given)
        return pb.UpdateMemoryResponse(memory=memory(changed))

    async def get_memory_history(self, request: pb.GetMemoryHistoryRequest, call: Call) -> pb.GetMemoryHistoryResponse:
        agent = self._reach.scoped(request.scope, call)
        return pb.GetMemoryHistoryResponse(memories=map(memory, await agent.memories.history(_id(request.id))))

    async def search(self, request: pb.SearchRequest, call: Call) -> AsyncGenerator[pb.SearchResponse, None]:
        agent = self._reach.scoped(request.scope, call)
        if not request.query:
            raise invalid("query is missing: say what to look for")
        answers = await agent.recall(
            request.query,
            _limit("limit", request.limit, _FOUND),
            filters=filters(request.filters),
            at=moment(request.at, "at") if request.HasField("at") else None,
            strategy=request.strategy or "default",
        )
        for one in answers:
            yield found(one)

    async def forget(self, request: pb.ForgetRequest, call: Call) -> pb.ForgetResponse:
        agent = self._reach.scoped(request.scope, call)
        receipt = await agent.forget(
            list(request.ids) or None,
            key=request.key or None,
            tag=request.tag or None,
            session=request.session_id or None,
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
        )

    async def give_feedback(self, request: pb.GiveFeedbackRequest, call: Call) -> pb.GiveFeedbackResponse:
        agent = self._reach.scoped(request.scope, call)
        helpful = _VERDICTS.get(request.verdict)
        if helpful is None:
            raise invalid("verdict is missing: give VERDICT_HELPFUL or VERDICT_HARMFUL")
        return pb.GiveFeedbackResponse(known=await agent.feedback(list(request.ids), helpful=helpful))

    async def export(self, request: pb.ExportRequest, call: Call) -> AsyncGenerator[pb.ExportResponse, None]:
        agent = self._reach.scoped(request.scope, call)
        async with aclosing(cast("AsyncGenerator[Exported, None]", agent.export())) as lines:
            async for line in lines:
                yield pb.ExportResponse(json=_written(line))


def _id(sent: str) -> str:
    if not sent:
        raise invalid("id is missing: give a memory's")
    return sent


def _limit(name: str, sent: int, otherwise: int) -> int:
    if not 0 <= sent <= _MOST:
        raise invalid(f"{name} must be 1 to {_MOST:,}, or 0 for {otherwise}")
    return sent or otherwise


def _written(line: Mapping[str, Any]) -> str:
    """Readable where it can be; lone surrogates, which UTF-8 has no place for, escaped with all the rest."""
    written = json.dumps(line, ensure_ascii=False)
    try:
        written.encode()
    except UnicodeEncodeError:
        return json.dumps(line)
    return written
