"""Asking: an `AssembleContext` request as the front's arguments, whichever of the two contracts it came by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from germane.grpc.conversation import Conversation
from germane.grpc.from_wire import filters, listed, moment
from germane.grpc.refusals import invalid
from germane.grpc.stubs import context_pb2, ibex_pb2
from germane.types.limits import NAME, TOOL_CHARACTERS, text, within

__all__ = ["Asking"]

Request = context_pb2.AssembleContextRequest | ibex_pb2.AssembleContextRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """`arguments` are those of `Agent.assemble` beside messages and deadline. `deadline` is in seconds; 0 leaves it to the
    server."""

    org: str
    agent: str
    conversation: Conversation
    arguments: Mapping[str, Any]
    provider: str = "openai"
    user: str = ""
    zone: str = ""
    deadline: float = 0.0
    explain: bool = False

    @classmethod
    def of(cls, request: Request) -> Asking:
        """Raises `Refused` with the first field that is missing or can't be read, and `InvalidInput` for filters."""
        if not request.model:
            raise invalid("model is missing: say which one is about to be called, such as gpt-4o")
        text("model", request.model, NAME)
        query = request.options.query if isinstance(request, context_pb2.AssembleContextRequest) else ""
        if not request.messages and not query:
            raise invalid("messages is missing: give at least one, or options.query")
        arguments: dict[str, Any] = {"model": request.model, "session": request.session_id or None}
        if isinstance(request, ibex_pb2.AssembleContextRequest):
            return cls(
                org=request.org_id,
                agent=request.agent_id,
                conversation=Conversation(request.messages, "openai"),
                arguments=arguments | {"provider": "openai"},
            )
        for name in ("available_tokens", "deadline_ms"):
            if getattr(request, name) < 0:
                raise invalid(f"{name} must be 0 or more")
        options = request.options
        provider = options.provider or "openai"
        return cls(
            org=request.org_id,
            agent=request.agent_id,
            conversation=Conversation(request.messages, provider),
            arguments=arguments
            | {
                "provider": provider,
                "max_tokens": request.available_tokens or None,
                "query": query or None,
                "strategy": options.strategy or "default",
                "at": moment(options.at, "options.at") if options.HasField("at") else None,
                "tools": _tools(options.tools_json),
                "filters": filters(options.filters, "options.filters.") if options.HasField("filters") else None,
            },
            provider=provider,
            user=request.user_id,
            zone=options.zone,
            deadline=request.deadline_ms / 1000,
            explain=options.explain,
        )


def _tools(written: str) -> list[Any] | None:
    within("options.tools_json", len(written), TOOL_CHARACTERS)
    return listed(written, "options.tools_json") if written else None
