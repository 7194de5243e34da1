"""Assemble request: an `AssembleContext` request of either contract as the arguments of `Agent.assemble`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from germane.grpc.conversation import WireConversation
from germane.grpc.from_wire import filters, json_list, moment
from germane.grpc.json_text import JsonText
from germane.grpc.refusals import invalid
from germane.grpc.stubs import context_pb2, ibex_pb2
from germane.types.effort import parse_effort
from germane.types.limits import NAME, TOOL_CHARACTERS, text, within

__all__ = ["AssembleArguments", "Request"]

Request = context_pb2.AssembleContextRequest | ibex_pb2.AssembleContextRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembleArguments:
    """A parsed request. `options` are the arguments of `Agent.assemble` besides messages and deadline. `deadline` is in
    seconds; 0 means the server's default."""

    agent: str
    conversation: WireConversation
    options: Mapping[str, Any]
    provider: str = "openai"
    user: str = ""
    zone: str = ""
    deadline: float = 0.0
    explain: bool = False

    @classmethod
    async def of(cls, request: Request) -> AssembleArguments:
        """Raises `Refused`, naming the first field that is missing or can't be read, and `InvalidInput` for filters and
        limits."""
        if not request.model:
            raise invalid("model is missing: say which one is about to be called, such as gpt-4o")
        text("model", request.model, NAME)
        query = request.options.query if isinstance(request, context_pb2.AssembleContextRequest) else ""
        if not request.messages and not query:
            raise invalid("messages is missing: give at least one, or options.query")
        options: dict[str, Any] = {"model": request.model, "session": request.session_id or None}
        if isinstance(request, ibex_pb2.AssembleContextRequest):
            return cls(
                agent=request.agent_id,
                conversation=await WireConversation.of(request.messages, "openai"),
                options=options | {"provider": "openai", "strategy": "verbose"},
            )
        wire = request.options
        for name, value in (
            ("available_tokens", request.available_tokens),
            ("deadline_ms", request.deadline_ms),
            ("options.window", wire.window),
        ):
            if value < 0:
                raise invalid(f"{name} must be 0 or more")
        provider = wire.provider or "openai"
        return cls(
            agent=request.agent_id,
            conversation=await WireConversation.of(request.messages, provider),
            options=options
            | {
                "provider": provider,
                "max_tokens": request.available_tokens or None,
                "query": query or None,
                "strategy": wire.strategy or "default",
                "at": moment(wire.at, "options.at") if wire.HasField("at") else None,
                "tools": _tools(wire.tools_json),
                "filters": filters(wire.filters, "options.filters.") if wire.HasField("filters") else None,
                "effort": parse_effort(text("effort", wire.effort, NAME)) if wire.effort else None,
                "blocks": tuple(wire.blocks),
                "task": _task(wire),
                "like": wire.like or None,
                "window": wire.window or None,
                "system": JsonText().read(wire.system_json, "options.system_json") if wire.system_json else None,
            },
            provider=provider,
            user=request.user_id,
            zone=wire.zone,
            deadline=request.deadline_ms / 1000,
            explain=wire.explain,
        )


def _task(wire: context_pb2.AssembleOptions) -> str | bool | None:
    if wire.task_id and wire.without_tasks:
        raise invalid("options.task_id names a task and options.without_tasks leaves all out: give one of them")
    return False if wire.without_tasks else wire.task_id or None


def _tools(written: str) -> list[Any] | None:
    within("options.tools_json", len(written), TOOL_CHARACTERS)
    return json_list(written, "options.tools_json") if written else None
