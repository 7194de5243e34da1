"""Measure: evaluates data sets with a progress bar, once for a report or twice for a comparison."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from germane.api.strategies import Strategies
from germane.cli.evaluation.evaluation_options import EvaluationOptions
from germane.cli.evaluation.result_files import load_reports
from germane.cli.screen import progress
from germane.errors import InvalidInput
from germane.evaluate.compare import compare
from germane.evaluate.comparison import Comparison
from germane.evaluate.dataset import Dataset
from germane.evaluate.report import Report
from germane.evaluate.run import evaluate
from germane.settings.settings import Settings

__all__ = ["Contrast", "compare_files", "compare_runs", "contrast", "known_strategies", "reports"]

_EMBEDDERS = ("distilled", "minilm", "static")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """The one option that the two runs of a comparison differ in, and its two values."""

    what: Literal["strategy", "embedder"]
    a: str
    b: str


def contrast(a: str, b: str, options: EvaluationOptions) -> Contrast:
    """Recognise A and B as two strategies or two embedders. Raises `InvalidInput` where they are neither."""
    strategies = list(known_strategies(options.settings))
    if a in strategies and b in strategies:
        return Contrast(what="strategy", a=a, b=b)
    if _is_embedder(a) and _is_embedder(b):
        return Contrast(what="embedder", a=a, b=b)
    if Path(a).is_file() and Path(b).is_file():
        raise InvalidInput("--compare of two saved results needs no DATA: leave it out")
    unknown = next((name for name in (a, b) if name not in strategies and not _is_embedder(name)), None)
    why = f"{unknown[:60]!r} is neither" if unknown else f"{a} and {b} are one of each"
    raise InvalidInput(
        f"--compare takes two strategies ({', '.join(strategies)}) or two embedders (distilled, minilm, openai:<model>): {why}"
    )


def known_strategies(settings: Path | None) -> Strategies:
    """The built-in strategies and those of the settings."""
    return Strategies(Settings.load(settings, os.environ).strategies)


async def reports(datasets: Sequence[Dataset], options: EvaluationOptions, *, quiet: bool, label: str = "") -> list[Report]:
    """Measure each data set; returns one report each. Raises what `evaluate` raises."""
    if options.strategy is not None:
        known_strategies(options.settings).find(options.strategy)
    measured = []
    with progress(quiet) as bar:
        for dataset in datasets:
            task = bar.add_task(f"measuring {label or dataset.name}", total=None)
            measured.append(
                await evaluate(
                    dataset,
                    **options.arguments(),
                    progress=lambda done, total, task=task: bar.update(task, completed=done, total=total),  # type: ignore[misc]
                )
            )
    return measured


async def compare_runs(
    datasets: Sequence[Dataset], options: EvaluationOptions, two: Contrast, *, quiet: bool
) -> list[Comparison]:
    """Measure each data set with both values of `two`; returns one comparison per data set."""
    sides = [
        await reports(datasets, replace(options, **{two.what: name}), quiet=quiet, label=name)  # type: ignore[arg-type]
        for name in (two.a, two.b)
    ]
    return [compare(a, b, seed=options.seed) for a, b in zip(*sides, strict=True)]


def compare_files(a: str, b: str, seed: int) -> list[Comparison]:
    """Compare two files that --json wrote, data set by data set. Raises `InvalidInput`."""
    for path in (a, b):
        if not Path(path).is_file():
            raise InvalidInput(f"no file {path}: without DATA, --compare takes two results saved with --json FILE")
    first, second = load_reports(a), load_reports(b)
    if len(first) == len(second) == 1:
        return [compare(first[0], second[0], seed=seed)]
    by_dataset = {(report.run.dataset, report.run.format): report for report in second}
    pairs = [(report, by_dataset[key]) for report in first if (key := (report.run.dataset, report.run.format)) in by_dataset]
    if not pairs:
        raise InvalidInput(f"{a} and {b} have no data set in common (measure both on the same data)")
    return [compare(left, right, seed=seed) for left, right in pairs]


def _is_embedder(name: str) -> bool:
    return name in _EMBEDDERS or name.startswith("openai:") or "://" in name
