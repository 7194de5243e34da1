"""Observing: microseconds that log line, metrics and span add to each call.

Requirements: OPS-1
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

from bench.machine import describe
from germane.kinds.keys.value import pseudonym
from germane.service.supervisor import join_folder, metrics_folder
from germane.types.context import Metadata
from germane.types.trace import SourceReport

if TYPE_CHECKING:
    from germane.service.observer import Observer

__all__ = ["main"]

ROUNDS = 9
STAGES = ("measure", "gather", "score", "pack", "gate", "write")
SOURCES = ("directive", "embedding", "structured", "memories", "messages", "recent", "history")
ANSWER = Metadata(
    total_tokens_injected=800,
    memories_injected=12,
    timings=tuple((stage, 0.003) for stage in STAGES),
    sources=tuple(SourceReport(name=name, status="ok", latency=0.011) for name in SOURCES),
)


class _Nowhere(BytesIO):
    def write(self, text: object) -> int:
        return 0


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench observing", description=__doc__)
    parser.add_argument("--calls", type=int, default=2000, help=f"calls a round; the median of {ROUNDS} rounds is shown")
    parser.add_argument("--joined", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.joined is not None:
        join_folder(given.joined)
        _numbers(given.calls, given.joined)
        return
    print(
        f"{describe()}\nmicroseconds, median of {ROUNDS} rounds; an answer of {len(STAGES)} stages and {len(SOURCES)} sources"
    )
    _numbers(given.calls, None)
    with metrics_folder() as shared:
        again = [sys.executable, "-m", "bench", "observing", "--calls", str(given.calls), "--joined", str(shared)]
        subprocess.run(again, check=True)
    _calls(given.calls)


def _numbers(calls: int, shared: Path | None) -> None:
    """Counting an answer, and reading it all, alone and with the numbers in files that processes share."""
    from germane.service.metrics import Metrics

    metrics = Metrics(version="0", metrics_folder=shared)
    where = "one process" if shared is None else "shared by processes"
    _show(f"numbers of one answer, {where}", _cost(lambda: metrics.observe_assembly(ANSWER), calls))
    _show(f"text of /metrics (made in a thread), {where}", _cost(metrics.text, 20))


def _calls(calls: int) -> None:
    """A whole call through the observer, with each part alone, compared with an unobserved call."""
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from germane.service.logs import Logs
    from germane.service.metrics import Metrics
    from germane.service.observer import Observer
    from germane.service.spans import Spans

    named = partial(pseudonym, bytes(32))
    silent, loud = Logs(_Nowhere(), pseudonym=named, level="error"), Logs(_Nowhere(), pseudonym=named)
    observers = {
        "a call that is only timed": Observer(silent),
        "the same with a line in the log": Observer(loud),
        "the same with numbers": Observer(silent, metrics=Metrics(version="0")),
        "the same with a span": Observer(silent, traces=Spans(InMemorySpanExporter())),
        "the same with a line and numbers, as by default": Observer(loud, metrics=Metrics(version="0")),
    }
    for name, observer in observers.items():
        _show(name, _cost(lambda observer=observer: _call(observer), calls))  # type: ignore[misc]
    for observer in observers.values():
        observer.close()


def _call(observer: Observer) -> None:
    with observer.call("AssembleContext") as call:
        call.org, call.agent, call.request_id, call.metadata = "acme", "support", "r-1", ANSWER


def _cost(work: Callable[[], object], times: int) -> float:
    rounds = []
    for _ in range(ROUNDS):
        began = perf_counter()
        for _ in range(times):
            work()
        rounds.append((perf_counter() - began) / times)
    return 1e6 * median(rounds)


def _show(what: str, cost: float) -> None:
    print(f"{cost:9,.1f}  {what}", flush=True)
