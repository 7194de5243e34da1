"""State: how one process is doing, for whoever watches it. Figures and names of sources, no content."""

from __future__ import annotations

from dataclasses import dataclass

from germane.pipeline.circuit_breaker import BreakerState

__all__ = ["State"]


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """`breakers` of every source asked so far, the store's `gate` and `revision` among them. `abandoned` tasks still run though
    nobody waits for them; `abandoned_total` counts all there ever were. `working` and `waiting` count assemblies with a
    deadline; `shed` those refused since the start."""

    breakers: tuple[BreakerState, ...] = ()
    abandoned: int = 0
    abandoned_total: int = 0
    working: int = 0
    waiting: int = 0
    shed: int = 0
    cache_hits: int = 0
    cache_misses: int = 0
    read_only: bool = False
