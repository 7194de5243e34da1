"""Trace: what happened during one assembly, for people and programs. Holds every candidate, in or out (ENGINE-5)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from germane.types.budget import Budget
from germane.types.candidate import Chosen, LeftOut
from germane.types.query import Query

__all__ = ["SourceReport", "Status", "Trace"]

Status = Literal["ok", "timeout", "error", "skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReport:
    """How one source did (GATHER-2). `reason` says why it was skipped (`warming`, `slow_embedder`, `breaker`, `shed`, `busy`,
    `no_query`, `no_session`, `no_vector`, `unknown`) or names the error's type, `garbage` where the answer was none; `latency`
    is in seconds, 0 for what was given up or never asked."""

    name: str
    status: Status
    reason: str = ""
    latency: float = 0.0
    found: int = 0

    def __repr__(self) -> str:
        why = f":{self.reason}" if self.reason else ""
        return f"<{self.name} {self.status}{why} {self.found} in {self.latency * 1000:.1f} ms>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """`timings` are seconds by stage; `warnings` are sentences for a person, such as an unknown model's; `gap` is how much more
    expected relevant items another packing could show at most, None where nobody asked (PACK-6)."""

    strategy: str
    model: str
    tokenizer: str
    query: Query | None = None
    budget: Budget | None = None
    chosen: tuple[Chosen, ...] = ()
    gap: float | None = None
    left_out: tuple[LeftOut, ...] = ()
    sources: tuple[SourceReport, ...] = ()
    timings: tuple[tuple[str, float], ...] = ()
    warnings: tuple[str, ...] = field(default=())
