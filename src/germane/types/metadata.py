"""Metadata: what one assembly did in figures, and how each source did; shared by the engine and the client.

The client must not load numpy, so nothing here may import it, not even through another module.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from germane.types.history_report import HistoryReport

__all__ = ["Metadata", "SourceReport", "Status"]

Status = Literal["ok", "timeout", "error", "skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReport:
    """How one source did (GATHER-2).

    `reason` says why the source was skipped (`warming`, `slow_embedder`, `breaker`, `shed`, `busy`, `no_query`, `no_session`,
    `no_vector`, `unknown`), names the type of its error, or is `garbage` where its answer couldn't be used. `latency` is in
    seconds, 0 for a source that was given up or never asked. `found` counts its candidates.
    """

    name: str
    status: Status
    reason: str = ""
    latency: float = 0.0
    found: int = 0

    def __repr__(self) -> str:
        why = f":{self.reason}" if self.reason else ""
        return f"<{self.name} {self.status}{why} {self.found} in {self.latency * 1000:.1f} ms>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What was injected, and why there may be less than there could be (INJECT-3).

    `memories_injected` counts items without the directive and blocks, `memories_available` the distinct candidates above
    the relevance floor. `memory_ids` names them in the order of the text: an archival block as `<id>@<version>`, since the
    text shows that version of it. Filters exclude it by either. `context_window_used` is a percentage. `fallback_reason` is
    one of ENGINE-2's reasons, empty when all went well. `degradation_level` is 0 for a full answer, 1 with some sources
    missing or only the best of what they find, 2 for the directive and the request only, 3 for the request alone. `timings` are
    seconds by stage. `cached` says that the answer came from the cache of results; its source reports are then those of the
    assembly that was cached. `warnings` are the trace's: sentences for a person.
    """

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
    warnings: tuple[str, ...] = ()
    need: float | None = None
    """P(need): the probability that anything stored helps with the request (NEED-1); None where the strategy doesn't ask."""
    need_threshold: float | None = None
    """Below it, nothing that was searched for goes in."""
    earlier_tokens: int = 0
    """Those of `total_tokens_injected` that stand in the prompt since earlier calls of the session (INJECT-6)."""
    profile_tokens: int = 0
    """Those of `total_tokens_injected` that are lines of the profile, standing since an earlier call or new (PERSON-1)."""
    history: HistoryReport | None = None
    """What was done to the conversation so that it fits, where the call asked for that."""
    thinking_prefix_changed: bool = False
    """Whether the request holds thinking that the provider binds to what stands before it, and germane's text there isn't what
    it was (INJECT-10): something in it was forgotten or isn't allowed, or nobody knows what stood there. The provider refuses
    the request unless it may drop that thinking: see `Context.to_anthropic`."""
