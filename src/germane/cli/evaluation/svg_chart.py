"""SVG chart: draws curves over token budgets as SVG, so that a page needs no other file and no script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import log

__all__ = ["Curve", "Point", "chart"]

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
