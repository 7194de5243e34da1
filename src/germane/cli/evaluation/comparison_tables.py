"""Comparison tables: prints a comparison of two evaluations on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from germane.cli.evaluation.report_tables import BY_CLOCK, print_title
from germane.cli.evaluation.wording import about, clocked, levels, resampling, reused, shown, signed, spread
from germane.cli.screen import plain, table
from germane.evaluate.compare import Comparison, Difference
from germane.evaluate.metric import AT, WITHIN, Metric, metric
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
    budgets = sorted({one.at for one in comparison.differences if one.metric == WITHIN[0].name})
    ks = sorted({one.at for one in comparison.differences if one.metric == AT[0].name})
    print_title(screen, "B − A within so many tokens of all the added text, points of percent; * where the sign is sure")
    screen.print(_metrics(comparison, WITHIN, budgets))
    if ks:
        print_title(screen, "B − A among the k that rank highest")
        screen.print(_metrics(comparison, AT, ks))
    categories = list(dict.fromkeys(one.category for one in comparison.differences if one.category))
    if categories:
        print_title(
            screen,
            f"By category, asked at {clocked(comparison.clocks[0])}: the evidence within {comparison.budget:,} tokens, percent",
        )
        screen.print(_by_category(comparison, categories))
    _speed(comparison, screen)
    if comparison.changed:
        more = sum(one.b > one.a for one in comparison.changed)
        less = len(comparison.changed) - more
        print_title(
            screen, f"Changed within {comparison.budget:,} tokens: {more} questions for the better, {less} for the worse"
        )
        screen.print(_changed(comparison))
    screen.print()
    screen.print(resampling(comparison.resampled, comparison.a.run.conversations))


def _metrics(comparison: Comparison, metrics: Sequence[Metric], columns: Sequence[int]) -> Table:
    heads = [f"{column:,}" for column in columns]
    made = table("", "asked at", *heads, right=tuple(heads))
    for one in metrics:
        label = one.label
        for clock in comparison.clocks if one.name in BY_CLOCK else comparison.clocks[:1]:
            cells = [_cell(comparison, one, column, clock) for column in columns]
            if any(cells):
                made.add_row(label, clock, *cells)
                label = ""
    return made


def _cell(comparison: Comparison, one: Metric, budget_or_k: int, clock: str) -> Text:
    try:
        difference = comparison.difference(one.name, budget_or_k, clock=clock)
    except KeyError:
        return Text("")
    return _coloured(one, difference)


def _coloured(one: Metric, difference: Difference) -> Text:
    off = spread(one, difference.difference, difference.low, difference.high)
    text = f"{signed(one, difference.difference)} {off:>5}{'*' if difference.sure else ' '}"
    if not difference.sure or one.better is None:
        return Text(text)
    return Text(text, style="green" if (difference.difference > 0) == (one.better == "more") else "red")


def _by_category(comparison: Comparison, categories: Sequence[str]) -> Table:
    made = table("", "questions", "A", "B", "B − A", right=("questions", "A", "B", "B − A"))
    made.columns[0].overflow = "fold"
    one = metric("fraction")
    for category in ("", *categories):
        difference = comparison.difference("fraction", comparison.budget, category=category)
        a, b = shown(one, difference.a), shown(one, difference.b)
        made.add_row(plain(category) or "all", f"{difference.count:,}", a, b, _coloured(one, difference))
    return made


def _speed(comparison: Comparison, screen: Console) -> None:
    sides = [(side, report) for side, report in (("A", comparison.a), ("B", comparison.b)) if report.latency or report.reuse]
    if sides:
        print_title(screen, "Latency and prefix reuse")
    for side, report in sides:
        for line in _speeds(report):
            screen.print(f"{side} {line}")


def _speeds(report: Report) -> list[str]:
    lines = []
    if report.latency:
        one = report.latency[0]
        lines.append(f"p50 {one.p50:.1f} ms, p95 {one.p95:.1f} ms, p99 {one.p99:.1f} ms; {levels(one.levels)}")
    if report.reuse is not None:
        lines.append(reused(report.reuse))
    return lines


def _changed(comparison: Comparison) -> Table:
    made = table("A", "B", "question", "category", right=("A", "B"))
    one = metric("fraction")
    for change in comparison.changed[:_MAX_CHANGED]:
        made.add_row(shown(one, change.a), shown(one, change.b), plain(change.question, 90), plain(change.category))
    if len(comparison.changed) > _MAX_CHANGED:
        made.add_row("", "", f"… and {len(comparison.changed) - _MAX_CHANGED} more (--json or --html shows all)", "")
    return made
