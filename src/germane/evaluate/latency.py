"""Latency: quantiles of the time that assemblies took, and the shares of their degradation levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

__all__ = ["LEVELS", "Latency", "Timed", "latencies", "quantile"]

LEVELS = ("L0 every source", "L1 some missing", "L2 directive alone", "L3 messages alone")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """The time of one assembly: `seconds` as the caller waits, `stages` as the metadata of the context names them (seconds),
    `level` the degradation level (0 to 3)."""

    category: str
    seconds: float
    level: int
    stages: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Quantiles in milliseconds over `count` assemblies. `levels` are the shares of degradation levels L0 to L3, [0, 1].
    `stage` is empty for the whole assembly, `category` for all questions."""

    category: str
    stage: str
    count: int
    p50: float
    p95: float
    p99: float
    levels: tuple[float, ...] = ()


def quantile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank quantile: the smallest value that at least `percent` per cent of the values don't exceed."""
    ranked = sorted(values)
    return ranked[max(0, ceil(len(ranked) * percent / 100) - 1)]


def latencies(timed: Sequence[Timed]) -> tuple[Latency, ...]:
    """Latencies of all assemblies first, then by category, then by stage. Empty where nothing was timed."""
    if not timed:
        return ()
    categories = sorted({answer.category for answer in timed})
    stages = dict.fromkeys(name for answer in timed for name in answer.stages)
    found = [_answers("", timed)]
    if len(categories) > 1:
        found += [_answers(name, [answer for answer in timed if answer.category == name]) for name in categories]
    for name in stages:
        found.append(_latency("", name, [answer.stages[name] for answer in timed if name in answer.stages]))
    return tuple(found)


def _answers(category: str, timed: Sequence[Timed]) -> Latency:
    levels = tuple(sum(answer.level == level for answer in timed) / len(timed) for level in range(len(LEVELS)))
    return _latency(category, "", [answer.seconds for answer in timed], levels)


def _latency(category: str, stage: str, seconds: Sequence[float], levels: tuple[float, ...] = ()) -> Latency:
    p50, p95, p99 = (1000 * quantile(seconds, percent) for percent in (50, 95, 99))
    return Latency(category=category, stage=stage, count=len(seconds), p50=p50, p95=p95, p99=p99, levels=levels)
