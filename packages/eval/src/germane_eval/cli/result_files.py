"""Result files: evaluations and comparisons as JSON files, and the elements, chart and style of HTML pages.

A JSON file holds the questions and the result of each, but no messages: keep it as private as the questions. A page needs
no other file and no script.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import log
from pathlib import Path
from typing import Any

from germane.cli.files import read_json, write_text
from germane.cli.screen import plain, printable_json
from germane.errors import InvalidInput
from germane.types.codec import decode, encode
from germane_eval.report import Comparison, Report

VERSION = 1
MARK = '<meta name="generator" content="germane eval">'
"""Marks a page that germane wrote: only such a page may be overwritten."""

_REPORTS, _COMPARISONS = "germane-evaluation", "germane-comparison"


def report_shape(reports: Sequence[Report]) -> dict[str, Any]:
    """The JSON document of one evaluation, with a report for each data set."""
    return {"format": _REPORTS, "version": VERSION, "reports": [encode(report) for report in reports]}


def comparison_shape(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """The JSON document of a comparison, one for each data set."""
    return {"format": _COMPARISONS, "version": VERSION, "comparisons": [encode(comparison) for comparison in comparisons]}


def save(path: Path, shape: Mapping[str, Any]) -> None:
    """Write a document. Raises `InvalidInput` where the file can't be written."""
    write_text(path, printable_json(shape, indent=None) + "\n")


def load_reports(path: str) -> list[Report]:
    """Read a file that `germane eval DATA --json PATH` wrote. Raises `InvalidInput`, which says what is wrong with it."""
    document = read_json(path)
    kind = document.get("format") if isinstance(document, Mapping) else None
    if not isinstance(document, Mapping) or kind != _REPORTS:
        why = "a comparison, not one evaluation" if kind == _COMPARISONS else "no saved evaluation"
        raise InvalidInput(f"{path} is {why} (write one with germane eval DATA --json FILE)")
    version = document.get("version")
    if version != VERSION or isinstance(version, bool):
        raise InvalidInput(
            f"{path} is an evaluation of version {repr(version)[:20]}; this germane reads version {VERSION} (measure again)"
        )
    reports = document.get("reports")
    if not isinstance(reports, list) or not reports:
        raise InvalidInput(f"{path}: has no reports (measure again)")
    try:
        return [decode(Report, report, f"report {number}") for number, report in enumerate(reports, start=1)]
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None
    except RecursionError:
        raise InvalidInput(f"{path}: nested too deep") from None


def check_writable(option: str, path: Path) -> None:
    """Raise `InvalidInput` where `path` can't be written, or holds something else than an earlier result."""
    if path.is_dir():
        raise InvalidInput(f"{option} {path} is a directory (give a file in it)")
    if not path.absolute().parent.is_dir():
        raise InvalidInput(f"{option}: no directory {path.parent} (create it first)")
    if not path.exists():
        return
    try:
        with path.open("rb") as file:
            beginning = file.read(1000).decode("utf-8", "replace")
    except OSError as error:
        raise InvalidInput(f"{option} {path}: {error.strerror}") from None
    if (
        beginning.strip()
        and f'"{_REPORTS}"' not in beginning
        and f'"{_COMPARISONS}"' not in beginning
        and MARK not in beginning
    ):
        raise InvalidInput(f"{option} {path} is a file that germane eval didn't write (give another name, or delete it)")


# The elements that the pages consist of. Text from data is escaped here.


def text(given: str) -> str:
    """Returns `given` escaped: no tags, no characters that hide or reorder text."""
    return escape(plain(given))


def cell(value: str, beside: str = "", tone: str = "") -> str:
    """A figure, with smaller text beside it; `tone` is `good`, `bad` or empty."""
    inner = f'<span class="{tone}">{text(value)}</span>' if tone else text(value)
    return f"{inner} <small>{text(beside)}</small>" if beside else inner


def rows(heads: Sequence[str], lines: Iterable[Sequence[str]], words: Sequence[int] = (0,)) -> str:
    """A table. `heads` are plain text, cells are HTML; the columns with an index in `words` hold words, the others figures."""
    kind = [' class="text"' if index in words else "" for index in range(len(heads))]
    head = "".join(f"<th{kind[index]}>{text(name)}</th>" for index, name in enumerate(heads))
    body = "".join(
        "<tr>" + "".join(f"<td{kind[index]}>{content}</td>" for index, content in enumerate(line)) + "</tr>" for line in lines
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def pairs(listed: Iterable[tuple[str, str]]) -> str:
    """A list of labels, each with its text."""
    return "<dl>" + "".join(f"<dt>{text(label)}</dt><dd>{text(value)}</dd>" for label, value in listed) + "</dl>"


def tiles(listed: Iterable[tuple[str, str]]) -> str:
    """Large figures, each with its label."""
    return '<div class="tiles">' + "".join(f'<div class="tile"><b>{text(a)}</b>{text(b)}</div>' for a, b in listed) + "</div>"


def figure(drawn: str, caption: str, beside: str = "") -> str:
    """A drawing (HTML) with a caption, and smaller text beside the caption."""
    small = f" <small>{text(beside)}</small>" if beside else ""
    return f"<figure>{drawn}<figcaption>{text(caption)}{small}</figcaption></figure>"


def details(summary: str, inner: str) -> str:
    """A section that the reader can open; `inner` is HTML."""
    return f"<details><summary>{text(summary)}</summary>{inner}</details>"


def document(title: str, body: str) -> str:
    """A whole page that loads no other file."""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">{MARK}\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{text(title)}</title>'
        f"<style>{STYLE}</style></head>\n<body>{body}</body></html>\n"
    )


