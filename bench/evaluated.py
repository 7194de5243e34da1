"""Evaluated: prints the tables of docs/research/benchmarks.md from saved evaluations.

germane eval locomo/ --embedder static --json static.json
germane eval locomo/ --embedder minilm --json minilm.json
python -m bench evaluated static.json minilm.json
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from germane_eval.cli.result_files import load_reports
from germane_eval.metrics import WITHIN, metric
from germane_eval.report import Report

_RECALL = ("fraction", "touched", "every")


def cell(report: Report, name: str, at: int, clock: str, category: str = "") -> str:
    """A percentage with the larger half-width of its interval."""
    found = report.figure(name, at, clock=clock, category=category)
    if found.low is None or found.high is None:
        return f"{100 * found.mean:.1f}"
    return f"{100 * found.mean:.1f} ±{100 * max(found.high - found.mean, found.mean - found.low):.1f}"


def recall(reports: Sequence[Report]) -> Iterator[str]:
    """One row per embedder, clock and metric; the columns are the budgets."""
    budgets = reports[0].run.budgets
    yield "| embedder, asked at | percent of | " + " | ".join(f"{budget:,}" for budget in budgets) + " |"
    yield "|---|---|" + "---|" * len(budgets)
    for report in reports:
        for clock in report.run.clocks:
            for name in _RECALL:
                cells = " | ".join(cell(report, name, budget, clock) for budget in budgets)
                yield f"| `{_short(report)}`, {clock} | {metric(name).label} | {cells} |"


def categories(reports: Sequence[Report], budget: int) -> Iterator[str]:
    """One row per category; the columns are the embedders."""
    yield f"| within {budget:,} tokens | questions | " + " | ".join(f"`{_short(report)}`" for report in reports) + " |"
    yield "|---|---|" + "---|" * len(reports)
    first = reports[0]
    for category in first.categories:
        count = first.figure("fraction", budget, category=category).count
        cells = " | ".join(cell(report, "fraction", budget, report.run.clocks[0], category) for report in reports)
        yield f"| {category.replace('_', ' ')} | {count} | {cells} |"


def beside(report: Report) -> Iterator[str]:
    """What else is in the context, by the first clock."""
    clock, budgets = report.run.clocks[0], report.run.budgets
    for one in WITHIN:
        if one.name not in _RECALL and one.unit == "share":
            try:
                yield f"{one.label}: " + ", ".join(cell(report, one.name, budget, clock) for budget in budgets)
            except KeyError:
                continue
    if report.reuse is not None:
        yield f"prefix reuse: {100 * report.reuse.share:.1f} %, {100 * report.reuse.own:.1f} % without germane's text"


def _short(report: Report) -> str:
    return report.run.embedder.partition("/")[0]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench evaluated", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="+", help="saved with germane eval DATA --json FILE, of one data set")
    reports = [report for file in parser.parse_args(arguments).files for report in load_reports(file)]
    near = min(reports[0].run.budgets, key=lambda budget: abs(budget - 1000))
    for lines in (recall(reports), categories(reports, near), beside(reports[0])):
        print("\n".join(lines), end="\n\n")


if __name__ == "__main__":
    main()
