"""Packers: exact packing compared with greedy packing, by budget: recall, value, gap and time.

    python -m bench packers ../shared/data/locomo-dev [--tokens 64 128 250 500 1000]

The data are labelled conversations in any format that `germane eval` reads. Each has its own store and is asked one hour after
its end, without a deadline. Recall is the share of the evidence that is shown, value the expected number of relevant items
shown (Σ P × share), gap an upper bound of what a better choice could add, ms the time of packing alone. The difference to the
strategy `density` is paired and given with its standard error.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from statistics import mean, stdev

from bench.quantiles import quantile
from germane import Agent, Germane
from germane.api.strategies import COMPACT, VERBOSE
from germane.types.strategy import Packer, Strategy
from germane_eval.answers import every_within, fraction_within, shares
from germane_eval.dataset import Question, ends, fill
from germane_eval.formats import load

__all__ = ["main"]

COLUMNS = (("recall", 7), ("all", 7), ("value", 8), ("proven", 8), ("gap", 8), ("ms p50", 8), ("p99", 7))
PACKERS: Sequence[Packer] = ("density", "rank", "exact")


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    recall: float
    every: float
    value: float
    gap: float | None
    milliseconds: float


async def packed(agent: Agent, question: Question, strategy: Strategy, tokens: int, at: object) -> Packed:
    context = await agent.assemble(
        [{"role": "user", "content": question.text}],
        model="gpt-4o",
        at=at,  # type: ignore[arg-type]
        deadline=None,
        max_tokens=tokens,
        strategy=strategy,
    )
    shown = shares(context.items, question.evidence)
    return Packed(
        recall=fraction_within(shown),
        every=every_within(shown),
        value=sum(item.score * item.share for item in context.items),
        gap=context.trace.gap,
        milliseconds=1000 * dict(context.metadata.timings).get("pack", 0.0),
    )


async def run(options: argparse.Namespace) -> dict[tuple[int, Packer], list[Packed]]:
    found: dict[tuple[int, Packer], list[Packed]] = defaultdict(list)
    base = {"compact": COMPACT, "xml": VERBOSE}[options.format]
    strategies = {packer: replace(base, name=packer, packer=packer) for packer in PACKERS}
    for conversation in load(options.data).conversations:
        async with Germane.open(":memory:", embedder=options.embedder) as germane:
            agent = germane.agent("bench")
            await fill(agent, conversation)
            end = ends(conversation)
            at = None if end is None else end + timedelta(hours=1)
            for question in conversation.questions:
                for tokens in options.tokens:
                    for packer, strategy in strategies.items():
                        found[tokens, packer].append(await packed(agent, question, strategy, tokens, at))
        print(f"{len(next(iter(found.values()))):>5} questions", flush=True)
    return found


def table(found: dict[tuple[int, Packer], list[Packed]]) -> None:
    columns = "".join(f"{name:>{width}}" for name, width in COLUMNS)
    print(f"\n{'tokens':>6}  {'packer':<8}{columns}   over density")
    for (tokens, packer), rows in sorted(found.items(), key=lambda entry: (entry[0][0], PACKERS.index(entry[0][1]))):
        recall, value = 100 * mean(row.recall for row in rows), mean(row.value for row in rows)
        every = 100 * mean(row.every for row in rows)
        gaps = [row.gap for row in rows if row.gap is not None]
        proven = f"{100 * mean(gap == 0 for gap in gaps):7.1f}% {max(gaps):7.4f}" if gaps else " " * 16
        times = [row.milliseconds for row in rows]
        extra = [100 * (row.recall - other.recall) for row, other in zip(rows, found[tokens, "density"], strict=True)]
        beside = "" if packer == "density" else f"{mean(extra):+.2f} ± {stdev(extra) / len(extra) ** 0.5:.2f}"
        spent = f"{quantile(times, 50):8.2f}{quantile(times, 99):7.2f}"
        print(f"{tokens:>6}  {packer:<8}{recall:7.2f}{every:7.2f}{value:8.3f}{proven}{spent}   {beside}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench packers", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--tokens", type=int, nargs="+", default=[64, 128, 250, 500, 1000])
    parser.add_argument("--format", choices=["compact", "xml"], default="compact")
    parser.add_argument("--embedder", default="distilled")
    table(asyncio.run(run(parser.parse_args(arguments))))


if __name__ == "__main__":
    main()
