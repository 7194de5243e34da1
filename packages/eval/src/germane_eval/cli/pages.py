"""Pages: an evaluation, or two side by side, as one HTML page: recall against tokens, intervals, tables, latency."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from germane_eval.answers import Answered, fraction_within, nearest_budget
from germane_eval.cli.result_files import Curve, Point, cell, chart, details, document, figure, pairs, rows, text, tiles
from germane_eval.cli.tables import HEADS, REQUEST_TERMS, amount_summary, cells, found_within, missed_requests
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
    reuse_advice,
    reused,
    run_lines,
    spread,
    talks,
    with_effort,
    within,
    without_need,
)
from germane_eval.everyday import OPEN, RequestAnswer
from germane_eval.metrics import AT, WITHIN, Metric
from germane_eval.report import Comparison, Difference, Report


def report_page(reports: Sequence[Report]) -> str:
    """Returns a page with all reports, one below the other."""
    title = f"germane on {', '.join(report.run.dataset for report in reports)}"
    return document(title, f"<h1>{text(title)}</h1>" + "<hr>".join("".join(_report_sections(report)) for report in reports))


def _report_sections(report: Report) -> Iterator[str]:
    run = report.run
    yield pairs(run_lines(run))
    yield tiles(_report_headlines(report))
    yield from request_sections(report) if report.requests else _evidence_sections(report)
    yield from amount_sections(report)
    if report.answered:
        yield "<h2>Among the k that rank highest</h2>"
        yield _report_metrics(report, AT, run.ks)
    if report.latency:
        yield f"<h2>Latency under a deadline of {1000 * run.latency_deadline:.0f} ms</h2>"
        yield _latency(report)
    if report.reuse is not None:
        yield f"<h2>Prefix reuse</h2><p>{text(reused(report.reuse))}.</p>"
        if advice := reuse_advice(report.reuse):
            yield f"<p>{text(advice)}</p>"
    intervals = resampling(run.resampled, run.conversations)
    yield curve_reading(intervals, REQUEST_TERMS if report.requests else [(one.label, one.says) for one in WITHIN])
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
    yield _report_metrics(report, WITHIN, run.budgets)
    if report.categories:
        yield "<h2>By category</h2>"
        yield f'<div class="many">{"".join(_category_curve(report, category) for category in report.categories)}</div>'
        yield _report_by_category(report)


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


def curve_reading(intervals: str, terms: Iterable[tuple[str, str]]) -> str:
    """A section that explains the figures, each by its name, and the intervals."""
    items = "".join(f"<li><b>{text(name)}</b>: {text(says)}.</li>" for name, says in terms)
    return details("How to read this", f"<p>{text(intervals)}.</p><ul>{items}</ul>")


def _report_headlines(report: Report) -> Iterator[tuple[str, str]]:
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


def _report_metrics(report: Report, metrics: Sequence[Metric], columns: Sequence[int]) -> str:
    lines = []
    for metric in metrics:
        for clock in report.run.clocks:
            cells = [_report_cell(report, metric, column, clock) for column in columns]
            if any(cells):
                lines.append([text(metric.label), text(clock), *cells])
    return rows(["", "asked at", *(f"{column:,}" for column in columns)], lines, words=(0, 1))


def _report_cell(report: Report, metric: Metric, budget_or_k: int, clock: str, category: str = "") -> str:
    try:
        estimate = report.figure(metric.name, budget_or_k, clock=clock, category=category)
    except KeyError:
        return ""
    return cell(
        formatted(metric, estimate.mean),
        "" if metric.unit == "tokens" else spread(metric, estimate.mean, estimate.low, estimate.high),
    )


def _category_curve(report: Report, category: str) -> str:
    count = report.figure("fraction", report.run.budgets[0], category=category).count
    curves = [
        curve(report, "fraction", "all questions", "q", dashed=True),
        curve(report, "fraction", category, "a", category=category, band=True),
    ]
    drawn = chart(curves, says=f"recall against tokens, {category}", width=300, height=190, small=True)
    return figure(drawn, category, f"{count:,} questions; dashed: all")


def _report_by_category(report: Report) -> str:
    run = report.run
    lines = []
    for category in report.categories:
        for metric in WITHIN[:2]:
            cells = [_report_cell(report, metric, budget, run.clocks[0], category) for budget in run.budgets]
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


# The part of a page about what is added without a budget, and what turns without need get.


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


# The part of a page about a person's requests: figures, curves by category, and every miss with its texts.


def request_headlines(report: Report) -> Iterator[tuple[str, str]]:
    """Large figures, each with its label."""
    if (whole := report.request()) is not None:
        yield f"{percent(whole.found)} %", f"of {whole.count:,} requests are found, {whole.standing:,.0f} tokens in the prompt"
        yield f"{whole.new:,.0f} tokens", f"new a turn, {whole.searched:,.0f} of them beyond what always stands"
        yield f"{percent(whole.alone)} %", "were shown outdated text alone"
    for name in _needless(report):
        if (needless := report.request(name)) is not None:
            share = f"{percent(needless.searched_items)} %"
            yield share, f"of {name} got items beyond what always stands, {needless.searched:,.0f} new tokens per turn"


def request_sections(report: Report) -> Iterator[str]:
    """Figures by category and by person, and where there are budgets a curve for each category."""
    yield f"<h2>Requests</h2><p>{text(talks(report.run))}. Percent of the requests, tokens per turn.</p>"
    yield _figures(report, "category")
    if report.run.budgets:
        yield "<h2>Found within a budget</h2>"
        drawn = chart([found_curve(report, "", "all requests", "a", band=True)], says="found against tokens")
        yield figure(
            drawn, "Percent of the requests of which all that is needed is shown, against tokens of all the added text."
        )
        names = [name for name in _categories(report) if name not in _needless(report)]
        yield f'<div class="many">{"".join(_category_found_curve(report, name) for name in names)}</div>'
        heads = [f"{budget:,}" for budget in report.run.budgets]
        yield rows(["", *heads], ([text(name) or "all", *found_within(report, name)] for name in ("", *names)))
    yield details("By person", _figures(report, "person"))


def request_misses(report: Report) -> str:
    """A section with every miss; empty where there is none."""
    missed = missed_requests(report)
    if not missed:
        return ""
    return details(f"{len(missed):,} misses", "".join(map(_request_card, missed)))


def _figures(report: Report, by: str) -> str:
    listed = [one for one in report.requests if one.by in ("all", by) and one.budget == OPEN]
    return rows([by, *HEADS], ([text(one.name) or "all", *map(text, cells(one))] for one in listed))


def _categories(report: Report) -> list[str]:
    return [one.name for one in report.requests if one.by == "category" and one.budget == OPEN]


def _needless(report: Report) -> list[str]:
    """The categories of requests that need nothing stored."""
    return [one.name for one in report.requests if one.by == "category" and one.budget == OPEN and one.found is None]


def found_curve(report: Report, name: str, label: str, tone: str, *, band: bool = False, dashed: bool = False) -> Curve:
    """The share of the requests of a category that is found, over the budgets; of all for an empty name."""
    points = [
        Point(budget=budget, mean=one.found, low=one.low, high=one.high)
        for budget in report.run.budgets
        if (one := report.request(name, budget=budget)) is not None and one.found is not None
    ]
    return Curve(name=label, points=points, tone=tone, band=band, dashed=dashed)


def _category_found_curve(report: Report, name: str) -> str:
    curves = [found_curve(report, "", "all requests", "q", dashed=True), found_curve(report, name, name, "a", band=True)]
    one = report.request(name)
    drawn = chart(curves, says=f"found against tokens, {name}", width=300, height=190, small=True)
    return figure(drawn, name, f"{one.count if one else 0:,} requests; dashed: all")


def _request_card(answer: RequestAnswer) -> str:
    why = "needs nothing stored" if answer.found is None else "found" if answer.found else "not found"
    outdated = "outdated text alone" if answer.alone else ""
    about = " · ".join(filter(None, (answer.category, why, outdated, f"{answer.standing:,} tokens", answer.id)))
    parts = [f"<h3>{text(answer.question)}</h3>", f'<p class="quiet">{text(about)}</p>']
    if answer.answer:
        parts.append(f"<p><b>Answer</b> {text(answer.answer)}</p>")
    for one in answer.needed:
        parts.append(f"<p><b>Needed</b> {text(one.text)}</p>")
        parts += [f"<p><b>Shown of it</b> {text(line)}</p>" for line in one.instead]
    if answer.shown:
        parts.append(f"<p><b>What was shown</b></p><ul>{''.join(f'<li>{text(one)}</li>' for one in answer.shown)}</ul>")
    return f'<article class="tile">{"".join(parts)}</article>'


# The questions without all of their evidence, each with what was missed and what was shown instead.


_MAX_MISSED = 50


def missed_section(report: Report) -> str:
    """Returns a section that the reader can open, the worst questions first; empty where nothing was missed."""
    near = nearest_budget(report.run.budgets)
    answers = [answer for answer in report.answered if answer.clock == report.run.clocks[0]]
    fractions = [
        (fraction_within(packed.shares), answer) for answer in answers for packed in answer.shown if packed.budget == near
    ]
    missed = sorted((pair for pair in fractions if pair[0] < 1), key=lambda pair: pair[0])
    if not missed:
        return ""
    listed = "".join(_missed_card(share, answer) for share, answer in missed[:_MAX_MISSED])
    more = f", the {_MAX_MISSED} worst" if len(missed) > _MAX_MISSED else ""
    return details(f"{len(missed):,} questions without all of their evidence within {near:,} tokens{more}", listed)


def _missed_card(share: float, answer: Answered) -> str:
    ranks = ", ".join("–" if rank is None else str(rank) for rank in answer.ranks)
    about = " · ".join(filter(None, (f"{100 * share:.0f} % shown", f"ranks {ranks}", answer.category, answer.id)))
    parts = [f"<h3>{text(answer.question)}</h3>", f'<p class="quiet">{text(about)}</p>']
    parts += [f"<p><b>Missed</b> {text(one.text or one.id)}</p>" for one in answer.missed]
    if answer.missed and (instead := answer.missed[0].instead):
        items = "".join(f"<li>{text(one)}</li>" for one in instead)
        parts.append(f"<p><b>What stood there instead</b></p><ul>{items}</ul>")
    return f'<article class="tile">{"".join(parts)}</article>'


# Two evaluations side by side.


def comparison_page(comparisons: Sequence[Comparison]) -> str:
    """Returns a page with all comparisons, one below the other."""
    title = f"germane on {', '.join(comparison.a.run.dataset for comparison in comparisons)}: two compared"
    return document(
        title, f"<h1>{text(title)}</h1>" + "<hr>".join("".join(_comparison_sections(comparison)) for comparison in comparisons)
    )


def _comparison_sections(comparison: Comparison) -> Iterator[str]:
    lead = comparison.metrics[0]
    yield pairs(
        [
            (f"{side} {label}", value)
            for side, run in (("A", comparison.a.run), ("B", comparison.b.run))
            for label, value in run_lines(run)[:3]
        ]
    )
    if comparison.unmatched:
        yield f"<p>{comparison.unmatched:,} questions only one of them was asked are left out.</p>"
    yield tiles(_comparison_headlines(comparison))
    if curves := _curves(comparison):
        yield f"<h2>{text(lead.label.capitalize())} within a budget</h2>"
        caption = f"Percent against tokens of all the added text, asked at {clocked(comparison.clocks[0])}."
        yield figure(chart(curves, says="recall of A and B against tokens"), caption)
    yield "<h2>B − A</h2><p>Points of percent; in colour where the interval leaves no doubt of the sign.</p>"
    yield _comparison_metrics(comparison, comparison.metrics)
    if not comparison.a.requests:
        yield "<h3>Among the k that rank highest</h3>" + _comparison_metrics(comparison, AT)
    if len(comparison.by_category) > 1:
        yield f"<h2>By category, {within(comparison.budget)}</h2>" + _comparison_by_category(comparison)
    if told := [f"{side}: {text(line)}." for side, report in _sides(comparison) for line in amount_summary(report)]:
        yield f"<h2>Without a budget</h2><p>{'<br>'.join(told)}</p>"
    yield _speed(comparison)
    terms = [(metric.label, metric.says) for metric in comparison.metrics]
    yield curve_reading(resampling(comparison.resampled, comparison.a.run.conversations), terms)
    if comparison.changed:
        yield f"<h2>{len(comparison.changed):,} questions changed {within(comparison.budget)}</h2>" + _changed_questions(
            comparison
        )


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


def _comparison_headlines(comparison: Comparison) -> Iterator[tuple[str, str]]:
    for metric in comparison.metrics[:2]:
        try:
            difference = comparison.difference(metric.name, comparison.budget)
        except KeyError:
            continue
        off = spread(metric, difference.difference, difference.low, difference.high)
        yield (
            f"{formatted_difference(metric, difference.difference)} {off}",
            f"points, {metric.label} {within(comparison.budget)}",
        )
    improved = sum(difference.b > difference.a for difference in comparison.changed)
    yield f"{improved:,} / {len(comparison.changed) - improved:,}", "questions for the better / for the worse"


def _comparison_metrics(comparison: Comparison, metrics: Sequence[Metric]) -> str:
    names = {metric.name for metric in metrics}
    columns = sorted({difference.at for difference in comparison.differences if difference.metric in names})
    overall = [difference for difference in comparison.differences if not difference.category]
    known = {(difference.clock, difference.metric, difference.at): difference for difference in overall}
    lines = []
    for metric in metrics:
        for clock in comparison.clocks:
            cells = [_comparison_cell(metric, known.get((clock, metric.name, column))) for column in columns]
            if any(cells):
                lines.append([text(metric.label), text(clock), *cells])
    return rows(["", "asked at", *map(budget_head, columns)], lines, words=(0, 1))


def _comparison_cell(metric: Metric, difference: Difference | None) -> str:
    if difference is None:
        return ""
    tone = ""
    if difference.sure and metric.better is not None:
        tone = "good" if (difference.difference > 0) == (metric.better == "more") else "bad"
    return cell(
        formatted_difference(metric, difference.difference),
        spread(metric, difference.difference, difference.low, difference.high),
        tone,
    )


def _comparison_by_category(comparison: Comparison) -> str:
    lead, lines = comparison.metrics[0], []
    for difference in comparison.by_category:
        a, b = formatted(lead, difference.a), formatted(lead, difference.b)
        lines.append([text(difference.category) or "all", f"{difference.count:,}", a, b, _comparison_cell(lead, difference)])
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


def _changed_questions(comparison: Comparison) -> str:
    lead = comparison.metrics[0]
    lines = (
        [formatted(lead, change.a), formatted(lead, change.b), text(change.question), text(change.category), text(change.id)]
        for change in comparison.changed
    )
    return rows(["A", "B", "question", "category", "id"], lines, words=(2, 3, 4))
