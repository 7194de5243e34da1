"""Request tables: prints what a person's requests are shown: by category, by person, within budgets, and the misses."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from germane.cli.evaluation.wording import percent, talks
from germane.cli.screen import plain, table
from germane.evaluate.everyday.request_figures import RequestFigure
from germane.evaluate.everyday.talk import OPEN, RequestAnswer
from germane.evaluate.report import Report

__all__ = ["HEADS", "REQUEST_TERMS", "cells", "found_within", "misses", "print_requests"]

HEADS = ("n", "found", "old", "stands", "profile", "new", "beyond", "items", "more")
"""The columns of `cells`."""

REQUEST_TERMS = (
    ("found", "all the evidence stands in the prompt, with the words of the answer"),
    ("old", "outdated text was shown without all the evidence"),
    ("stands", "tokens beside the caller's own; profile: what always stands"),
    ("new", "tokens that the turn added; beyond: without what always stands"),
    ("items", "turns that got any item; more: beyond what always stands"),
)
"""What the columns say."""

_MAX_MISSES = 5


def print_requests(report: Report, screen: Console) -> None:
    """Print the tables, and some of the misses; the JSON file and the page have all."""
    screen.print(f"{talks(report.run)}.\nPercent of the requests, tokens a turn:")
    for name, says in REQUEST_TERMS:
        screen.print(f"  {name:<9} {says}", soft_wrap=False)
    for by in ("category", "person"):
        screen.print()
        screen.print(_table(by, [one for one in report.requests if one.by in ("all", by) and one.budget == OPEN]))
    if report.run.budgets:
        screen.print("\nFound within so many tokens of all the added text, percent")
        screen.print(_within(report))
    missed = misses(report)
    if missed:
        screen.print(f"\n{len(missed):,} misses (--html and --json show all)")
    for answer in missed[:_MAX_MISSES]:
        screen.print(f"  {plain(answer.category):<12} {plain(answer.question, 90)}", soft_wrap=False)


def cells(figure: RequestFigure) -> list[str]:
    """The figures in words, one for each of `HEADS`."""
    return [
        f"{figure.count:,}",
        percent(figure.found, figure.low, figure.high),
        percent(figure.alone) if figure.found is not None else "",
        *(f"{tokens:,.0f}" for tokens in (figure.standing, figure.profile, figure.new, figure.searched)),
        percent(figure.items),
        percent(figure.searched_items),
    ]


def found_within(report: Report, name: str) -> list[str]:
    """The share of the requests of a category that is found within each budget; of all for an empty name."""
    figures = [report.request(name, budget=budget) for budget in report.run.budgets]
    return [percent(figure.found) if figure is not None else "" for figure in figures]


def misses(report: Report) -> list[RequestAnswer]:
    """The requests that missed something without a budget, by category."""
    found = [answer for answer in report.asked_requests if answer.budget == OPEN and answer.missed]
    return sorted(found, key=lambda answer: (answer.category, answer.conversation))


def _table(by: str, figures: Sequence[RequestFigure]) -> Table:
    made = table(by, *HEADS, right=HEADS)
    made.columns[0].no_wrap = True
    for figure in figures:
        made.add_row(plain(figure.name) or "all", *cells(figure))
    return made


def _within(report: Report) -> Table:
    heads = tuple(f"{budget:,}" for budget in report.run.budgets)
    made = table("category", *heads, right=heads)
    for figure in report.requests:
        if figure.budget == OPEN and figure.by != "person" and figure.found is not None:
            made.add_row(plain(figure.name) or "all", *found_within(report, figure.name))
    return made
