"""Choose: which lines stand in a profile of so many tokens, and why the others don't (PERSON-1). Pure.

Standing instructions come first; what holds about the person comes after them, by worth per token. Two lines never say the
same: of those the newer one stands.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from math import log
from typing import Literal, NamedTuple

from germane.text.analyse import stem_set
from germane.text.fifo_cache import FifoCache
from germane.types.profile_line import ABOUT, INSTRUCTION, ProfileLine, replaced_by

__all__ = ["ChosenLines", "LineReason", "UnchosenLine", "choose_lines", "said_by"]

LineReason = Literal["budget", "duplicate"]
_PER_TOKEN = 0.7
"""Lines of one kind are taken by ln(worth) − 0.7 ln(tokens), as items are packed."""
_SAME = 0.6
"""The share of the stems of two lines that both have when they say the same."""
_INSIDE = 0.85
"""The share of the shorter line's stems that the longer one has then."""
_MIN_STEMS = 3
_FOUND, _ABOUT = 0.6, 0.4
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
    """Chooses among `lines` what stands within `budget` tokens; `cost` returns the tokens of a line as written."""
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
    other words. What is pinned, or was said again later, isn't among them."""
    if not those or not lines:
        return []
    marked = _Sayings()
    for line in those:
        marked.add(_said(line))
    replaced = replaced_by(those)
    others = [_said(line) for line in lines if not line.pinned]

    def is_said(one: _Said) -> bool:
        return one.line.id in replaced or any(each.line.said_at >= one.line.said_at for each in marked.saying(one))

    return [one.line for one in others if is_said(one)]


class _Said(NamedTuple):
    """What a line says: its stems, as numbers."""

    line: ProfileLine
    stems: frozenset[int]
    core: frozenset[int]


class _Sayings:
    """Lines, of which those are compared with another one that share a stem or a message with it."""

    def __init__(self) -> None:
        self.lines: list[_Said] = []
        self._with_stem = defaultdict[int, list[int]](list)
        self._of_message = defaultdict[str, list[int]](list)

    def add(self, said: _Said) -> None:
        place = len(self.lines)
        self.lines.append(said)
        for stem in said.stems:
            self._with_stem[stem].append(place)
        if said.line.origin:
            self._of_message[said.line.origin].append(place)

    def saying(self, other: _Said) -> Iterator[_Said]:
        """Yields the lines with which a prompt needs the other no more."""
        for place in self._of_message.get(other.line.origin, ()):
            if other.core <= self.lines[place].stems:
                yield self.lines[place]
        shared = Counter(chain.from_iterable(self._with_stem.get(stem, ()) for stem in other.stems))
        for place, both in shared.items():
            one = self.lines[place]
            if one.line.kind == other.line.kind and _same(both, len(one.stems), len(other.stems)):
                yield one


def _each_once(lines: Sequence[ProfileLine]) -> tuple[list[ProfileLine], list[UnchosenLine]]:
    """The lines, newest first, without those in whose place another one stands, and those that a pinned or a newer one says; of
    the lines of one message the longer first."""
    kept, others = _Sayings(), list[UnchosenLine]()
    replaced = replaced_by(lines)
    for line in sorted(lines, key=lambda line: (not line.pinned, -line.said_at.timestamp(), -len(line.text), line.id)):
        said = _said(line)
        if line.id in replaced or any(True for _ in kept.saying(said)):
            others.append(UnchosenLine(line, "duplicate"))
        else:
            kept.add(said)
    return [one.line for one in kept.lines], others


_STEMS: FifoCache[tuple[str, int], frozenset[int]] = FifoCache(1 << 13)
"""By the line's id and its text's hash. No text is kept."""


def _said(line: ProfileLine) -> _Said:
    stems = _stems(line.id, line.text)
    same = not line.core or line.core == line.text
    return _Said(line, stems, stems if same else _stems(line.id, line.core))


def _stems(id: str, text: str) -> frozenset[int]:
    key = id, hash(text)
    known = _STEMS.get(key)
    if known is None:
        known = stem_set(text)
        _STEMS.keep(key, known)
    return known


def _same(both: int, one: int, other: int) -> bool:
    """Whether two lines of so many stems, of which they share `both`, say the same."""
    shorter = min(one, other)
    return both >= _SAME * (one + other - both) or (shorter >= _MIN_STEMS and both >= _INSIDE * shorter)


def _order(line: ProfileLine, tokens: int) -> float:
    return _PER_TOKEN * log(tokens + 2) - log(line.worth)
