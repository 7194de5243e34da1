"""Report page: an evaluation as one HTML page: curves of recall against tokens, intervals, tables, latency."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from germane.cli.evaluation.amount_page import amount_headlines, amount_sections
from germane.cli.evaluation.html_parts import cell, details, document, figure, pairs, rows, text, tiles
from germane.cli.evaluation.missed_section import missed_section
from germane.cli.evaluation.request_page import request_headlines, request_misses, request_sections
from germane.cli.evaluation.request_tables import REQUEST_TERMS
from germane.cli.evaluation.svg_chart import Curve, Point, chart
from germane.cli.evaluation.wording import about, clocked, levels, resampling, reuse_advice, reused, shown, spread
from germane.evaluate.metric import AT, WITHIN, Metric
from germane.evaluate.missed import nearest_budget
from germane.evaluate.report import Report

__all__ = ["curve", "reading", "report_page"]


def report_page(reports: Sequence[Report]) -> str:
    """Returns a page with all reports, one below the other."""
    title = f"germane on {', '.join(report.run.dataset for report in reports)}"
    return document(title, f"<h1>{text(title)}</h1>" + "<hr>".join("".join(_sections(report)) for report in reports))


def _sections(report: Report) -> Iterator[str]:
    run = report.run
    yield pairs(about(run))
    yield tiles(_headlines(report))
    yield from request_sections(report) if report.requests else _evidence_sections(report)
    yield from amount_sections(report)
    if report.answered:
        yield "<h2>Among the k that rank highest</h2>"
        yield _metrics(report, AT, run.ks)
    if report.latency:
        yield f"<h2>Latency under a deadline of {1000 * run.latency_deadline:.0f} ms</h2>"
        yield _latency(report)
    if report.reuse is not None:
        yield f"<h2>Prefix reuse</h2><p>{text(reused(report.reuse))}.</p>"
        if advice := reuse_advice(report.reuse):
            yield f"<p>{text(advice)}</p>"
    intervals = resampling(run.resampled, run.conversations)
    yield reading(intervals, REQUEST_TERMS if report.requests else [(one.label, one.says) for one in WITHIN])
    yield request_misses(report) if report.requests else missed_section(report)
    if run.dropped:
        listed = rows(["where", "why"], ([text(entry.where), text(entry.reason)] for entry in run.dropped), words=(0, 1))
        yield details(f"{len(run.dropped):,} labels and questions left out", listed)


def _evidence_sections(report: Report) -> Iterator[str]:
    run = report.run
    yield "<h2>Evidence within a budget</h2>"
    curves = [
        curve(report, "any", "some of it", "c"),
        curve(report, "fraction", "evidence", "a", band=True),
        curve(report, "every", "all of it", "b"),
    ]
    caption = f"Percent against tokens of all the added text, asked at {clocked(run.clocks[0])}."
    yield figure(chart(curves, says="recall against tokens"), caption)
    yield _metrics(report, WITHIN, run.budgets)
    if report.categories:
        yield "<h2>By category</h2>"
        yield f'<div class="many">{"".join(_small(report, category) for category in report.categories)}</div>'
        yield _by_category(report)


def curve(
    report: Report, metric: str, name: str, tone: str, *, category: str = "", band: bool = False, dashed: bool = False
) -> Curve:
    """The curve of a metric over the budgets, at the first clock."""
    points = []
    for budget in report.run.budgets:
        try:
            estimate = report.figure(metric, budget, category=category)
        except KeyError:
            continue
        points.append(Point(budget=budget, mean=estimate.mean, low=estimate.low, high=estimate.high))
    return Curve(name=name, points=points, tone=tone, band=band, dashed=dashed)


def reading(intervals: str, terms: Iterable[tuple[str, str]]) -> str:
    """A section that explains the figures, each by its name, and the intervals."""
    items = "".join(f"<li><b>{text(name)}</b>: {text(says)}.</li>" for name, says in terms)
    return details("How to read this", f"<p>{text(intervals)}.</p><ul>{items}</ul>")


def _headlines(report: Report) -> Iterator[tuple[str, str]]:
    yield from request_headlines(report) if report.requests else _evidence_headlines(report)
    yield from amount_headlines(report)
    if report.latency:
        whole = report.latency[0]
        yield f"{whole.p50:.1f} ms", f"median answer; p99 {whole.p99:.1f} ms"
        yield f"{100 * whole.levels[0]:.1f} %", "of answers with every source"
    if report.reuse is not None:
        yield f"{100 * report.reuse.share:.1f} %", "of the prompts could come from a prefix cache"


def _evidence_headlines(report: Report) -> Iterator[tuple[str, str]]:
    near = nearest_budget(report.run.budgets)
    for name, label in (("fraction", "of the evidence"), ("every", "of questions have all of it")):
        estimate = report.figure(name, near)
        yield f"{100 * estimate.mean:.1f} %", f"{label} within {near:,} tokens"


def _metrics(report: Report, metrics: Sequence[Metric], columns: Sequence[int]) -> str:
    lines = []
    for metric in metrics:
        for clock in report.run.clocks:
            cells = [_cell(report, metric, column, clock) for column in columns]
            if any(cells):
                lines.append([text(metric.label), text(clock), *cells])
    return rows(["", "asked at", *(f"{column:,}" for column in columns)], lines, words=(0, 1))


def _cell(report: Report, metric: Metric, budget_or_k: int, clock: str, category: str = "") -> str:
    try:
        estimate = report.figure(metric.name, budget_or_k, clock=clock, category=category)
    except KeyError:
        return ""
    return cell(
        shown(metric, estimate.mean),
        "" if metric.unit == "tokens" else spread(metric, estimate.mean, estimate.low, estimate.high),
    )


def _small(report: Report, category: str) -> str:
    count = report.figure("fraction", report.run.budgets[0], category=category).count
    curves = [
        curve(report, "fraction", "all questions", "q", dashed=True),
        curve(report, "fraction", category, "a", category=category, band=True),
    ]
    drawn = chart(curves, says=f"recall against tokens, {category}", width=300, height=190, small=True)
    return figure(drawn, category, f"{count:,} questions; dashed: all")


def _by_category(report: Report) -> str:
    run = report.run
    lines = []
    for category in report.categories:
        for metric in WITHIN[:2]:
            cells = [_cell(report, metric, budget, run.clocks[0], category) for budget in run.budgets]
            lines.append([text(category), text(metric.label), *cells])
    return rows(["", "", *(f"{budget:,}" for budget in run.budgets)], lines, words=(0, 1))


def _latency(report: Report) -> str:
    whole = report.latency[0]
    tones = ("var(--c)", "var(--a)", "var(--b)", "var(--bad)")
    bar = "".join(
        f'<i style="width:{100 * share:.2f}%;background:{tone}"></i>' for share, tone in zip(whole.levels, tones, strict=True)
    )
    lines = []
    for latency in report.latency:
        label = text(latency.category) or (f"stage {text(latency.stage)}" if latency.stage else "an answer")
        times = [f"{value:.1f}" for value in (latency.p50, latency.p95, latency.p99)]
        lines.append([label, f"{latency.count:,}", *times, text(levels(latency.levels)) if latency.levels else ""])
    table = rows(["milliseconds", "answers", "p50", "p95", "p99", "level"], lines, words=(0, 5))
    return f'<p>{text(levels(whole.levels))}</p><div class="bar">{bar}</div>{table}'
