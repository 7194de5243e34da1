"""Shorten: makes an excerpt of a text that is too long, around the terms of the query (PACK-5).

An excerpt keeps whole sentences where they fit, otherwise whole clauses or words, with `…` where text was left out.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, count

from germane.pipeline.format.graphemes import floor
from germane.text.analyse import analyse
from germane.types.amount import MOST_CHARS_PER_TOKEN

__all__ = ["Excerpt", "Excerpts"]

Cost = Callable[[str], int]
Span = tuple[int, int]
Match = tuple[int, int, str]
"""Start and end of a term in the text, and the term's first letters: terms that begin alike count as one."""

_MARK = "…"
_MIN_TOKENS = 8
"""Tokens of text: a shorter excerpt says nothing."""
_BLOCK = 8_000
"""Characters of the part of a long text that is searched, at least."""
_RUN = 24
"""Characters of a span in text without spaces and punctuation."""
_HEAD = 4
"""First letters by which terms are told apart."""
_CHARS_PER_TOKEN = 4
"""The ratio with which the search for the longest excerpt begins."""
_MAX_GUESSES = 16
"""After so many guesses the search continues by bisection: otherwise a text whose beginning costs much and whose rest costs
nothing would be counted word by word."""
_STEPS = (
    re.compile(r"[^.!?。！？।؟\n]++(?:[.!?。！？।؟\n]++[\"'”’»)\]]*\s*)?|[.!?。！？।؟\n]++[\"'”’»)\]]*\s*"),
    re.compile(r"[^,;:、，；：،—]++(?:[,;:、，；：،—]++\s*)?|[,;:、，；：،—]++\s*"),
    re.compile(r"\S++\s*|\s+"),
)
"""Spans that are kept whole, from the largest to the smallest: sentences, clauses, words. Each pattern matches every
character."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """`text` is the text to show, not escaped yet; `share` is the fraction of the original's characters that it keeps, in [0,
    1]."""

    text: str
    share: float


class Excerpts:
    """Makes excerpts around the terms of one query: words or stems, in any case."""

    def __init__(self, terms: Sequence[str]) -> None:
        self._terms = terms
        self._sentences: dict[tuple[str, int, int], tuple[list[Match], list[int], list[int]]] = {}

    @cached_property
    def _beginnings(self) -> tuple[str, ...]:
        """The terms, and what words of the same stem begin with. Most assemblies shorten nothing."""
        wanted = {term.casefold() for term in self._terms}.union(analyse(" ".join(self._terms)))
        return tuple(sorted(set(filter(None, map(_beginning, wanted)))))

    def match(self, text: str) -> bool:
        """Whether any term stands in the text: without one an excerpt shows its beginning."""
        return bool(self._matches(text, 0, len(text)))

    def of(self, text: str, limit: int, cost: Cost) -> Excerpt | None:
        """The longest excerpt around the best match that costs at most `limit` tokens; None when fewer than 8 tokens of text
        fit. `cost` returns the tokens of a text as written; it is called as rarely as possible."""
        empty = cost("")
        room, each = limit - empty, float(_CHARS_PER_TOKEN)
        if room < _MIN_TOKENS or not text.strip():
            return None
        if len(text) <= MOST_CHARS_PER_TOKEN * limit:
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
        if cost(shown) - empty < _MIN_TOKENS:
            return None
        return Excerpt(shown, (end - start) / len(text))

    def _best(self, text: str, first: int, last: int, limit: int, cost: Cost, likely: float) -> Span | None:
        """The best sentence with as many neighbours as fit. Where the sentence alone is too long, the same within it with
        clauses, then words, then runs of characters. About `likely` characters fit: a shorter span isn't costed alone."""
        matches, cuts, weights = self._in_sentences(text, first, last)
        for step, pattern in enumerate((*_STEPS, None)):
            if step:
                cuts, weights = _spans(pattern, text, first, last, matches)
            if len(cuts) < 2:
                return None
            if len(cuts) == 2 and pattern is not None:
                continue
            best = weights.index(max(weights))
            first, last = cuts[best : best + 2]
            if last - first > likely and cost(_marked(text, first, last)) > limit:
                continue
            if (grown := _grown(text, cuts, weights, best, limit, cost, likely)) is not None:
                return grown
        return None

    def _in_sentences(self, text: str, first: int, last: int) -> tuple[list[Match], list[int], list[int]]:
        """Where the terms stand, where the sentences begin, and the number of terms in each; kept, as an excerpt that grows is
        made anew."""
        key = (text, first, last)
        known = self._sentences.get(key)
        if known is None:
            matches = self._matches(text, first, last)
            known = self._sentences[key] = (matches, *_spans(_STEPS[0], text, first, last, matches))
        return known

    def _matches(self, text: str, first: int, last: int) -> list[Match]:
        """Where the terms stand, found by the beginnings of words: faster than stemming every word of the text."""
        found, low = list[Match](), _folded(text)
        for term in self._beginnings:
            start = low.find(term, first, last)
            while start >= 0:
                if not (term.isascii() and start and low[start - 1].isalnum()):
                    found.append((start, start + len(term), term[:_HEAD]))
                start = low.find(term, start + 1, last)
        return found

    def _region(self, text: str, reach: int) -> Span:
        """Start and end of the part that is searched: of a text too long to search as a whole, the block with most of the
        terms."""
        size = max(_BLOCK, reach)
        if len(text) <= 2 * size:
            return 0, len(text)
        low = _folded(text)

        def found(start: int) -> int:
            return sum(low.find(term, start, start + size) >= 0 for term in self._beginnings)

        start = max(range(0, len(text), size // 2), key=lambda block: (found(block), -block))
        return floor(text, start), floor(text, start + size)


def _beginning(term: str) -> str:
    """The letters that words of this term begin with. A stem may end in a letter that its words don't have: `happi`,
    `happy`."""
    return term[:-1] if len(term) > _HEAD and term.endswith("i") else term


def _folded(text: str) -> str:
    """The text casefolded character by character, so that every index stays the same."""
    low = text.casefold()
    if len(low) == len(text):
        return low
    return "".join(folded if len(folded := char.casefold()) == 1 else char for char in text)


def _spans(
    pattern: re.Pattern[str] | None, text: str, first: int, last: int, matches: Sequence[Match]
) -> tuple[list[int], list[int]]:
    """The indices at which the spans of a pattern begin and where the last one ends, and the number of terms in each span.
    Without a pattern, the spans are runs of characters."""
    cuts = _runs(text, first, last) if pattern is None else _cut(pattern, text, first, last)
    return cuts, _weights(cuts, matches)


def _weights(cuts: Sequence[int], matches: Sequence[Match]) -> list[int]:
    """The number of different terms between each cut and the next."""
    first, last = cuts[0], cuts[-1]
    weights = [0] * (len(cuts) - 1)
    for index, _ in {(bisect_right(cuts, start) - 1, head) for start, end, head in matches if first <= start and end <= last}:
        weights[index] += 1
    return weights


def _marked(text: str, start: int, end: int) -> str:
    """The part of the text without the space around it, with a mark at each end where text was cut."""
    part = text[start:end]
    before = _MARK if text[:start].strip() else ""
    after = _MARK if text[end:].strip() else ""
    return f"{before}{part.strip()}{after}"


def _grown(text: str, cuts: list[int], weights: list[int], best: int, limit: int, cost: Cost, likely: float) -> Span | None:
    """Start and end of the longest run of spans around the best one that fits; None where the best one alone doesn't fit.

    A run grows by the neighbour with more terms, otherwise by the next span. Calls of `cost` take the time, so the length that
    fits is guessed: `likely` characters at first, then from the cost of the guess before.
    """
    empty = cost("")
    runs = _Runs(cuts, weights, best)
    fitting = tried = 0
    for guess in count():
        if guess >= _MAX_GUESSES and not tried:
            likely = max(likely, 2.0 * runs.sizes[fitting])
        more = runs.extend(likely)
        end = tried or len(runs.sizes) + more
        aim = bisect_right(runs.sizes, likely) - 1 if guess < _MAX_GUESSES or not tried else (fitting + tried) // 2
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
    """Runs of spans around one span, each one span longer than the run before; extended on demand. `sizes` are their
    characters."""

    __slots__ = ("_bounds", "_cuts", "_high", "_low", "_weights", "sizes")

    def __init__(self, cuts: list[int], weights: list[int], best: int) -> None:
        self._cuts, self._weights, self._low, self._high = cuts, weights, best, best
        start, end = cuts[best : best + 2]
        self._bounds = [(start, end)]
        self.sizes = [end - start]

    def span(self, index: int) -> Span:
        """Start and end of this run."""
        return self._bounds[index]

    def extend(self, size: float) -> bool:
        """Makes runs until one is longer than `size` characters; returns whether more can be made."""
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
    """The indices at which the spans of a pattern begin, and where the last one ends."""
    return list(accumulate(map(len, pattern.findall(text, first, last)), initial=first))


def _runs(text: str, first: int, last: int) -> list[int]:
    """The same for spans of a few characters, for text without spaces and punctuation; no grapheme is split."""
    cuts = [first]
    while (start := cuts[-1]) < last:
        end = floor(text, min(start + _RUN, last), start)
        cuts.append(end if end > start else min(start + _RUN, last))
    return cuts
