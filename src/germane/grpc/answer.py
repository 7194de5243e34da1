"""Answer: what the client's `assemble` returns: messages ready to send, and metadata about the call.

`handover` reads the metadata of a sibling's response with it too, so it stands beside the client and doesn't load it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from germane.grpc.messages import context_pb2
from germane.types.reports import Metadata, SourceReport, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientMetadata(Metadata):
    """The service's metadata and the id of the request.

    `fallback_reason` may also be one of the client's own: `grpc_error:<CODE>`, `client_error:<what>` or `client_breaker_open`.
    With each of those `degradation_level` is 3. `timings` are seconds by stage, measured on the server.
    """

    request_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The messages to send to the model.

    `messages` is a new list. It holds the caller's own objects for all messages that weren't changed, and the added ones.
    `system` is the system prompt for a provider that keeps it apart from the messages, a string or a list of blocks, else None.
    `explanation` is text for a person, empty unless the call asked for it.
    """

    messages: Any
    system: str | list[Any] | None = None
    metadata: ClientMetadata = field(default_factory=ClientMetadata)
    explanation: str = ""

    def __repr__(self) -> str:
        metadata, size = self.metadata, len(self.messages) if isinstance(self.messages, list) else 0
        why = f" {metadata.fallback_reason}" if metadata.fallback_reason else ""
        return f"<Answer {size} messages {metadata.total_tokens_injected} tokens L{metadata.degradation_level}{why}>"


def metadata_from_wire(wire: context_pb2.InjectionMetadata) -> ClientMetadata:
    """Reads the metadata of a response; the wire's milliseconds become seconds."""
    return ClientMetadata(
        directive_injected=wire.directive_injected,
        memories_injected=wire.memories_injected,
        memories_available=wire.memories_available,
        total_tokens_injected=wire.total_tokens_injected,
        context_window_used=wire.context_window_used,
        was_truncated=wire.was_truncated,
        fallback_reason=wire.fallback_reason,
        memory_ids=tuple(wire.memory_ids),
        degradation_level=wire.degradation_level,
        sources=tuple(_source_report(source) for source in wire.sources),
        timings=tuple((timing.stage, timing.ms / 1000) for timing in wire.timings),
        cached=wire.cached,
        request_id=wire.request_id,
        warnings=tuple(wire.warnings),
        need=wire.need if wire.HasField("need") else None,
        need_threshold=wire.need_threshold if wire.HasField("need_threshold") else None,
        earlier_tokens=wire.earlier_tokens,
        profile_tokens=wire.profile_tokens,
        thinking_prefix_changed=wire.thinking_prefix_changed,
    )


def _source_report(wire: context_pb2.SourceReport) -> SourceReport:
    return SourceReport(
        name=wire.name,
        status=cast("Status", wire.status),
        reason=wire.reason,
        latency=wire.latency_ms / 1000,
        found=wire.found,
    )
