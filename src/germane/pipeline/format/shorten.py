"""Shorten: an excerpt of an item that is too big, around what matches the query (PACK-5).

Whole sentences where they fit, whole clauses or words where they don't, with `…` where something was left out. Only the text
is cut: ids, labels and provenance are none of its business.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, count

from germane.pipeline.format.graphemes import floor
from germane.text.analyse import analyse

__all__ = ["Excerpt", "Excerpts"]

Cost = Callable[[str], int]
Span = tuple[int, int]
Match = tuple[int, int, str]
"""From where to where a term stands, and its first letters: what begins alike counts as one."""

_MARK = "…"
_WORTH = 8
"""Tokens of text below which an excerpt says nothing."""
_BLOCK = 8_000
_RUN = 24
_HEAD = 4
_USUAL = 4
"""Characters a token, to begin the search where it likely ends."""
_GUESSES = 16
"""After so many guesses the search goes on by halves: a text whose beginning costs much and whose rest costs nothing would
otherwise be asked about word by word."""
_STEPS = (
    re.compile(r"[^.!?。！？।؟\n]++(?:[.!?。！？।؟\n]++[\"'”’»)\]]*\s*)?|[.!?。！？।؟\n]++[\"'”’»)\]]*\s*"),
    re.compile(r"[^,;:、，；：،—]++(?:[,;:、，；：،—]++\s*)?|[,;:、，；：،—]++\s*"),
    re.compile(r"\S++\s*|\s+"),
)
"""What is kept whole, from the largest to the smallest: sentences, clauses, words."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """`text` is what to show, before escaping; `share` is the part of the original's characters it keeps, in [0, 1]."""

    text: str
    share: float


