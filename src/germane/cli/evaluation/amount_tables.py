"""Amount tables: prints what is added without a budget, what turns without need get, and what the tokens cost."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from germane.cli.evaluation.wording import costs, dollars, half_width, with_effort, without_need
from germane.cli.screen import plain, table
from germane.evaluate.need.turn_figures import TurnFigure
from germane.evaluate.report import Report

__all__ = ["amount_table", "print_turns", "summary"]

_MAX_ROWS = 8


def summary(report: Report) -> list[str]:
    """What is added, to what, and at what price, in a line each."""
    lines = []
    for amount in report.amounts:
        if not amount.category:
            share = f"{100 * amount.fraction:.1f} % of the evidence"
            lines.append(f"{amount.tokens:,.0f} tokens a question with {share}, {with_effort(amount.effort)}")
    if report.turns:
        lines.append(without_need(report.turns[0]))
    if report.cost is not None:
        lines.append(costs(report.cost, report.run.model))
    return lines


def amount_table(report: Report) -> Table:
    """A row for each effort and category."""
    heads = ("questions", "tokens", "evidence", "any part", "all of it", "$ per 1,000")
    made = table("", "effort", *heads, right=heads)
    made.columns[0].overflow = "fold"
    for amount in report.amounts:
        made.add_row(
            plain(amount.category) or "all",
            with_effort(amount.effort),
            f"{amount.count:,}",
            f"{amount.tokens:,.0f} {half_width(amount.tokens, amount.tokens_low, amount.tokens_high):>5}".rstrip(),
            f"{100 * amount.fraction:.1f} {half_width(amount.fraction, amount.low, amount.high, 100, 1):>5}".rstrip(),
            f"{100 * amount.touched:.1f}",
            f"{100 * amount.every:.1f}",
            dollars(amount.dollars),
        )
    return made


def print_turns(figures: Sequence[TurnFigure], screen: Console) -> None:
    """Print the kinds of turns and the languages that get most, the worst first."""
    for by in ("kind", "language"):
        listed = [figure for figure in figures if figure.by == by]
        made = table(by, "turns", "got items", "tokens", right=("turns", "got items", "tokens"))
        for figure in listed[:_MAX_ROWS]:
            made.add_row(figure.name, f"{figure.count:,}", f"{100 * figure.share:.1f}", f"{figure.tokens:,.0f}")
        if len(listed) > _MAX_ROWS:
            made.add_row(f"… {len(listed) - _MAX_ROWS} more", "", "", "")
        screen.print()
        screen.print(made)
