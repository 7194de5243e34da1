"""Choose: which lines stand in a profile of so many tokens, and why the others don't (PERSON-1). Pure.

Standing instructions come first; what holds about the person comes after them, by worth per token. Two lines never say the
same: of those the newer one stands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log
from typing import Literal, NamedTuple

from germane.text.analyse import analyse
from germane.types.profile_line import ABOUT, INSTRUCTION, ProfileLine

__all__ = ["ChosenLines", "LineReason", "UnchosenLine", "choose_lines", "said_by"]

LineReason = Literal["budget", "duplicate"]
_PER_TOKEN = 0.7
"""Lines of one kind are taken by ln(worth) − 0.7 ln(tokens), as items are packed."""
_SAME = 0.6
"""The share of the stems of two lines that both have when they say the same."""
_INSIDE = 0.85
"""The share of the shorter line's stems that the longer one has then."""
_MIN_STEMS = 3
_FOUND, _ABOUT = 0.7, 0.25
"""The shares of the budget that instructions may take which were found in messages, and that may be taken by what holds about
the person and was found there: a search finds most of that when it is asked for. What was stated on purpose has no such
limit."""


class UnchosenLine(NamedTuple):
    line: ProfileLine
    reason: LineReason
    tokens: int = 0


class ChosenLines(NamedTuple):
    """The lines that stand, the first to be chosen first, each with its tokens; and the others."""

    lines: tuple[tuple[ProfileLine, int], ...]
    others: tuple[UnchosenLine, ...]

    @property
    def tokens(self) -> int:
        return sum(tokens for _, tokens in self.lines)


def choose_lines(lines: Sequence[ProfileLine], budget: int, cost: Callable[[ProfileLine], int]) -> ChosenLines:
    """Chooses among `lines` what stands within `budget` tokens; `cost` returns the tokens of a line as written. Compares each
    pair of lines, so give it some hundred at most."""
    kept, others = _each_once(lines)
    priced = [(line, cost(line)) for line in kept]
    priced.sort(
        key=lambda pair: (not pair[0].pinned, pair[0].kind != INSTRUCTION, _order(*pair))
    )  # stable: the newer one first
    chosen, left = list[tuple[ProfileLine, int]](), budget
    shares = {INSTRUCTION: int(_FOUND * budget), ABOUT: int(_ABOUT * budget)}
    for line, tokens in priced:
        found = not (line.stated or line.pinned)
        if tokens > left or (found and tokens > shares[line.kind]):
            others.append(UnchosenLine(line, "budget", tokens))
            continue
        chosen.append((line, tokens))
        left -= tokens
        if found:
            shares[line.kind] -= tokens
    return ChosenLines(tuple(chosen), tuple(others))


def said_by(those: Sequence[ProfileLine], lines: Sequence[ProfileLine]) -> list[ProfileLine]:
    """Returns the `lines` that say what one of `those` says, such as a hidden one: nobody who hides a line wants it back in
    other words. What is pinned, or was said again later, isn't among them. Compares each pair, as `choose_lines` does."""
    if not those or not lines:
        return []
    marked = [_said(line) for line in those]
    others = [_said(line) for line in lines if not line.pinned]
    return [one.line for one in others if any(each.line.said_at >= one.line.said_at and each.says(one) for each in marked)]


class _Said(NamedTuple):
    line: ProfileLine
    stems: frozenset[str]
    core: frozenset[str]

    def says(self, other: _Said) -> bool:
        """Whether a prompt with this line needs the other no more."""
        if self.line.origin and self.line.origin == other.line.origin and other.core <= self.stems:
            return True
        return self.line.kind == other.line.kind and _same(self.stems, other.stems)


def _each_once(lines: Sequence[ProfileLine]) -> tuple[list[ProfileLine], list[UnchosenLine]]:
    """The lines, newest first, without those that a pinned or a newer one says; of the lines of one message the longer
    first."""
    kept, others = list[_Said](), list[UnchosenLine]()
    for line in sorted(lines, key=lambda line: (not line.pinned, -line.said_at.timestamp(), -len(line.text), line.id)):
        said = _said(line)
        if any(one.says(said) for one in kept):
            others.append(UnchosenLine(line, "duplicate"))
        else:
            kept.append(said)
    return [one.line for one in kept], others


def _said(line: ProfileLine) -> _Said:
    return _Said(line, frozenset(analyse(line.text)), frozenset(analyse(line.core or line.text)))


def _same(one: frozenset[str], other: frozenset[str]) -> bool:
    both = len(one & other)
    if not both:
        return False
    shorter = min(len(one), len(other))
    return both >= _SAME * len(one | other) or (shorter >= _MIN_STEMS and both >= _INSIDE * shorter)


def _order(line: ProfileLine, tokens: int) -> float:
    return _PER_TOKEN * log(tokens + 2) - log(line.worth)
