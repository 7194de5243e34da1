"""Answer: what a client of the service gives its caller: messages that can be sent as they are, and what became of them.

The values have the names and units of `germane.Context` and `germane.Metadata` where those exist, but nothing of the engine is
imported for them: a gateway loads the client alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from germane.grpc.stubs import context_pb2

__all__ = ["Answer", "Metadata", "SourceReport", "read"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReport:
    """How one source did; `latency` is in seconds."""

    name: str
    status: str
    reason: str = ""
    latency: float = 0.0
    found: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """As `germane.Metadata`. `fallback_reason` may also be the client's own: `grpc_error:<CODE>`, `client_error:<what>`,
    `client_breaker_open`; `degradation_level` is 3 with each of those. `timings` are seconds by stage, on the server."""

    directive_injected: bool = False
    memories_injected: int = 0
    memories_available: int = 0
    total_tokens_injected: int = 0
    context_window_used: int = 0
    was_truncated: bool = False
    fallback_reason: str = ""
    memory_ids: tuple[str, ...] = ()
    degradation_level: int = 0
    sources: tuple[SourceReport, ...] = ()
    timings: tuple[tuple[str, float], ...] = ()
    cached: bool = False
    request_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """`messages` is a new list: the caller's own objects where they go out as they came, and what was added. `system` is the
    system prompt for providers that keep it apart, a string or a list of blocks; None where there is none or it is among the
    messages. `explanation` is for a person, where it was asked for."""

    messages: Any
    system: str | list[Any] | None = None
    metadata: Metadata = field(default_factory=Metadata)
    explanation: str = ""

    def __repr__(self) -> str:
        told, size = self.metadata, len(self.messages) if isinstance(self.messages, list) else 0
        why = f" {told.fallback_reason}" if told.fallback_reason else ""
        return f"<Answer {size} messages {told.total_tokens_injected} tokens L{told.degradation_level}{why}>"


def read(told: context_pb2.InjectionMetadata) -> Metadata:
    """The wire's milliseconds become seconds."""
    return Metadata(
        directive_injected=told.directive_injected,
        memories_injected=told.memories_injected,
        memories_available=told.memories_available,
        total_tokens_injected=told.total_tokens_injected,
        context_window_used=told.context_window_used,
        was_truncated=told.was_truncated,
        fallback_reason=told.fallback_reason,
        memory_ids=tuple(told.memory_ids),
        degradation_level=told.degradation_level,
        sources=tuple(
            SourceReport(name=one.name, status=one.status, reason=one.reason, latency=one.latency_ms / 1000, found=one.found)
            for one in told.sources
        ),
        timings=tuple((one.stage, one.ms / 1000) for one in told.timings),
        cached=told.cached,
        request_id=told.request_id,
    )
