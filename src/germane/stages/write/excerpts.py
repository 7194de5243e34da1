"""Excerpts: what is shown of a text that is too long: an excerpt, its beginning, its end, or a pointer to it.

An excerpt is made around the terms of the query (PACK-5). It keeps whole sentences if they fit, otherwise whole clauses or
words, with `…` where text was left out.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, count

from germane.kinds.events.wording import action_of
from germane.stages.write.escape import clip, grapheme_floor
from germane.text.terms import analyse
from germane.types.budget import MAX_CHARS_PER_TOKEN
from germane.types.candidate import Candidate

Cost = Callable[[str], int]
Span = tuple[int, int]
Match = tuple[int, int, str]
"""Start and end of a term in the text, and the term's first letters: terms that begin alike count as one."""

_MARK = "…"
_MIN_TOKENS = 8
"""Tokens of text: a shorter excerpt says nothing."""
_MIN_SEARCHED = 8_000
"""Characters of the part of a long text that is searched, at least."""
_MAX_RUN = 24
"""Characters of a span in text without spaces and punctuation."""
_TERM_LETTERS = 4
"""First letters by which terms are told apart."""
_CHARS_PER_TOKEN = 4
"""The ratio with which the search for the longest excerpt begins."""
_MAX_EXCERPT_GUESSES = 16
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
        if len(text) <= MAX_CHARS_PER_TOKEN * limit:
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
                    found.append((start, start + len(term), term[:_TERM_LETTERS]))
                start = low.find(term, start + 1, last)
        return found

    def _region(self, text: str, reach: int) -> Span:
        """Start and end of the part that is searched: of a text too long to search as a whole, the block with most of the
        terms."""
        size = max(_MIN_SEARCHED, reach)
        if len(text) <= 2 * size:
            return 0, len(text)
        low = _folded(text)

        def found(start: int) -> int:
            return sum(low.find(term, start, start + size) >= 0 for term in self._beginnings)

        start = max(range(0, len(text), size // 2), key=lambda block: (found(block), -block))
        return grapheme_floor(text, start), grapheme_floor(text, start + size)


def _beginning(term: str) -> str:
    """The letters that words of this term begin with. A stem may end in a letter that its words don't have: `happi`,
    `happy`."""
    return term[:-1] if len(term) > _TERM_LETTERS and term.endswith("i") else term


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
        if guess >= _MAX_EXCERPT_GUESSES and not tried:
            likely = max(likely, 2.0 * runs.sizes[fitting])
        more = runs.extend(likely)
        end = tried or len(runs.sizes) + more
        aim = bisect_right(runs.sizes, likely) - 1 if guess < _MAX_EXCERPT_GUESSES or not tried else (fitting + tried) // 2
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
        end = grapheme_floor(text, min(start + _MAX_RUN, last), start)
        cuts.append(end if end > start else min(start + _MAX_RUN, last))
    return cuts


# The part of a block that fits, with a last line that says how much of it is shown. A block is read from its beginning,
# and a log begins with its newest entry. So its beginning is shown, and not the part that the request asks about. The
# last line begins as a viewport's does, which no content of a block can imitate.


_MIN_CHARACTERS = 40
"""A shorter beginning says too little."""
_MAX_BEGINNING_GUESSES = 12
_MAX_SLACK = 0.03
"""The share of the room that may be left unused: a nearer guess costs more time than it shows text."""


def beginning_of(text: str, limit: int, cost: Callable[[str], int]) -> Excerpt | None:
    """The longest beginning of `text` that costs at most `limit` tokens with its mark, nearly; None where fewer than 40
    characters fit. `cost` returns the tokens of a text as written. It ends with a line, else with a word."""
    fitting, high, best = 0, len(text), None
    guess = min(high - 1, 4 * limit)
    for _ in range(_MAX_BEGINNING_GUESSES):
        if guess <= fitting or guess < _MIN_CHARACTERS:
            break
        shown = _with_mark(text, guess)
        tokens = cost(shown.text)
        if tokens <= limit:
            fitting, best = guess, shown
            if high - fitting <= 1 or tokens >= limit * (1 - _MAX_SLACK):
                break
        else:
            high = guess
        likely = int(guess * limit / max(1, tokens) * (1 - _MAX_SLACK / 2))
        guess = likely if fitting < likely < high else (fitting + high) // 2
    return best


def _with_mark(text: str, length: int) -> Excerpt:
    cut = text[:length]
    if length < len(text) and not text[length].isspace():
        line, word = cut.rfind("\n"), cut.rfind(" ")
        end = line if line > 0.8 * length else max(line, word)
        cut = cut[:end] if end > length // 2 else cut
    cut = cut.rstrip()
    lines, whole = cut.count("\n") + 1, text.count("\n") + 1
    mark = f"[Showing lines 1-{lines} of {whole}: {len(cut):,} of {len(text):,} characters]"
    return Excerpt(f"{cut}\n{mark}", len(cut) / len(text))


# What a command, a test or an error printed: its first line, and as much of the end as fits. The end is where such an
# output says what went wrong, and how it came out; a query's words rarely stand there.


_CUT_MARK = "\u2026"
_MAX_TAIL = 64
"""Lines of the end that are looked at."""
_MAX_CHARS = 4_000
"""Characters of the first line, and of the end, that are looked at."""


def ends_matter(event_type: str) -> bool:
    """Whether events of this type are outputs, whose ends matter most."""
    return action_of(event_type) in ("execute", "test", "error")


def event_excerpt(text: str, limit: int, cost: Cost) -> Excerpt | None:
    """Returns the first line, a mark, and as many of the last lines as cost at most `limit` tokens together; None where not
    even the last line fits beside the first. `cost` returns the tokens of a text as written; it is called
    at most eight times."""
    first, found, rest = text.rstrip().partition("\n")
    if not found or len(first) > _MAX_CHARS:
        return None
    lines = rest[-_MAX_CHARS:].split("\n")[-_MAX_TAIL:]
    if len(lines) > 1 and len(rest) > _MAX_CHARS:
        lines = lines[1:]  # the first of them may have been cut

    def shown(count: int) -> str:
        end = "\n".join(lines[len(lines) - count :])
        return f"{first}\n{end}" if len(end) == len(rest) else f"{first}\n{_CUT_MARK}\n{end}"

    fitting = bisect_right(range(1, len(lines) + 1), False, key=lambda count: cost(shown(count)) > limit)
    if not fitting:
        return None
    best = shown(fitting)
    return Excerpt(best, min(1.0, len(best) / len(text)))


# The line that stands for an item that isn't shown, and says what could be expanded (PACK-5): "[a12] README.md ›
# Install, 1,240 tokens: expand with its handle". It is written like any other content: a text that imitates it is only
# a text, as handles are resolved outside of the prompt.


_MAX_NAME = 60
"""Graphemes of a title, or of the text's first words where it has none."""
_MAX_READ = 1_024
"""Characters of them that are looked at."""


def breadcrumb(candidate: Candidate, tokens: int) -> str:
    """The line for a candidate whose `text` has so many tokens; those of the whole stored text are estimated from its share
    where `text` is a passage."""
    name = clip(" ".join((candidate.title or candidate.text)[:_MAX_READ].split()), _MAX_NAME)
    about, tokens = ("", tokens) if candidate.passage is None else ("about ", int(tokens / max(candidate.share, 1e-6)))
    return f"{name}, {about}{tokens:,} tokens: expand with its handle"