# Curves over token budgets as SVG.


_MIN_GAP = 36.0
"""The least distance between the labels of two budgets, in pixels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A share (0 to 1) at a budget (tokens); `low` and `high` are the ends of its confidence interval, if it has one."""

    budget: int
    mean: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """`tone` is a CSS class of `page_style`: a, b, c or q. `band` draws the confidence intervals."""

    name: str
    points: Sequence[Point]
    tone: str = "a"
    dashed: bool = False
    band: bool = False


def chart(curves: Sequence[Curve], *, says: str, width: int = 760, height: int = 340, small: bool = False) -> str:
    """Returns an SVG element: percent against tokens on a logarithmic scale; empty without points. `says` describes it.

    The vertical axis starts a little below the curves. A `small` chart starts at 0, so that several can be compared, and has no
    names at the ends of the curves."""
    if not any(curve.points for curve in curves):
        return ""
    frame = _Frame.around(curves, width, height, small)
    parts = [f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(says)}">']
    parts += frame.grid()
    parts += [frame.band(curve) for curve in curves if curve.band]
    parts += [frame.line(curve) for curve in curves]
    parts += [dot for curve in curves for dot in frame.dots(curve)]
    if not small:
        parts += frame.names(curves)
    return "".join([*parts, "</svg>"])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """The axes of a chart: positions in pixels, and the lowest share (`floor`)."""

    budgets: Sequence[int]
    floor: float
    left: float
    right: float
    top: float
    bottom: float

    @classmethod
    def around(cls, curves: Sequence[Curve], width: int, height: int, small: bool) -> _Frame:
        points = [(point, curve.band) for curve in curves for point in curve.points]
        lowest = min(point.low if band and point.low is not None else point.mean for point, band in points)
        floor = 0.0 if small else max(0.0, int(lowest * 10) / 10)
        right = width - (10 if small else 150)
        return cls(
            budgets=sorted({point.budget for point, _ in points}),
            floor=min(floor, 0.9),
            left=38,
            right=right,
            top=10,
            bottom=height - 24,
        )

    def x(self, budget: int) -> float:
        first, last = self.budgets[0], self.budgets[-1]
        if first == last:
            return (self.left + self.right) / 2
        return self.left + (self.right - self.left) * log(budget / first) / log(last / first)

    def y(self, share: float) -> float:
        return self.bottom - (self.bottom - self.top) * (share - self.floor) / (1 - self.floor)

    def grid(self) -> list[str]:
        parts = []
        tenths = round((1 - self.floor) * 10)
        step = 1 if tenths <= 5 else 2
        for tenth in range(10, round(self.floor * 10) - 1, -step):
            y = self.y(tenth / 10)
            parts.append(f'<line class="grid" x1="{self.left}" x2="{self.right}" y1="{y:.1f}" y2="{y:.1f}"/>')
            parts.append(f'<text x="{self.left - 6}" y="{y + 4:.1f}" text-anchor="end">{10 * tenth}</text>')
        last_label = -_MIN_GAP
        for index, budget in enumerate(self.budgets):
            if self.x(budget) - last_label < _MIN_GAP:
                continue
            last_label = self.x(budget)
            anchor = "middle" if 0 < index < len(self.budgets) - 1 or len(self.budgets) == 1 else "end" if index else "start"
            parts.append(f'<text x="{self.x(budget):.1f}" y="{self.bottom + 18}" text-anchor="{anchor}">{budget:,}</text>')
        return parts

    def line(self, curve: Curve) -> str:
        places = " ".join(f"{self.x(point.budget):.1f},{self.y(point.mean):.1f}" for point in curve.points)
        return f'<polyline class="line {curve.tone}{" dash" if curve.dashed else ""}" points="{places}"/>'

    def band(self, curve: Curve) -> str:
        known = [
            (point.budget, point.low, point.high) for point in curve.points if point.low is not None and point.high is not None
        ]
        upper = [f"{self.x(budget):.1f},{self.y(high):.1f}" for budget, _, high in known]
        lower = [f"{self.x(budget):.1f},{self.y(low):.1f}" for budget, low, _ in reversed(known)]
        return f'<polygon class="band {curve.tone}" points="{" ".join(upper + lower)}"/>' if known else ""

    def dots(self, curve: Curve) -> list[str]:
        """A dot for each point; its tooltip shows the figures."""
        parts = []
        for point in curve.points:
            between = "" if point.low is None or point.high is None else f" ({100 * point.low:.1f} to {100 * point.high:.1f})"
            tooltip = escape(f"{curve.name}: {100 * point.mean:.1f} %{between} within {point.budget:,} tokens")
            place = f'cx="{self.x(point.budget):.1f}" cy="{self.y(point.mean):.1f}"'
            parts.append(f'<circle class="{curve.tone}" {place} r="3"><title>{tooltip}</title></circle>')
        return parts

    def names(self, curves: Sequence[Curve]) -> list[str]:
        """The names at the right ends of the curves, moved down where they would overlap."""
        ends = sorted((self.y(curve.points[-1].mean), number, curve) for number, curve in enumerate(curves) if curve.points)
        parts, above = [], -100.0
        for y, _, curve in ends:
            above = max(y + 4, above + 15)
            parts.append(f'<text class="{curve.tone}" x="{self.right + 10}" y="{above:.1f}">{escape(curve.name)}</text>')
        return parts


