"""Comparison tables: prints a comparison of two evaluations on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from germane.cli.evaluation.amount_tables import summary
from germane.cli.evaluation.report_tables import BY_CLOCK, print_title
from germane.cli.evaluation.wording import (
    about,
    budget_head,
    clocked,
    levels,
    resampling,
    reused,
    shown,
    signed,
    spread,
    within,
)
from germane.cli.screen import plain, table
from germane.evaluate.comparison import Comparison, Difference
from germane.evaluate.metric import AT, Metric
from germane.evaluate.report import Report

__all__ = ["print_comparison"]

_MAX_CHANGED = 10


def print_comparison(comparison: Comparison, screen: Console) -> None:
    """Print how B differs from A: metrics, categories, latency, and the questions with a changed result."""
    for side, report in (("A", comparison.a), ("B", comparison.b)):
        for label, text in about(report.run)[:3]:
            screen.print(f"{side} {label:<9} {plain(text)}")
    if comparison.unmatched:
        screen.print(f"{comparison.unmatched} questions only one of them was asked: left out")
    lead = comparison.metrics[0]
    budgets = sorted({difference.at for difference in comparison.differences if difference.metric == lead.name})
    ks = sorted({difference.at for difference in comparison.differences if difference.metric == AT[0].name})
    print_title(screen, "B − A within so many tokens of all the added text, points of percent; * where the sign is sure")
    screen.print(_metrics(comparison, comparison.metrics, budgets))
    if ks:
        print_title(screen, "B − A among the k that rank highest")
        screen.print(_metrics(comparison, AT, ks))
    if len(comparison.by_category) > 1:
        print_title(
            screen,
            f"By category, asked at {clocked(comparison.clocks[0])}: {lead.label} {within(comparison.budget)}, percent",
        )
        screen.print(_by_category(comparison))
    _speed(comparison, screen)
    if comparison.changed:
        more = sum(change.b > change.a for change in comparison.changed)
        less = len(comparison.changed) - more
        print_title(screen, f"Changed {within(comparison.budget)}: {more} questions for the better, {less} for the worse")
        screen.print(_changed(comparison))
    screen.print()
    screen.print(resampling(comparison.resampled, comparison.a.run.conversations))


def _metrics(comparison: Comparison, metrics: Sequence[Metric], columns: Sequence[int]) -> Table:
    heads = [budget_head(column) for column in columns]
    rows = table("", "asked at", *heads, right=tuple(heads))
    for metric in metrics:
        label = metric.label
        for clock in comparison.clocks if metric.name in BY_CLOCK else comparison.clocks[:1]:
            cells = [_cell(comparison, metric, column, clock) for column in columns]
            if any(cells):
                rows.add_row(label, clock, *cells)
                label = ""
    return rows


def _cell(comparison: Comparison, metric: Metric, budget_or_k: int, clock: str) -> Text:
    try:
        difference = comparison.difference(metric.name, budget_or_k, clock=clock)
    except KeyError:
        return Text("")
    return _coloured(metric, difference)


def _coloured(metric: Metric, difference: Difference) -> Text:
    off = spread(metric, difference.difference, difference.low, difference.high)
    text = f"{signed(metric, difference.difference)} {off:>5}{'*' if difference.sure else ' '}"
    if not difference.sure or metric.better is None:
        return Text(text)
    return Text(text, style="green" if (difference.difference > 0) == (metric.better == "more") else "red")


def _by_category(comparison: Comparison) -> Table:
    rows = table("", "questions", "A", "B", "B − A", right=("questions", "A", "B", "B − A"))
    rows.columns[0].overflow = "fold"
    lead = comparison.metrics[0]
    for difference in comparison.by_category:
        a, b = shown(lead, difference.a), shown(lead, difference.b)
        rows.add_row(plain(difference.category) or "all", f"{difference.count:,}", a, b, _coloured(lead, difference))
    return rows


def _speed(comparison: Comparison, screen: Console) -> None:
    sides = (("A", comparison.a), ("B", comparison.b))
    for title, told in (("Without a budget", summary), ("Latency and prefix reuse", _speeds)):
        lines = [f"{side} {plain(line)}" for side, report in sides for line in told(report)]
        if lines:
            print_title(screen, title)
        for line in lines:
            screen.print(line)


def _speeds(report: Report) -> list[str]:
    lines = []
    if report.latency:
        latency = report.latency[0]
        lines.append(f"p50 {latency.p50:.1f} ms, p95 {latency.p95:.1f} ms, p99 {latency.p99:.1f} ms; {levels(latency.levels)}")
    if report.reuse is not None:
        lines.append(reused(report.reuse))
    return lines


def _changed(comparison: Comparison) -> Table:
    rows = table("A", "B", "question", "category", right=("A", "B"))
    lead = comparison.metrics[0]
    for change in comparison.changed[:_MAX_CHANGED]:
        rows.add_row(shown(lead, change.a), shown(lead, change.b), plain(change.question, 90), plain(change.category))
    if len(comparison.changed) > _MAX_CHANGED:
        rows.add_row("", "", f"… and {len(comparison.changed) - _MAX_CHANGED} more (--json or --html shows all)", "")
    return rows
