"""Latency: time of one assembly, warm and cold, by store size.

    python -m bench latency --sizes 1000 10000 100000 1000000 [--queries 500] [--folder PATH] [--plot docs/research/latency.svg]

One agent, default embedder, one request at a time; each query is asked once, so that no result comes from the cache. Queries
are mixed as in `corpus.QUERY_MIX`, which includes the commonest words. Cold: a new process opens the file and waits for the
first answer with all sources; the time counts from opening, imports are shown separately. CPU time is that of all threads per
request. Requirements: ENGINE-2, ENGINE-8.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from bench.corpus import QUERY_MIX, queries
from bench.filled import AGENT, folder, store
from bench.machine import describe
from bench.quantiles import quantile
from germane import Germane

_COLD = """
import time; began = time.perf_counter()
import asyncio, sys
from germane import Germane
Germane
imported = time.perf_counter()
async def main():
    async with Germane.open(sys.argv[1]) as germane:
        opened = time.perf_counter()
        agent = germane.agent("bench")
        context = await agent.assemble([{"role": "user", "content": "first question"}], model="gpt-4o", deadline=None)
        assert context.metadata.degradation_level == 0
        print(imported - began, opened - imported, time.perf_counter() - imported)
asyncio.run(main())
"""


async def ask(path: Path, count: int, strategy: str) -> dict[str, object]:
    async with Germane.open(path) as germane:
        agent = germane.agent(AGENT)
        await agent.warm()
        for _, text in queries(20, seed=5):
            await agent.assemble([{"role": "user", "content": text}], model="gpt-4o", strategy=strategy)
        spent: dict[str, list[float]] = defaultdict(list)
        stages: dict[str, list[float]] = defaultdict(list)
        levels: Counter[int] = Counter()
        worked = time.process_time()
        for kind, text in queries(count):
            began = time.perf_counter()
            context = await agent.assemble([{"role": "user", "content": text}], model="gpt-4o", strategy=strategy)
            took = 1000 * (time.perf_counter() - began)
            for name in ("all", kind):
                spent[name].append(took)
            for name, seconds in context.metadata.timings:
                stages[name].append(1000 * seconds)
            levels[context.metadata.degradation_level] += 1
        worked = 1000 * (time.process_time() - worked) / count
        return {
            "rss_mb": psutil.Process().memory_info().rss / 2**20,
            "level_0_percent": 100 * levels[0] / count,
            "processor_ms": worked,
            "milliseconds": {name: {f"p{p}": quantile(took, p) for p in (50, 95, 99)} for name, took in spent.items()},
            "stages_p50": {name: quantile(took, 50) for name, took in stages.items()},
            "stages_p99": {name: quantile(took, 99) for name, took in stages.items()},
        }


def measure(path: Path, count: int, strategy: str) -> dict[str, object]:
    """Measures in a new process, so that the memory is that of serving and not of filling."""
    command = [sys.executable, "-m", "bench.latency", "--measure", str(path), "--queries", str(count), "--strategy", strategy]
    return dict(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


def cold(path: Path) -> dict[str, float]:
    runs = []
    for _ in range(3):
        result = subprocess.run([sys.executable, "-c", _COLD, str(path)], capture_output=True, text=True, check=True)
        imported, opened, answered = map(float, result.stdout.split())
        runs.append((answered, opened, imported))
    answered, opened, imported = sorted(runs)[1]
    return {"import_s": imported, "open_s": opened, "first_full_answer_s": answered}


def run(options: argparse.Namespace) -> None:
    print(describe())
    rows: list[dict[str, Any]] = []
    with folder(options.folder) as place:
        for size in options.sizes:
            path = store(place, size)
            rows.append({"messages": size, **measure(path, options.queries, options.strategy), **cold(path)})
            print(json.dumps(rows[-1], indent=1, default=lambda value: round(value, 2)), flush=True)
    table(rows)
    if options.plot:
        plot(rows, options.plot)


def table(rows: Sequence[dict[str, Any]]) -> None:
    """The table of the docs: times by store size."""
    kinds = list(QUERY_MIX)
    heads = ("messages", "p50", "p95", "p99", *(f"{kind} p99" for kind in kinds), "at L0", "processor", "RSS", "first answer")
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for row in rows:
        took = row["milliseconds"]
        cells = [f"{row['messages']:,}", *(f"{took['all'][p]:.1f} ms" for p in ("p50", "p95", "p99"))]
        cells += [f"{took[kind]['p99']:.1f} ms" if kind in took else "–" for kind in kinds]
        cells += [f"{row['level_0_percent']:.1f} %", f"{row['processor_ms']:.1f} ms", f"{row['rss_mb']:.0f} MB"]
        print(f"| {' | '.join(cells)} | {row['first_full_answer_s']:.2f} s |")


def plot(rows: Sequence[dict[str, Any]], target: Path) -> None:
    """Milliseconds against the number of messages, both logarithmic."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    sizes = [row["messages"] for row in rows]
    for name in ("p50", "p95", "p99"):
        axes.plot(sizes, [row["milliseconds"]["all"][name] for row in rows], marker="o", label=name)
    axes.axhline(48, color="grey", linestyle=":", label="deadline")
    axes.set(xscale="log", yscale="log", xlabel="messages in one agent", ylabel="milliseconds", title="One assembly, warm")
    axes.legend()
    figure.tight_layout()
    figure.savefig(target, metadata={"Date": None})


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench latency", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--strategy", default="default")
    parser.add_argument("--folder", type=Path, help="where filled stores are kept for the next time; default: nowhere")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        print(json.dumps(asyncio.run(ask(options.measure, options.queries, options.strategy))))
    else:
        run(options)


if __name__ == "__main__":
    main()
