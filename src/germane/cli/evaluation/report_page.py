"""Report page: an evaluation as one HTML page: curves of recall against tokens, intervals, tables, latency."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from germane.cli.evaluation.html_parts import cell, details, document, figure, pairs, rows, text, tiles
from germane.cli.evaluation.svg_chart import Curve, Point, chart
from germane.cli.evaluation.wording import about, clocked, levels, resampling, reused, shown, spread
from germane.evaluate.metric import AT, WITHIN, Metric
from germane.evaluate.recall import fraction_within
from germane.evaluate.report import Report

__all__ = ["curve", "reading", "report_page"]

_MAX_MISSED = 50


def report_page(reports: Sequence[Report]) -> str:
    """Returns a page with all reports, one below the other."""
    title = f"germane on {', '.join(report.run.dataset for report in reports)}"
    return document(title, f"<h1>{text(title)}</h1>" + "<hr>".join("".join(_sections(report)) for report in reports))


def _sections(report: Report) -> Iterator[str]:
    run = report.run
    yield pairs(about(run))
    yield tiles(_headlines(report))
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
    yield "<h2>Among the k that rank highest</h2>"
    yield _metrics(report, AT, run.ks)
    if report.latency:
        yield f"<h2>Latency under a deadline of {1000 * run.latency_deadline:.0f} ms</h2>"
        yield _latency(report)
    if report.reuse is not None:
        yield f"<h2>Prefix reuse</h2><p>{text(reused(report.reuse))}.</p>"
    yield reading(resampling(run.resampled, run.conversations))
    yield _missed(report)
    if run.dropped:
        listed = rows(["where", "why"], ([text(one.where), text(one.reason)] for one in run.dropped), words=(0, 1))
        yield details(f"{len(run.dropped):,} labels and questions left out", listed)


def curve(
    report: Report, metric: str, name: str, tone: str, *, category: str = "", band: bool = False, dashed: bool = False
) -> Curve:
    """The curve of a metric over the budgets, at the first clock."""
    points = []
    for budget in report.run.budgets:
        try:
            found = report.figure(metric, budget, category=category)
        except KeyError:
            continue
        points.append(Point(budget=budget, mean=found.mean, low=found.low, high=found.high))
    return Curve(name=name, points=points, tone=tone, band=band, dashed=dashed)


def reading(intervals: str) -> str:
    """A section that explains the metrics and the intervals."""
    lines = "".join(f"<li><b>{text(one.label)}</b>: {text(one.says)}.</li>" for one in WITHIN)
    return details("How to read this", f"<p>{text(intervals)}.</p><ul>{lines}</ul>")


def _headlines(report: Report) -> Iterator[tuple[str, str]]:
    near = min(report.run.budgets, key=lambda budget: abs(budget - 1000))
    for name, told in (("fraction", "of the evidence"), ("every", "of questions have all of it")):
        found = report.figure(name, near)
        yield f"{100 * found.mean:.1f} %", f"{told} within {near:,} tokens"
    if report.latency:
        whole = report.latency[0]
        yield f"{whole.p50:.1f} ms", f"median answer; p99 {whole.p99:.1f} ms"
        yield f"{100 * whole.levels[0]:.1f} %", "of answers with every source"
    if report.reuse is not None:
        yield f"{100 * report.reuse.share:.1f} %", "of the prompts could come from a prefix cache"


def _metrics(report: Report, metrics: Sequence[Metric], columns: Sequence[int]) -> str:
    lines = []
    for metric in metrics:
        for clock in report.run.clocks:
            cells = [_cell(report, metric, column, clock) for column in columns]
            if any(cells):
                lines.append([text(metric.label), text(clock), *cells])
    return rows(["", "asked at", *(f"{column:,}" for column in columns)], lines, words=(0, 1))


def _cell(report: Report, metric: Metric, at: int, clock: str, category: str = "") -> str:
    try:
        found = report.figure(metric.name, at, clock=clock, category=category)
    except KeyError:
        return ""
    return cell(shown(metric, found.mean), "" if metric.unit == "tokens" else spread(metric, found.mean, found.low, found.high))


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
    for one in report.latency:
        label = text(one.category) or (f"stage {text(one.stage)}" if one.stage else "an answer")
        times = [f"{value:.1f}" for value in (one.p50, one.p95, one.p99)]
        lines.append([label, f"{one.count:,}", *times, text(levels(one.levels)) if one.levels else ""])
    table = rows(["milliseconds", "answers", "p50", "p95", "p99", "level"], lines, words=(0, 5))
    return f'<p>{text(levels(whole.levels))}</p><div class="bar">{bar}</div>{table}'


def _missed(report: Report) -> str:
    near = min(report.run.budgets, key=lambda budget: abs(budget - 1000))
    asked = [one for one in report.answered if one.clock == report.run.clocks[0]]
    found = [(fraction_within(shown.shares), one) for one in asked for shown in one.shown if shown.budget == near]
    missed = sorted((pair for pair in found if pair[0] < 1), key=lambda pair: pair[0])
    if not missed:
        return ""
    lines = []
    for share, one in missed[:_MAX_MISSED]:
        ranks = ", ".join("–" if rank is None else str(rank) for rank in one.ranks)
        lines.append([f"{100 * share:.0f}", text(ranks), text(one.question), text(one.category), text(one.id)])
    listed = rows(["percent", "ranks", "question", "category", "id"], lines, words=(1, 2, 3, 4))
    more = f", the {_MAX_MISSED} worst" if len(missed) > _MAX_MISSED else ""
    return details(f"{len(missed):,} questions without all of their evidence within {near:,} tokens{more}", listed)
