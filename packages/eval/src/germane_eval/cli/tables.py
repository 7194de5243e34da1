"""Tables: prints an evaluation, or a comparison of two, on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from germane.cli.screen import plain, table
from germane_eval.cli.wording import (
    budget_head,
    clocked,
    costs,
    dollars,
    formatted,
    formatted_difference,
    half_width,
    levels,
    percent,
    resampling,
    reused,
    run_lines,
    spread,
    talks,
    with_effort,
    within,
    without_need,
)
from germane_eval.everyday import OPEN, RequestAnswer, RequestFigure, TurnFigure
from germane_eval.metrics import AT, WITHIN, Metric
from germane_eval.report import Comparison, Difference, Report

BY_CLOCK = ("fraction", "every", "stale", "fraction_at", "every_at")
"""The metrics shown for every clock; the others hardly depend on the clock and are shown for the first only. The JSON file and
the page show all."""

_FAULTS = 5


def print_report(report: Report, screen: Console) -> None:
    """Print all figures of the report; the single answers are in the JSON file."""
    run = report.run
    for label, text in run_lines(run):
        screen.print(f"{label:<9} {plain(text)}", soft_wrap=False)
    if lines := amount_summary(report):
        print_title(screen, "Without a budget")
        for line in lines:
            screen.print(plain(line))
    if report.requests:
        print_title(screen, "Requests")
        print_requests(report, screen)
    else:
        print_title(screen, "Within so many tokens of all the added text, percent")
        screen.print(_report_metrics(report, WITHIN, run.budgets))
        print_title(screen, "Among the k that rank highest, percent")
        screen.print(_report_metrics(report, AT, run.ks))
    if report.categories:
        print_title(screen, f"By category, asked at {clocked(run.clocks[0])}, percent of the evidence")
        screen.print(_report_by_category(report))
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


def _report_metrics(report: Report, metrics: Sequence[Metric], columns: Sequence[int]) -> Table:
    """A table with a row for each metric and clock, and a column for each budget or k."""
    heads = [f"{column:,}" for column in columns]
    made = table("", "asked at", *heads, right=tuple(heads))
    for metric in metrics:
        label = metric.label
        for clock in report.run.clocks if metric.name in BY_CLOCK else report.run.clocks[:1]:
            cells = [_report_cell(report, metric, column, clock) for column in columns]
            if any(cells):
                made.add_row(label, clock, *cells)
                label = ""
    return made


def _report_cell(report: Report, metric: Metric, budget_or_k: int, clock: str, category: str = "") -> str:
    try:
        figure = report.figure(metric.name, budget_or_k, clock=clock, category=category)
    except KeyError:
        return ""
    interval = "" if metric.unit == "tokens" else spread(metric, figure.mean, figure.low, figure.high)
    return f"{formatted(metric, figure.mean)} {interval:>5}".rstrip() if interval else formatted(metric, figure.mean)


def _report_by_category(report: Report) -> Table:
    run, fraction, every = report.run, WITHIN[0], WITHIN[1]
    heads = [f"{budget:,}" for budget in run.budgets]
    near = min(run.budgets, key=lambda budget: abs(budget - 1000))
    whole = f"all {near:,}"
    made = table("", "n", *heads, whole, right=("n", *heads, whole))
    made.columns[0].overflow = "fold"
    for category in report.categories:
        cells = [_report_cell(report, fraction, budget, run.clocks[0], category) for budget in run.budgets]
        count = report.figure("fraction", near, category=category).count
        made.add_row(plain(category), f"{count:,}", *cells, _report_cell(report, every, near, run.clocks[0], category))
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


# What is added without a budget, what turns without need get, and what the tokens cost.


_MAX_ROWS = 8


def amount_summary(report: Report) -> list[str]:
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


# What a person's requests are shown: by category, by person, within budgets, and the misses.


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
    screen.print(f"{talks(report.run)}.\nPercent of the requests, tokens per turn:")
    for name, says in REQUEST_TERMS:
        screen.print(f"  {name:<9} {says}", soft_wrap=False)
    for by in ("category", "person"):
        screen.print()
        screen.print(_table(by, [one for one in report.requests if one.by in ("all", by) and one.budget == OPEN]))
    if report.run.budgets:
        screen.print("\nFound within so many tokens of all the added text, percent")
        screen.print(_within(report))
    missed = missed_requests(report)
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


def missed_requests(report: Report) -> list[RequestAnswer]:
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


# A comparison of two evaluations.


_MAX_CHANGED = 10


def print_comparison(comparison: Comparison, screen: Console) -> None:
    """Print how B differs from A: metrics, categories, latency, and the questions with a changed result."""
    for side, report in (("A", comparison.a), ("B", comparison.b)):
        for label, text in run_lines(report.run)[:3]:
            screen.print(f"{side} {label:<9} {plain(text)}")
    if comparison.unmatched:
        screen.print(f"{comparison.unmatched} questions only one of them was asked: left out")
    lead = comparison.metrics[0]
    budgets = sorted({difference.at for difference in comparison.differences if difference.metric == lead.name})
    ks = sorted({difference.at for difference in comparison.differences if difference.metric == AT[0].name})
    print_title(screen, "B − A within so many tokens of all the added text, points of percent; * where the sign is sure")
    screen.print(_comparison_metrics(comparison, comparison.metrics, budgets))
    if ks:
        print_title(screen, "B − A among the k that rank highest")
        screen.print(_comparison_metrics(comparison, AT, ks))
    if len(comparison.by_category) > 1:
        print_title(
            screen,
            f"By category, asked at {clocked(comparison.clocks[0])}: {lead.label} {within(comparison.budget)}, percent",
        )
        screen.print(_comparison_by_category(comparison))
    _speed(comparison, screen)
    if comparison.changed:
        more = sum(change.b > change.a for change in comparison.changed)
        less = len(comparison.changed) - more
        print_title(screen, f"Changed {within(comparison.budget)}: {more} questions for the better, {less} for the worse")
        screen.print(_changed_questions(comparison))
    screen.print()
    screen.print(resampling(comparison.resampled, comparison.a.run.conversations))


def _comparison_metrics(comparison: Comparison, metrics: Sequence[Metric], columns: Sequence[int]) -> Table:
    heads = [budget_head(column) for column in columns]
    rows = table("", "asked at", *heads, right=tuple(heads))
    for metric in metrics:
        label = metric.label
        for clock in comparison.clocks if metric.name in BY_CLOCK else comparison.clocks[:1]:
            cells = [_comparison_cell(comparison, metric, column, clock) for column in columns]
            if any(cells):
                rows.add_row(label, clock, *cells)
                label = ""
    return rows


def _comparison_cell(comparison: Comparison, metric: Metric, budget_or_k: int, clock: str) -> Text:
    try:
        difference = comparison.difference(metric.name, budget_or_k, clock=clock)
    except KeyError:
        return Text("")
    return _coloured(metric, difference)


def _coloured(metric: Metric, difference: Difference) -> Text:
    off = spread(metric, difference.difference, difference.low, difference.high)
    text = f"{formatted_difference(metric, difference.difference)} {off:>5}{'*' if difference.sure else ' '}"
    if not difference.sure or metric.better is None:
        return Text(text)
    return Text(text, style="green" if (difference.difference > 0) == (metric.better == "more") else "red")


def _comparison_by_category(comparison: Comparison) -> Table:
    rows = table("", "questions", "A", "B", "B − A", right=("questions", "A", "B", "B − A"))
    rows.columns[0].overflow = "fold"
    lead = comparison.metrics[0]
    for difference in comparison.by_category:
        a, b = formatted(lead, difference.a), formatted(lead, difference.b)
        rows.add_row(plain(difference.category) or "all", f"{difference.count:,}", a, b, _coloured(lead, difference))
    return rows


def _speed(comparison: Comparison, screen: Console) -> None:
    sides = (("A", comparison.a), ("B", comparison.b))
    for title, told in (("Without a budget", amount_summary), ("Latency and prefix reuse", _speeds)):
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


def _changed_questions(comparison: Comparison) -> Table:
    rows = table("A", "B", "question", "category", right=("A", "B"))
    lead = comparison.metrics[0]
    for change in comparison.changed[:_MAX_CHANGED]:
        rows.add_row(formatted(lead, change.a), formatted(lead, change.b), plain(change.question, 90), plain(change.category))
    if len(comparison.changed) > _MAX_CHANGED:
        rows.add_row("", "", f"… and {len(comparison.changed) - _MAX_CHANGED} more (--json or --html shows all)", "")
    return rows
