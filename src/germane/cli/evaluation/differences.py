"""Differences: a comparison on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from germane.cli.evaluation.tables import BY_CLOCK, titled
from germane.cli.evaluation.wording import about, clocked, levels, resampling, reused, shown, signed, spread
from germane.cli.screen import plain, table
from germane.evaluate.compare import Comparison, Difference
from germane.evaluate.metric import AT, WITHIN, Metric, metric
from germane.evaluate.report import Report

__all__ = ["show_comparison"]

_CHANGED = 10


def show_comparison(found: Comparison, where: Console) -> None:
    """What B does better or worse than A, question by question."""
    for side, report in (("A", found.a), ("B", found.b)):
        for label, text in about(report.run)[:3]:
            where.print(f"{side} {label:<9} {plain(text)}")
    if found.unmatched:
        where.print(f"{found.unmatched} questions only one of them was asked: left out")
    budgets = sorted({one.at for one in found.differences if one.metric == WITHIN[0].name})
    ks = sorted({one.at for one in found.differences if one.metric == AT[0].name})
    titled(where, "B − A within so many tokens of all the added text, points of percent; * where the sign is sure")
    where.print(_metrics(found, WITHIN, budgets))
    if ks:
        titled(where, "B − A among the k that rank highest")
        where.print(_metrics(found, AT, ks))
    categories = list(dict.fromkeys(one.category for one in found.differences if one.category))
    if categories:
        titled(where, f"By category, asked at {clocked(found.clocks[0])}: the evidence within {found.budget:,} tokens, percent")
        where.print(_by_category(found, categories))
    _speed(found, where)
    if found.changed:
        more = sum(one.b > one.a for one in found.changed)
        less = len(found.changed) - more
        titled(where, f"Changed within {found.budget:,} tokens: {more} questions for the better, {less} for the worse")
        where.print(_changed(found))
    where.print()
    where.print(resampling(found.resampled, found.a.run.conversations))


def _metrics(found: Comparison, metrics: Sequence[Metric], columns: Sequence[int]) -> Table:
    heads = [f"{column:,}" for column in columns]
    made = table("", "asked at", *heads, right=tuple(heads))
    for one in metrics:
        label = one.label
        for clock in found.clocks if one.name in BY_CLOCK else found.clocks[:1]:
            cells = [_cell(found, one, column, clock) for column in columns]
            if any(cells):
                made.add_row(label, clock, *cells)
                label = ""
    return made


def _cell(found: Comparison, one: Metric, at: int, clock: str) -> Text:
    try:
        difference = found.difference(one.name, at, clock=clock)
    except KeyError:
        return Text("")
    return _coloured(one, difference)


def _coloured(one: Metric, difference: Difference) -> Text:
    off = spread(one, difference.difference, difference.low, difference.high)
    text = f"{signed(one, difference.difference)} {off:>5}{'*' if difference.sure else ' '}"
    if not difference.sure or one.better is None:
        return Text(text)
    return Text(text, style="green" if (difference.difference > 0) == (one.better == "more") else "red")


def _by_category(found: Comparison, categories: Sequence[str]) -> Table:
    made = table("", "questions", "A", "B", "B − A", right=("questions", "A", "B", "B − A"))
    made.columns[0].overflow = "fold"
    one = metric("fraction")
    for category in ("", *categories):
        difference = found.difference("fraction", found.budget, category=category)
        a, b = shown(one, difference.a), shown(one, difference.b)
        made.add_row(plain(category) or "all", f"{difference.count:,}", a, b, _coloured(one, difference))
    return made


def _speed(found: Comparison, where: Console) -> None:
    sides = [(side, report) for side, report in (("A", found.a), ("B", found.b)) if report.latency or report.reuse]
    if sides:
        titled(where, "Latency and prefix reuse")
    for side, report in sides:
        for line in _speeds(report):
            where.print(f"{side} {line}")


def _speeds(report: Report) -> list[str]:
    lines = []
    if report.latency:
        one = report.latency[0]
        lines.append(f"p50 {one.p50:.1f} ms, p95 {one.p95:.1f} ms, p99 {one.p99:.1f} ms; {levels(one.levels)}")
    if report.reuse is not None:
        lines.append(reused(report.reuse))
    return lines


def _changed(found: Comparison) -> Table:
    made = table("A", "B", "question", "category", right=("A", "B"))
    one = metric("fraction")
    for change in found.changed[:_CHANGED]:
        made.add_row(shown(one, change.a), shown(one, change.b), plain(change.question, 90), plain(change.category))
    if len(found.changed) > _CHANGED:
        made.add_row("", "", f"… and {len(found.changed) - _CHANGED} more (--json or --html shows all)", "")
    return made
