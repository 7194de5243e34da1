"""Work: data sets measured one after another, or twice for a comparison, with a bar that says how far it is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from germane.api.strategies import Strategies
from germane.cli.evaluation.saved import load_reports
from germane.cli.evaluation.wanted import Wanted
from germane.cli.screen import progress
from germane.errors import InvalidInput
from germane.evaluate.compare import Comparison, compare
from germane.evaluate.dataset import Dataset
from germane.evaluate.report import Report
from germane.evaluate.run import evaluate
from germane.settings.settings import Settings

__all__ = ["Versus", "compared", "compared_files", "reports", "versus"]

_EMBEDDERS = ("static", "minilm")


@dataclass(frozen=True, slots=True, kw_only=True)
class Versus:
    """What the two runs of a comparison differ in."""

    what: Literal["strategy", "embedder"]
    a: str
    b: str


def versus(a: str, b: str, wanted: Wanted) -> Versus:
    """What A and B are to a run over data. Raises `InvalidInput` where they aren't two of a kind."""
    strategies = list(known(wanted.settings))
    if a in strategies and b in strategies:
        return Versus(what="strategy", a=a, b=b)
    if _embedder(a) and _embedder(b):
        return Versus(what="embedder", a=a, b=b)
    if Path(a).is_file() and Path(b).is_file():
        raise InvalidInput("--compare of two saved results needs no DATA: leave it out")
    strange = next((name for name in (a, b) if name not in strategies and not _embedder(name)), None)
    why = f"{strange[:60]!r} is neither" if strange else f"{a} and {b} are one of each"
    raise InvalidInput(
        f"--compare takes two strategies ({', '.join(strategies)}) or two embedders (static, minilm, openai:<model>): {why}"
    )


def known(settings: Path | None) -> Strategies:
    return Strategies(Settings.load(settings, os.environ).strategies)


async def reports(datasets: Sequence[Dataset], wanted: Wanted, *, quiet: bool, label: str = "") -> list[Report]:
    """A report a data set. Raises what `evaluate` raises."""
    known(wanted.settings).find(wanted.strategy)
    found = []
    with progress(quiet) as shown:
        for dataset in datasets:
            task = shown.add_task(f"measuring {label or dataset.name}", total=None)
            found.append(
                await evaluate(
                    dataset,
                    **wanted.arguments(),
                    progress=lambda done, total, task=task: shown.update(task, completed=done, total=total),  # type: ignore[misc]
                )
            )
    return found


async def compared(datasets: Sequence[Dataset], wanted: Wanted, two: Versus, *, quiet: bool) -> list[Comparison]:
    """Each data set measured with one and with the other."""
    sides = [
        await reports(datasets, replace(wanted, **{two.what: name}), quiet=quiet, label=name)  # type: ignore[arg-type]
        for name in (two.a, two.b)
    ]
    return [compare(a, b, seed=wanted.seed) for a, b in zip(*sides, strict=True)]


def compared_files(a: str, b: str, seed: int) -> list[Comparison]:
    """Two saved results, data set by data set. Raises `InvalidInput`."""
    for path in (a, b):
        if not Path(path).is_file():
            raise InvalidInput(f"no file {path}: without DATA, --compare takes two results saved with --json FILE")
    first, second = load_reports(a), load_reports(b)
    if len(first) == len(second) == 1:
        return [compare(first[0], second[0], seed=seed)]
    other = {(report.run.dataset, report.run.format): report for report in second}
    pairs = [(one, other[key]) for one in first if (key := (one.run.dataset, one.run.format)) in other]
    if not pairs:
        raise InvalidInput(f"{a} and {b} have no data set in common (measure both on the same data)")
    return [compare(one, two, seed=seed) for one, two in pairs]


def _embedder(name: str) -> bool:
    return name in _EMBEDDERS or name.startswith("openai:") or "://" in name
