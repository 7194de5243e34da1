"""Report tables: prints an evaluation on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from germane.cli.evaluation.amount_tables import amount_table, print_turns, summary
from germane.cli.evaluation.request_tables import print_requests
from germane.cli.evaluation.wording import about, clocked, levels, resampling, reused, shown, spread
from germane.cli.screen import plain, table
from germane.evaluate.metric import AT, WITHIN, Metric
from germane.evaluate.report import Report

__all__ = ["BY_CLOCK", "print_report", "print_title"]

BY_CLOCK = ("fraction", "every", "stale", "fraction_at", "every_at")
"""The metrics shown for every clock; the others hardly depend on the clock and are shown for the first only. The JSON file and
the page show all."""

_FAULTS = 5


def print_report(report: Report, screen: Console) -> None:
    """Print all figures of the report; the single answers are in the JSON file."""
    run = report.run
    for label, text in about(run):
        screen.print(f"{label:<9} {plain(text)}", soft_wrap=False)
    if lines := summary(report):
        print_title(screen, "Without a budget")
        for line in lines:
            screen.print(plain(line))
    if report.requests:
        print_title(screen, "Requests")
        print_requests(report, screen)
    else:
        print_title(screen, "Within so many tokens of all the added text, percent")
        screen.print(_metrics(report, WITHIN, run.budgets))
        print_title(screen, "Among the k that rank highest, percent")
        screen.print(_metrics(report, AT, run.ks))
    if report.categories:
        print_title(screen, f"By category, asked at {clocked(run.clocks[0])}, percent of the evidence")
        screen.print(_by_category(report))
    if report.categories and report.amounts:
        print_title(screen, f"Without a budget, asked at {clocked(run.clocks[0])}, percent of the evidence")
        screen.print(amount_table(report))
    if report.turns:
        print_title(screen, "Turns without need, percent")
        print_turns(report.turns, screen)
    if report.latency:
        print_title(screen, f"Latency, milliseconds, under a deadline of {1000 * run.latency_deadline:.0f} ms")
        screen.print(_latency(report))
    if report.reuse is not None:
        print_title(screen, "Prefix reuse")
        screen.print(reused(report.reuse))
    screen.print()
    screen.print(resampling(run.resampled, run.conversations))
    for answered in report.faults[:_FAULTS]:
        screen.print(f"germane fell back ({answered.fault}): {plain(answered.question, 80)}")
    if len(report.faults) > _FAULTS:
        screen.print(f"… and fell back in {len(report.faults) - _FAULTS} more answers")


def print_title(screen: Console, title: str) -> None:
    """Print the title of a section."""
    screen.print()
    screen.print(Text(title, style="bold"))


def _metrics(report: Report, metrics: Sequence[Metric], columns: Sequence[int]) -> Table:
    """A table with a row for each metric and clock, and a column for each budget or k."""
    heads = [f"{column:,}" for column in columns]
    made = table("", "asked at", *heads, right=tuple(heads))
    for metric in metrics:
        label = metric.label
        for clock in report.run.clocks if metric.name in BY_CLOCK else report.run.clocks[:1]:
            cells = [_cell(report, metric, column, clock) for column in columns]
            if any(cells):
                made.add_row(label, clock, *cells)
                label = ""
    return made


def _cell(report: Report, metric: Metric, budget_or_k: int, clock: str, category: str = "") -> str:
    try:
        figure = report.figure(metric.name, budget_or_k, clock=clock, category=category)
    except KeyError:
        return ""
    interval = "" if metric.unit == "tokens" else spread(metric, figure.mean, figure.low, figure.high)
    return f"{shown(metric, figure.mean)} {interval:>5}".rstrip() if interval else shown(metric, figure.mean)


def _by_category(report: Report) -> Table:
    run, fraction, every = report.run, WITHIN[0], WITHIN[1]
    heads = [f"{budget:,}" for budget in run.budgets]
    near = min(run.budgets, key=lambda budget: abs(budget - 1000))
    whole = f"all {near:,}"
    made = table("", "n", *heads, whole, right=("n", *heads, whole))
    made.columns[0].overflow = "fold"
    for category in report.categories:
        cells = [_cell(report, fraction, budget, run.clocks[0], category) for budget in run.budgets]
        count = report.figure("fraction", near, category=category).count
        made.add_row(plain(category), f"{count:,}", *cells, _cell(report, every, near, run.clocks[0], category))
    return made


def _latency(report: Report) -> Table:
    rows = table("", "answers", "p50", "p95", "p99", "level", right=("answers", "p50", "p95", "p99"))
    for latency in report.latency:
        label = plain(latency.category) or ("an answer" if not latency.stage else f"  {latency.stage}")
        level = levels(latency.levels) if latency.levels else ""
        if latency.levels and latency.category:
            level = f"{100 * latency.levels[0]:.1f} % at L0"
        rows.add_row(label, f"{latency.count:,}", f"{latency.p50:.1f}", f"{latency.p95:.1f}", f"{latency.p99:.1f}", level)
    return rows
