"""Summary: the sentences that say most of a text, in their order, within a number of tokens (PACK-5, HIST-3).

A sentence counts by the words that it shares with the rest of the text (SumBasic: A. Nenkova, L. Vanderwende, "The Impact of
Frequency on Summarization", 2005): each word has its frequency in the text, a sentence the mean of its words, and a word that
is in the summary already counts its square. Sentences that differ in numbers only count as one. What stands first counts more,
and so does what reports a failure. Where there is a query, its words come first, the rare ones before all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import pairwise
from math import log

from germane.text.clauses import sentences
from germane.text.language import detect
from germane.text.terms import analyse

Cost = Callable[[str], int]
Span = tuple[int, int]

_MARK = "…"
_MIN_TOKENS = 8
"""Tokens of text: a shorter summary says nothing."""
_MAX_READ = 16_384
"""Characters of a text that are read, unless told otherwise: of a longer one its beginning, samples, and its end."""
_SAMPLES = 4
_SMOOTHING = 8
"""Words by which each sentence counts as longer, so that a sentence of one common word isn't the best."""
_FIRST, _AFTER_BREAK, _SAID, _ALARMING = 1.5, 1.15, 1.5, 1.6
"""By how much more a sentence counts at the beginning of the text, behind a blank line, where it ends as sentences do (a line
of code or a heading doesn't), and where it reports a failure."""
_ENDS = ".!?…。！？।؟۔"
_ALARMS = frozenset({"error", "exception", "fail", "failur", "fatal", "panic", "traceback", "refus", "deni", "abort"})
"""Stems of what logs and tools report when something went wrong."""
_MAX_LOOKS = 4
"""Looks at the score of one sentence, as the words of those chosen before count less."""
_MAX_MISSES = 24
"""After so many sentences in a row that didn't fit, the rest isn't tried."""
_MAX_GUESSES, _MAX_ROUNDS = 16, 5
_FULL_SHARE = 0.93
"""The share of the tokens from which on no further round is worth its time."""
_CHARS_PER_TOKEN, _MAX_CHARS_PER_TOKEN = 4.0, 16
"""The ratio to begin with; and the one beyond which a text certainly doesn't fit as a whole, and isn't counted."""


@dataclass(frozen=True, slots=True)
class Summary:
    """`text` has `…` where something was left out; `share` is the fraction of the original's characters that it keeps, in
    [0, 1]."""

    text: str
    share: float


@dataclass(frozen=True, slots=True)
class _Read:
    """What was read of a text: its sentences, the stems of each one's words, and its weight by its place."""

    spans: Sequence[Span]
    stems: Sequence[tuple[str, ...]]
    place: Sequence[float]


def summarise(
    text: str, limit: int, cost: Cost, *, terms: Sequence[str] = (), reach: int = _MAX_READ, least: int = _MIN_TOKENS
) -> Summary | None:
    """Returns the text itself where it costs at most `limit` tokens, else a summary that does; None where fewer than `least`
    tokens of text fit. `cost` returns the tokens of a text as written; a text of more than 16 characters per token isn't asked
    about as a whole. `terms` are words of a query. At most `reach` characters are read. Deterministic; linear in the text's
    length, as far as it is read."""
    return Summaries(terms, reach=reach).of(text, limit, cost, least=least)


