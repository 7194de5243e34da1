"""Arrivals: an open-loop driver: it sends each request when it is due, whether earlier ones are answered or not.

Latency counts from the moment at which a request was due, so that late sending counts as waiting.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Coroutine
from dataclasses import dataclass, field
from random import Random
from typing import Any

from bench.quantiles import quantile

__all__ = ["Answered", "Seen", "arriving", "offered", "searched"]

_LATE = 48.0
"""Milliseconds within which an answer counts, as good or as searched."""


def searched(level: int, reasons: Collection[str]) -> bool:
    """Whether every search has answered: in full, or with the best few where many calls were waiting."""
    return level == 0 or "shallow" in reasons


@dataclass(frozen=True, slots=True)
class Answered:
    """The metadata of an answer."""

    level: int
    reason: str = ""
    directive: bool = False

    @property
    def searched(self) -> bool:
        return searched(self.level, [self.reason])


@dataclass(slots=True)
class Seen:
    """Latencies in milliseconds and, for each answer, when it was due, in seconds since the start."""

    took: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    due: list[float] = field(default_factory=list)
    answers: list[Answered] = field(default_factory=list)
    failed: Counter[str] = field(default_factory=Counter)

    def figures(self, since: float = 0.0, until: float = float("inf")) -> dict[str, Any]:
        """Figures of the requests that were due between these times."""
        chosen = [place for place, due in enumerate(self.due) if since <= due < until]
        if not chosen:
            return {"requests": 0}
        took = [self.took[place] for place in chosen]
        answers = [self.answers[place] for place in chosen]
        good = sum(one.level == 0 and each <= _LATE for one, each in zip(answers, took, strict=True))
        answered = sum(one.searched and each <= _LATE for one, each in zip(answers, took, strict=True))
        levels, seconds = Counter(one.level for one in answers), max(self.due[place] for place in chosen) - since
        return {
            "requests": len(chosen),
            **{f"p{p}": quantile(took, p) for p in (50, 95, 99, 99.9)},
            "longest": max(took),
            "over_100_ms": sum(one > 100 for one in took),
            "driver_late_p99": quantile([self.late[place] for place in chosen], 99),
            "levels_percent": {f"L{level}": 100 * count / len(chosen) for level, count in sorted(levels.items())},
            "goodput_per_s": good / max(seconds, 1e-9),
            "goodput_percent": 100 * good / len(chosen),
            "searched_per_s": answered / max(seconds, 1e-9),
            "directive_percent": 100 * sum(one.directive for one in answers) / len(chosen),
            "reasons": dict(Counter(one.reason for one in answers if one.reason).most_common(6)),
            "failed": dict(self.failed),
        }


async def arriving(one: Callable[[float], Coroutine[Any, Any, None]], rate: float, seconds: float, seed: int) -> None:
    """Starts `one` about `rate` times per second (Poisson arrivals from a seed) with the time at which it was due, by
    `time.perf_counter`. Returns when all have ended."""
    random, under_way = Random(seed), set[asyncio.Task[None]]()
    began = due = time.perf_counter()
    while (due := due + random.expovariate(rate)) < began + seconds:
        if (wait := due - time.perf_counter()) > 0:
            await asyncio.sleep(wait)
        task = asyncio.create_task(one(due))
        under_way.add(task)
        task.add_done_callback(under_way.discard)
    await asyncio.gather(*under_way)


async def offered(
    ask: Callable[[], Awaitable[Answered]], rate: float, seconds: float, *, seed: int = 3, seen: Seen | None = None
) -> Seen:
    """An open loop of `ask`. An exception counts as failed."""
    seen = seen or Seen()
    first = time.perf_counter()

    async def one(due: float) -> None:
        started = time.perf_counter()
        try:
            answered = await ask()
        except Exception as error:
            seen.failed[type(error).__name__] += 1
            return
        seen.took.append(1000 * (time.perf_counter() - due))
        seen.late.append(1000 * (started - due))
        seen.due.append(due - first)
        seen.answers.append(answered)

    await arriving(one, rate, seconds, seed)
    return seen
