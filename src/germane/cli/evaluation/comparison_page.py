"""Comparison page: two evaluations side by side as one HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from germane.cli.evaluation.amount_tables import summary
from germane.cli.evaluation.html_parts import cell, document, figure, pairs, rows, text, tiles
from germane.cli.evaluation.report_page import curve, reading
from germane.cli.evaluation.request_page import found_curve
from germane.cli.evaluation.svg_chart import Curve, chart
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
from germane.evaluate.comparison import Comparison, Difference
from germane.evaluate.metric import AT, Metric
from germane.evaluate.report import Report

__all__ = ["comparison_page"]


def comparison_page(comparisons: Sequence[Comparison]) -> str:
    """Returns a page with all comparisons, one below the other."""
    title = f"germane on {', '.join(comparison.a.run.dataset for comparison in comparisons)}: two compared"
    return document(
        title, f"<h1>{text(title)}</h1>" + "<hr>".join("".join(_sections(comparison)) for comparison in comparisons)
    )


def _sections(comparison: Comparison) -> Iterator[str]:
    lead = comparison.metrics[0]
    yield pairs(
        [
            (f"{side} {label}", value)
            for side, run in (("A", comparison.a.run), ("B", comparison.b.run))
            for label, value in about(run)[:3]
        ]
    )
    if comparison.unmatched:
        yield f"<p>{comparison.unmatched:,} questions only one of them was asked are left out.</p>"
    yield tiles(_headlines(comparison))
    if curves := _curves(comparison):
        yield f"<h2>{text(lead.label.capitalize())} within a budget</h2>"
        caption = f"Percent against tokens of all the added text, asked at {clocked(comparison.clocks[0])}."
        yield figure(chart(curves, says="recall of A and B against tokens"), caption)
    yield "<h2>B − A</h2><p>Points of percent; in colour where the interval leaves no doubt of the sign.</p>"
    yield _metrics(comparison, comparison.metrics)
    if not comparison.a.requests:
        yield "<h3>Among the k that rank highest</h3>" + _metrics(comparison, AT)
    if len(comparison.by_category) > 1:
        yield f"<h2>By category, {within(comparison.budget)}</h2>" + _by_category(comparison)
    if told := [f"{side}: {text(line)}." for side, report in _sides(comparison) for line in summary(report)]:
        yield f"<h2>Without a budget</h2><p>{'<br>'.join(told)}</p>"
    yield _speed(comparison)
    terms = [(metric.label, metric.says) for metric in comparison.metrics]
    yield reading(resampling(comparison.resampled, comparison.a.run.conversations), terms)
    if comparison.changed:
        yield f"<h2>{len(comparison.changed):,} questions changed {within(comparison.budget)}</h2>" + _changed(comparison)


def _curves(comparison: Comparison) -> list[Curve]:
    a, b = comparison.a, comparison.b
    if a.requests:
        found = [found_curve(a, "", "A", "q", dashed=True), found_curve(b, "", "B", "a")]
        return found if all(one.points for one in found) else []
    return [
        curve(a, "fraction", "A", "q", dashed=True),
        curve(b, "fraction", "B", "a"),
        curve(a, "every", "A, all of it", "q", dashed=True),
        curve(b, "every", "B, all of it", "b"),
    ]


def _sides(comparison: Comparison) -> tuple[tuple[str, Report], tuple[str, Report]]:
    return ("A", comparison.a), ("B", comparison.b)


def _headlines(comparison: Comparison) -> Iterator[tuple[str, str]]:
    for metric in comparison.metrics[:2]:
        try:
            difference = comparison.difference(metric.name, comparison.budget)
        except KeyError:
            continue
        off = spread(metric, difference.difference, difference.low, difference.high)
        yield f"{signed(metric, difference.difference)} {off}", f"points, {metric.label} {within(comparison.budget)}"
    improved = sum(difference.b > difference.a for difference in comparison.changed)
    yield f"{improved:,} / {len(comparison.changed) - improved:,}", "questions for the better / for the worse"


def _metrics(comparison: Comparison, metrics: Sequence[Metric]) -> str:
    names = {metric.name for metric in metrics}
    columns = sorted({difference.at for difference in comparison.differences if difference.metric in names})
    overall = [difference for difference in comparison.differences if not difference.category]
    known = {(difference.clock, difference.metric, difference.at): difference for difference in overall}
    lines = []
    for metric in metrics:
        for clock in comparison.clocks:
            cells = [_cell(metric, known.get((clock, metric.name, column))) for column in columns]
            if any(cells):
                lines.append([text(metric.label), text(clock), *cells])
    return rows(["", "asked at", *map(budget_head, columns)], lines, words=(0, 1))


def _cell(metric: Metric, difference: Difference | None) -> str:
    if difference is None:
        return ""
    tone = ""
    if difference.sure and metric.better is not None:
        tone = "good" if (difference.difference > 0) == (metric.better == "more") else "bad"
    return cell(
        signed(metric, difference.difference), spread(metric, difference.difference, difference.low, difference.high), tone
    )


def _by_category(comparison: Comparison) -> str:
    lead, lines = comparison.metrics[0], []
    for difference in comparison.by_category:
        a, b = shown(lead, difference.a), shown(lead, difference.b)
        lines.append([text(difference.category) or "all", f"{difference.count:,}", a, b, _cell(lead, difference)])
    return rows(["", "questions", "A", "B", "B − A"], lines)


def _speed(comparison: Comparison) -> str:
    lines = [
        [side, f"{latency.p50:.1f}", f"{latency.p95:.1f}", f"{latency.p99:.1f}", text(levels(latency.levels))]
        for side, report in _sides(comparison)
        for latency in report.latency[:1]
    ]
    table = "<h2>Latency</h2>" + rows(["milliseconds", "p50", "p95", "p99", "level"], lines, words=(0, 4)) if lines else ""
    told = [f"{side}: {text(reused(report.reuse))}." for side, report in _sides(comparison) if report.reuse is not None]
    return table + (f"<h2>Prefix reuse</h2><p>{'<br>'.join(told)}</p>" if told else "")


def _changed(comparison: Comparison) -> str:
    lead = comparison.metrics[0]
    lines = (
        [shown(lead, change.a), shown(lead, change.b), text(change.question), text(change.category), text(change.id)]
        for change in comparison.changed
    )
    return rows(["A", "B", "question", "category", "id"], lines, words=(2, 3, 4))
