"""Request page: the part of a page about a person's requests: figures, curves by category, and every miss with its texts."""

from __future__ import annotations

from collections.abc import Iterator

from germane.cli.evaluation.html_parts import details, figure, rows, text
from germane.cli.evaluation.request_tables import HEADS, cells, found_within, misses
from germane.cli.evaluation.svg_chart import Curve, Point, chart
from germane.cli.evaluation.wording import percent, talks
from germane.evaluate.everyday.talk import OPEN, RequestAnswer
from germane.evaluate.report import Report

__all__ = ["found_curve", "request_headlines", "request_misses", "request_sections"]


def request_headlines(report: Report) -> Iterator[tuple[str, str]]:
    """Large figures, each with its label."""
    if (whole := report.request()) is not None:
        yield f"{percent(whole.found)} %", f"of {whole.count:,} requests are found, {whole.standing:,.0f} tokens in the prompt"
        yield f"{whole.new:,.0f} tokens", f"new a turn, {whole.searched:,.0f} of them beyond what always stands"
        yield f"{percent(whole.alone)} %", "were shown outdated text alone"
    for name in _needless(report):
        if (needless := report.request(name)) is not None:
            share = f"{percent(needless.searched_items)} %"
            yield share, f"of {name} got items beyond what always stands, {needless.searched:,.0f} new tokens a turn"


def request_sections(report: Report) -> Iterator[str]:
    """Figures by category and by person, and where there are budgets a curve for each category."""
    yield f"<h2>Requests</h2><p>{text(talks(report.run))}. Percent of the requests, tokens a turn.</p>"
    yield _figures(report, "category")
    if report.run.budgets:
        yield "<h2>Found within a budget</h2>"
        drawn = chart([found_curve(report, "", "all requests", "a", band=True)], says="found against tokens")
        yield figure(
            drawn, "Percent of the requests of which all that is needed is shown, against tokens of all the added text."
        )
        names = [name for name in _categories(report) if name not in _needless(report)]
        yield f'<div class="many">{"".join(_small(report, name) for name in names)}</div>'
        heads = [f"{budget:,}" for budget in report.run.budgets]
        yield rows(["", *heads], ([text(name) or "all", *found_within(report, name)] for name in ("", *names)))
    yield details("By person", _figures(report, "person"))


def request_misses(report: Report) -> str:
    """A section with every miss; empty where there is none."""
    missed = misses(report)
    if not missed:
        return ""
    return details(f"{len(missed):,} misses", "".join(map(_card, missed)))


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


def _small(report: Report, name: str) -> str:
    curves = [found_curve(report, "", "all requests", "q", dashed=True), found_curve(report, name, name, "a", band=True)]
    one = report.request(name)
    drawn = chart(curves, says=f"found against tokens, {name}", width=300, height=190, small=True)
    return figure(drawn, name, f"{one.count if one else 0:,} requests; dashed: all")


def _card(answer: RequestAnswer) -> str:
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