# The CSS of the HTML pages, with all their colours, for light, dark and print.


STYLE = """
:root { color-scheme: light dark; --ground: #fdfdfc; --raised: #f4f3f0; --ink: #1d1c1a; --quiet: #63605a; --rule: #d9d6cf;
  --a: #1f6fc4; --b: #c2541b; --c: #2c7d54; --good: #1f7a4a; --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #171716; --raised: #222120; --ink: #eceae6; --quiet: #a5a199; --rule: #3b3936;
    --a: #6cb0f5; --b: #f0935a; --c: #6cc795; --good: #6cc795; --bad: #f28b82; } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 66rem; padding: 2rem 1.25rem 4rem; background: var(--ground); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif }
h1 { font-size: 1.6rem; margin: 0 0 .25rem } h2 { font-size: 1.15rem; margin: 2.5rem 0 .5rem } h3 { font-size: 1rem }
p, dl, ul { max-width: 46rem } .quiet, figcaption { color: var(--quiet) } a { color: var(--a) }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .75rem 0 }
dt { color: var(--quiet) } dd { margin: 0 }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); gap: .75rem; margin: 1.25rem 0 }
.tile { background: var(--raised); border-radius: .5rem; padding: .8rem 1rem }
.tile b { display: block; font-size: 1.6rem; font-weight: 600; line-height: 1.2 }
.scroll { overflow-x: auto } table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .5rem 0 }
th, td { text-align: right; padding: .22rem .7rem; border-bottom: 1px solid var(--rule); white-space: nowrap }
th { font-weight: 600; color: var(--quiet) } .text { text-align: left; white-space: normal } td small { color: var(--quiet) }
.good { color: var(--good) } .bad { color: var(--bad) }
figure { margin: 1rem 0 } svg { display: block; width: 100%; height: auto; font: 12px system-ui, sans-serif }
.many { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: 1rem } .many figure { margin: 0 }
.many figcaption { font-weight: 600; color: var(--ink) } .many small { font-weight: 400; color: var(--quiet) }
svg .grid { stroke: var(--rule); stroke-width: 1 } svg text { fill: var(--quiet) }
svg .line { fill: none; stroke-width: 2; stroke-linejoin: round }
svg .band { stroke: none; opacity: .16 } svg .dash { stroke-dasharray: 5 4 }
svg .a { stroke: var(--a); fill: var(--a) } svg .b { stroke: var(--b); fill: var(--b) }
svg .c { stroke: var(--c); fill: var(--c) }
svg .q { stroke: var(--quiet); fill: var(--quiet) } svg .line.a, svg .line.b, svg .line.c, svg .line.q { fill: none }
svg text.a, svg text.b, svg text.c, svg text.q { stroke: none; font-weight: 600 }
.bar { display: flex; height: 1.1rem; border-radius: .3rem; overflow: hidden; max-width: 46rem; background: var(--raised) }
.bar i { display: block } details { margin: 1rem 0 } summary { cursor: pointer }
article { margin: .75rem 0; overflow-wrap: anywhere } article h3 { margin: 0 } article p { margin: .3rem 0 }
article.tile b { display: inline; font-size: 1rem }
@media (max-width: 40rem) { body { padding: 1rem .75rem 3rem } h1 { font-size: 1.3rem; overflow-wrap: anywhere }
  dl { grid-template-columns: 1fr } dt { margin-top: .4rem } th, td { padding: .2rem .4rem }
  figure { overflow-x: auto } figure svg { min-width: 34rem } .many svg { min-width: 0 }
  .many { grid-template-columns: 1fr } .tiles { grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)) }
  .tile b { font-size: 1.3rem } ul { padding-left: 1.2rem } }
@media print { body { max-width: none } details { display: none } }
"""
"""The classes `a`, `b` and `c` are the series of a chart, `q` is the reference series."""
