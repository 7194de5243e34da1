"""Added: what each source of activity, graph and tasks adds to the evidence that a context holds, on labelled conversations.

    python -m bench added ../shared/data/locomo-dev [--strategy compact] [--limit N]

The conversations are recorded with the rules for entities. Each question is asked with the strategy as it is, and with each
of the sources in addition, at the same budgets: what a source shows takes the place of something else. Nothing is fitted, so
nothing is held out. A question names no session, so `events` offers the highlights of the latest sessions; the
conversations have no archetype and no task, so `patterns` and `tasks` have nothing to offer. The table shows percent of the
evidence within 500, 1,000 and 2,000 tokens by category: the strategy as it is, and the change with each source.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from bench.machine import describe
from germane.api.strategies import Strategies
from germane.settings.settings import Settings
from germane.types.strategy import SourcePlan, Strategy
from germane_eval.dataset import Dataset
from germane_eval.formats import load
from germane_eval.report import Report
from germane_eval.run import evaluate

__all__ = ["main"]

_BUDGETS = (500, 1000, 2000)
_EVENTS, _ENTITIES = SourcePlan(name="events", limit=40), SourcePlan(name="entities", limit=20)
_RELATIONS, _PATTERNS, _TASKS = (SourcePlan(name=name, limit=20) for name in ("relations", "patterns", "tasks"))
_ADDED: Mapping[str, Sequence[SourcePlan]] = {
    "events": (_EVENTS,),
    "entities": (_ENTITIES,),
    "relations": (_RELATIONS,),
    "patterns": (_PATTERNS,),
    "tasks": (_TASKS,),
    "all five": (_EVENTS, _ENTITIES, _RELATIONS, _PATTERNS, _TASKS),
}


async def _asked(dataset: Dataset, strategy: Strategy, limit: int | None) -> Report:
    settings = Settings(entities=True)
    return await evaluate(
        dataset, strategy=strategy, budgets=_BUDGETS, clocks=("end+1h",), quick=True, settings=settings, limit=limit
    )


def _with(strategy: Strategy, plans: Sequence[SourcePlan]) -> Strategy:
    new = {plan.name for plan in plans}
    return replace(strategy, sources=(*(plan for plan in strategy.sources if plan.name not in new), *plans))


def _without(strategy: Strategy, names: frozenset[str]) -> Strategy:
    return replace(strategy, sources=tuple(plan for plan in strategy.sources if plan.name not in names))


def _figures(report: Report, category: str) -> list[float]:
    return [100 * report.figure("fraction", budget, category=category).mean for budget in _BUDGETS]


def main(arguments: Sequence[str] | None = None) -> None:
    """See the module."""
    parser = argparse.ArgumentParser(prog="python -m bench added", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--strategy", default="compact")
    parser.add_argument("--limit", type=int, default=None)
    parser.add_argument("--sources", default=",".join(_ADDED), help="comma-separated, of: %(default)s")
    options = parser.parse_args(arguments)
    print(describe())
    dataset = load(options.data)
    strategy = _without(Strategies().find(options.strategy), frozenset(_ADDED))
    before = asyncio.run(_asked(dataset, strategy, options.limit))
    categories = ("", *before.categories)
    print(f"| {options.data.name} | {' | '.join(name or 'all' for name in categories)} |", flush=True)
    print(f"|{' --- |' * (len(categories) + 1)}", flush=True)
    base = {name: _figures(before, name) for name in categories}
    print(f"| `{options.strategy}` | {' | '.join(_written(base[name]) for name in categories)} |", flush=True)
    for label in options.sources.split(","):
        plans = _ADDED[label]
        report = asyncio.run(_asked(dataset, _with(strategy, plans), options.limit))
        changes = {
            name: [after - was for after, was in zip(_figures(report, name), base[name], strict=True)] for name in categories
        }
        print(f"| {label} | {' | '.join(_written(changes[name], signed=True) for name in categories)} |", flush=True)


def _written(figures: Sequence[float], *, signed: bool = False) -> str:
    return " / ".join(f"{figure:+.1f}" if signed else f"{figure:.1f}" for figure in figures)