class Summaries:
    """Makes summaries for one query, which may be empty; keeps what it has read of each text, as a summary that grows is made
    anew."""

    __slots__ = ("_known", "_reach", "_wanted")

    def __init__(self, terms: Sequence[str] = (), *, reach: int = _MAX_READ) -> None:
        self._wanted, self._reach = frozenset(analyse(" ".join(terms))), reach
        self._known: dict[str, tuple[Sequence[Span], Sequence[int]]] = {}
        """By text: its sentences, and their places in the order of their worth."""

    def of(self, text: str, limit: int, cost: Cost, *, least: int = _MIN_TOKENS) -> Summary | None:
        """As `summarise`."""
        empty = cost("")
        room, each = limit - empty, _CHARS_PER_TOKEN
        if room < least or not text.strip():
            return None
        if len(text) <= _MAX_CHARS_PER_TOKEN * limit:
            whole = cost(text)
            if whole <= limit:
                return Summary(text, 1.0)
            each = len(text) / max(1, whole - empty)
        known = self._known.get(text)
        if known is None:
            read = _read(text, self._reach)
            known = self._known[text] = read.spans, tuple(self._ranked(read))
        spans, order = known
        fitting = self._longest(text, spans, order, limit, cost, each)
        return fitting or self._beginning(text, spans[order[0] if order else 0], limit, cost, least)

    def _longest(
        self, text: str, spans: Sequence[Span], order: Sequence[int], limit: int, cost: Cost, each: float
    ) -> Summary | None:
        """As many of the best sentences as fit. How many characters do is guessed: `each` a token at first, then from the cost
        of the guess before; in the end the least of the sentences go until the rest fits."""
        empty = cost("")
        room, best, chosen = limit - empty, None, list[int]()
        for _ in range(_MAX_ROUNDS):
            picked = _picked(spans, order, room * each)
            if not picked or picked == chosen:
                break
            chosen = picked
            summary = _shown(text, spans, chosen)
            tokens = max(1, cost(summary.text) - empty)
            if tokens <= room:
                best = summary if best is None or summary.share > best.share else best
                if tokens >= _FULL_SHARE * room:
                    break
            each = len(summary.text) / tokens
        while best is None and chosen:
            summary = _shown(text, spans, chosen)
            excess = cost(summary.text) - limit
            if excess <= 0:
                return summary
            while chosen and excess > 0:
                start, end = spans[chosen.pop()]
                excess -= max(1, cost(text[start:end]) - empty)
        return best

    def _ranked(self, read: _Read) -> Iterator[int]:
        """The sentences with any words, the best first, each as if those before it were in the summary: so that it says
        something else."""
        within = Counter(stem for stems in read.stems for stem in dict.fromkeys(stems))
        kinds = {
            tuple(stem for stem in stems if stem.isalpha()): stems for stems in read.stems
        }  # of many like lines, one counts
        counts = Counter(stem for stems in kinds.values() for stem in stems)
        total = counts.total() or 1
        often = {stem: counts.get(stem, 1) / total for stem in within}
        rare = {stem: log(1 + len(read.spans) / count) for stem, count in within.items() if stem in self._wanted}

        def score(index: int) -> float:
            stems = read.stems[index]
            common = sum(map(often.__getitem__, stems)) / (len(stems) + _SMOOTHING)
            asked = sum(rare.get(stem, 0.0) for stem in dict.fromkeys(stems)) if rare else 0.0
            return common * read.place[index] + asked

        heap = [(-score(index), index, 1) for index, stems in enumerate(read.stems) if stems]
        heapify(heap)
        while heap:
            known, index, looks = heappop(heap)
            if looks < _MAX_LOOKS and heap and (now := -score(index)) > known and now > heap[0][0]:
                heappush(heap, (now, index, looks + 1))
                continue
            yield index
            for stem in dict.fromkeys(read.stems[index]):
                often[stem] *= often[stem]
                if stem in rare:
                    rare[stem] /= 2

    def _beginning(self, text: str, best: Span, limit: int, cost: Cost, least: int) -> Summary | None:
        """As much of the best sentence as fits, from its beginning, where no sentence fits as a whole."""
        start, end = best
        part = text[start:end].strip()
        start = text.index(part, start, end)
        before = _MARK if text[:start].strip() else ""
        fitting, high, guess = 0, len(part), min(len(part), 4 * limit)
        for _ in range(_MAX_GUESSES):
            if high - fitting <= 1:
                break
            guess = min(max(guess, fitting + 1), high - 1)
            tokens = cost(f"{before}{part[:guess]}{_MARK}")
            fitting, high = (guess, high) if tokens <= limit else (fitting, guess)
            guess = (fitting + high) // 2
        word = max(part.rfind(" ", 0, fitting + 1), part.rfind("\n", 0, fitting + 1))
        for stop in (word, fitting) if word > fitting // 2 else (fitting,):
            shown = f"{before}{part[:stop].rstrip()}{_MARK}"
            if stop and cost(shown) <= limit and cost(shown) - cost("") >= least:
                return Summary(shown, len(part[:stop].rstrip()) / len(text))
        return None


def _read(text: str, reach: int) -> _Read:
    spans = list[Span]()
    for start, stop in _regions(len(text), reach):
        inside = [(start + low, start + high) for low, high in sentences(text[start:stop])]
        if start and len(inside) > 2:
            del inside[0]
        if stop < len(text) and len(inside) > 2:
            del inside[-1]
        spans += inside
    language = detect(text) or "english"
    stems = [tuple(analyse(text[start:end], language)) for start, end in spans]
    return _Read(spans, stems, [_weight(text, *span, words) for span, words in zip(spans, stems, strict=True)])


def _weight(text: str, start: int, end: int, stems: Sequence[str]) -> float:
    weight = _FIRST if start == 0 else _AFTER_BREAK if text.startswith("\n\n", start - 2) else 1.0
    if text[start:end].rstrip().endswith(tuple(_ENDS)):
        weight *= _SAID
    return weight * _ALARMING if not _ALARMS.isdisjoint(stems) else weight


def _regions(size: int, reach: int) -> Iterator[Span]:
    """What is read of a text: all of it, else half of `reach` at its beginning, a quarter at its end, and samples between."""
    if size <= reach:
        yield 0, size
        return
    first, last, each = reach // 2, size - reach // 4, reach // (4 * _SAMPLES)
    yield 0, first
    step = max(1, (last - first) // (_SAMPLES + 1))
    for number in range(1, _SAMPLES + 1):
        start = first + number * step
        yield start, min(start + each, last)
    yield last, size


def _picked(spans: Sequence[Span], order: Sequence[int], characters: float) -> list[int]:
    """The best sentences that have at most so many characters together; what doesn't fit is skipped."""
    picked, misses = list[int](), 0
    for index in order:
        size = spans[index][1] - spans[index][0] + 1
        if size <= characters:
            picked.append(index)
            characters -= size
            misses = 0
        else:
            misses += 1
            if misses >= _MAX_MISSES:
                break
    return picked


def _shown(text: str, spans: Sequence[Span], chosen: Sequence[int]) -> Summary:
    runs = _runs([spans[index] for index in sorted(chosen)])
    return Summary(_rendered(text, runs), min(1.0, sum(end - start for start, end in runs) / len(text)))


def _runs(spans: Sequence[Span]) -> list[Span]:
    """The spans, those that follow one another joined."""
    runs = list[Span]()
    for start, end in spans:
        if runs and runs[-1][1] == start:
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    return runs


def _rendered(text: str, runs: Sequence[Span]) -> str:
    """The runs as they stand in the text, with a mark wherever something is missing."""
    shown = [_MARK if text[: runs[0][0]].strip() else "", text[slice(*runs[0])].strip()]
    for (_, end), (start, stop) in pairwise(runs):
        gap = text[max(0, end - 2) : start]
        left_out = bool(text[end:start].strip())
        shown += [_MARK if left_out else "", "\n" if "\n" in gap else " " if gap[-1:].isspace() or " " in gap[:2] else ""]
        shown.append(text[start:stop].strip())
    shown.append(_MARK if text[runs[-1][1] :].strip() else "")
    return "".join(shown)