class Excerpts:
    """Makes excerpts around these terms of a query: words or stems, in any case."""

    __slots__ = ("_beginnings",)

    def __init__(self, terms: Sequence[str]) -> None:
        wanted = {term.casefold() for term in terms}.union(analyse(" ".join(terms)))
        self._beginnings = tuple(sorted(set(filter(None, map(_beginning, wanted)))))

    def of(self, text: str, limit: int, cost: Cost) -> Excerpt | None:
        """The longest excerpt around the best match that costs at most `limit`; None when fewer than 8 tokens of text fit."""
        empty = cost("")
        room, each = limit - empty, float(_USUAL)
        if room < _WORTH or not text.strip():
            return None
        if len(text) <= 16 * limit:
            whole = cost(text)
            if whole <= limit:
                return Excerpt(text, 1.0)
            each = len(text) / max(1, whole - empty)
        first, last = self._region(text, 16 * room)
        span = self._best(text, first, last, limit, cost, each * room)
        if span is None:
            return None
        start, end = span
        shown = _marked(text, start, end)
        if cost(shown) - empty < _WORTH:
            return None
        return Excerpt(shown, (end - start) / len(text))

    def _best(self, text: str, first: int, last: int, limit: int, cost: Cost, likely: float) -> Span | None:
        """Sentences around the best one; where even that is too big, the same within it with clauses, then words. About
        `likely` characters fit: a span of fewer isn't asked about by itself, only with its neighbours."""
        matches = self._matches(text, first, last)
        for pattern in (*_STEPS, None):
            cuts = _runs(text, first, last) if pattern is None else _cut(pattern, text, first, last)
            if len(cuts) < 2:
                return None
            if len(cuts) == 2 and pattern is not None:
                continue
            weights = _weights(cuts, matches)
            best = weights.index(max(weights))
            first, last = cuts[best : best + 2]
            if last - first > likely and cost(_marked(text, first, last)) > limit:
                continue
            if (grown := _grown(text, cuts, weights, best, limit, cost, likely)) is not None:
                return grown
        return None

    def _matches(self, text: str, first: int, last: int) -> list[Match]:
        """Where the terms stand: by the beginnings of words, without analysing a thousand of them."""
        found, low = list[Match](), _low(text)
        for term in self._beginnings:
            at = low.find(term, first, last)
            while at >= 0:
                if not (term.isascii() and at and low[at - 1].isalnum()):
                    found.append((at, at + len(term), term[:_HEAD]))
                at = low.find(term, at + 1, last)
        return found

    def _region(self, text: str, reach: int) -> Span:
        """Where to look closely in a text too long to read word by word: the block with most of the terms."""
        size = max(_BLOCK, reach)
        if len(text) <= 2 * size:
            return 0, len(text)
        low = _low(text)

        def found(start: int) -> int:
            return sum(low.find(term, start, start + size) >= 0 for term in self._beginnings)

        start = max(range(0, len(text), size // 2), key=lambda at: (found(at), -at))
        return floor(text, start), floor(text, start + size)


def _beginning(term: str) -> str:
    """What words of the term begin with. A stem may end in what its words don't: `happi`, `happy`."""
    return term[:-1] if len(term) > _HEAD and term.endswith("i") else term


def _low(text: str) -> str:
    """Folded, character by character."""
    low = text.casefold()
    if len(low) == len(text):
        return low
    return "".join(folded if len(folded := char.casefold()) == 1 else char for char in text)


def _weights(cuts: Sequence[int], matches: Sequence[Match]) -> list[int]:
    """How many different terms stand between each cut and the next."""
    first, last = cuts[0], cuts[-1]
    weights = [0] * (len(cuts) - 1)
    for place, _ in {(bisect_right(cuts, at) - 1, head) for at, end, head in matches if first <= at and end <= last}:
        weights[place] += 1
    return weights


def _marked(text: str, start: int, end: int) -> str:
    """The part with marks at its cuts, without the space around it."""
    part = text[start:end]
    before = _MARK if text[:start].strip() else ""
    after = _MARK if text[end:].strip() else ""
    return f"{before}{part.strip()}{after}"


def _grown(text: str, cuts: list[int], weights: list[int], best: int, limit: int, cost: Cost, likely: float) -> Span | None:
    """The widest run of spans around the best that fits; None where not even the best does. The neighbour that matches more
    comes first, else the next one. How wide that is is guessed, at `likely` characters to begin with, then from what the
    guess before cost: asking is what takes the time."""
    empty = cost("")
    runs = _Runs(cuts, weights, best)
    fitting = tried = 0
    for guess in count():
        if guess >= _GUESSES and not tried:
            likely = max(likely, 2.0 * runs.sizes[fitting])
        more = runs.reach(likely)
        end = tried or len(runs.sizes) + more
        aim = bisect_right(runs.sizes, likely) - 1 if guess < _GUESSES or not tried else (fitting + tried) // 2
        middle = min(max(aim, fitting + 1), end - 1)
        if middle <= fitting:
            break
        if middle == len(runs.sizes):
            likely = runs.sizes[-1] + 1.0
            continue
        tokens = cost(_marked(text, *runs.span(middle))) - empty
        if tokens + empty <= limit:
            fitting = middle
        else:
            tried = middle
        likely = runs.sizes[middle] * (limit - empty) / max(1, tokens)
    start, end = runs.span(fitting)
    if not fitting and cost(_marked(text, start, end)) > limit:
        return None
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())


class _Runs:
    """Spans around one of them, each run a neighbour wider than the one before; made as far as they are asked for. `sizes` are
    their characters."""

    __slots__ = ("_bounds", "_cuts", "_high", "_low", "_weights", "sizes")

    def __init__(self, cuts: list[int], weights: list[int], best: int) -> None:
        self._cuts, self._weights, self._low, self._high = cuts, weights, best, best
        start, end = cuts[best : best + 2]
        self._bounds = [(start, end)]
        self.sizes = [end - start]

    def span(self, at: int) -> Span:
        return self._bounds[at]

    def reach(self, size: float) -> bool:
        """Make runs until one is larger than `size`; whether there are more still."""
        cuts, weights, low, high = self._cuts, self._weights, self._low, self._high
        start, end = self._bounds[-1]
        last = len(weights) - 1
        while end - start <= size and (low > 0 or high < last):
            if low > 0 and (high == last or weights[low - 1] > weights[high + 1]):
                low -= 1
                start = cuts[low]
            else:
                high += 1
                end = cuts[high + 1]
            self._bounds.append((start, end))
            self.sizes.append(end - start)
        self._low, self._high = low, high
        return low > 0 or high < last


def _cut(pattern: re.Pattern[str], text: str, first: int, last: int) -> list[int]:
    """Where spans begin, and where the last ends. Each pattern matches every character, so where one ends the next begins."""
    return list(accumulate(map(len, pattern.findall(text, first, last)), initial=first))


def _runs(text: str, first: int, last: int) -> list[int]:
    """Runs of a few characters, for what has neither spaces nor marks; never torn inside a grapheme."""
    cuts = [first]
    while (start := cuts[-1]) < last:
        end = floor(text, min(start + _RUN, last), start)
        cuts.append(end if end > start else min(start + _RUN, last))
    return cuts
