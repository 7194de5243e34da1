"""Answer: reads the metadata of a response of the service.

`handover` reads the metadata of a sibling's response with it too, so it stands beside the client and doesn't load it.
"""

from __future__ import annotations

from typing import cast

from germane.api.remote.answer import ClientMetadata
from germane.grpc.messages import context_pb2
from germane.types.reports import SourceReport, Status


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
