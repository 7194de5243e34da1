"""Amount page: the part of a page about what is added without a budget, and what turns without need get."""

from __future__ import annotations

from collections.abc import Iterator

from germane.cli.evaluation.html_parts import cell, details, figure, rows, text
from germane.cli.evaluation.svg_chart import Curve, Point, chart
from germane.cli.evaluation.wording import costs, dollars, half_width, with_effort, without_need
from germane.evaluate.report import Report

__all__ = ["amount_headlines", "amount_sections"]


def amount_headlines(report: Report) -> Iterator[tuple[str, str]]:
    """Large figures, each with its label."""
    for amount in report.amounts:
        if not amount.category:
            share = f"{100 * amount.fraction:.1f} % of the evidence"
            yield f"{amount.tokens:,.0f} tokens", f"a question, {share}, {with_effort(amount.effort)}"
    if report.turns:
        yield f"{100 * report.turns[0].share:.1f} %", "of turns without need got items"


def amount_sections(report: Report) -> Iterator[str]:
    """The amounts with a curve over the efforts, the turns without need, and the costs; nothing of what wasn't measured."""
    if report.amounts:
        yield "<h2>Without a budget</h2>"
        yield _curve(report)
        yield _amounts(report)
    if report.turns:
        yield f"<h2>Turns without need</h2><p>{text(without_need(report.turns[0]))}.</p>"
        for by in ("language", "kind"):
            lines = [
                [
                    text(turn.name),
                    f"{turn.count:,}",
                    cell(f"{100 * turn.share:.1f}", half_width(turn.share, turn.low, turn.high, 100, 1)),
                    f"{turn.tokens:,.0f}",
                ]
                for turn in report.turns
                if turn.by == by
            ]
            yield details(f"By {by}, the worst first", rows([by, "turns", "got items, percent", "tokens"], lines))
    if report.cost is not None:
        yield f"<h2>Price</h2><p>{text(costs(report.cost, report.run.model))}.</p>"


def _curve(report: Report) -> str:
    points = [
        Point(budget=max(1, round(amount.tokens)), mean=amount.fraction, low=amount.low, high=amount.high)
        for amount in sorted(report.amounts, key=lambda amount: amount.tokens)
        if not amount.category
    ]
    if len(points) < 2:
        return ""
    drawn = chart([Curve(name="evidence", points=points, band=True)], says="recall against tokens by effort", height=220)
    return figure(drawn, "Percent of the evidence against the mean of the tokens added, one point for each effort.")


def _amounts(report: Report) -> str:
    lines = [
        [
            text(amount.category) or "all",
            text(with_effort(amount.effort)),
            f"{amount.count:,}",
            cell(f"{amount.tokens:,.0f}", half_width(amount.tokens, amount.tokens_low, amount.tokens_high)),
            cell(f"{100 * amount.fraction:.1f}", half_width(amount.fraction, amount.low, amount.high, 100, 1)),
            f"{100 * amount.touched:.1f}",
            f"{100 * amount.every:.1f}",
            text(dollars(amount.dollars)),
        ]
        for amount in report.amounts
    ]
    return rows(["", "effort", "questions", "tokens", "evidence", "any part", "all of it", "$ per 1,000"], lines, words=(0, 1))
