"""Summary shelf: the summaries that a language model has written, by the fingerprint of what they cover, and what is served.

No entry is ever changed: a summary is put on the shelf whole, when it was accepted. Messages that were edited meanwhile have
another fingerprint, so what was written about them isn't found again, and goes when the shelf is full.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock

from germane.compaction.llm_summary.covered_span import CoveredExchange, CoveredSpan
from germane.compaction.llm_summary.told_summary import thinned_lines
from germane.compaction.summary import SpanSummary
from germane.types.lru_cache import LruCache

__all__ = ["ShelvedSummary", "SummaryShelf"]


@dataclass(frozen=True, slots=True)
class ShelvedSummary:
    """Accepted sentences, and the exchanges that they stand for, each as start and end."""

    lines: tuple[str, ...]
    exchanges: frozenset[tuple[int, int]]


Answered = tuple[str, frozenset[tuple[int, int]]]
"""A fingerprint, and the exchanges that have left: one boundary may have some exchanges before it that stay."""


class SummaryShelf:
    """Holds at most `size` summaries and as many answers that were given. Safe to use from several threads."""

    __slots__ = ("_lock", "_served", "_written")

    def __init__(self, size: int) -> None:
        self._lock = Lock()
        self._written = LruCache[str, ShelvedSummary](size)
        self._served = LruCache[Answered, tuple[SpanSummary | None]](size)

    def put(self, span: CoveredSpan, lines: tuple[str, ...]) -> None:
        """Adds what was written about the span."""
        with self._lock:
            self._written.put(span.fingerprint, ShelvedSummary(lines, span.places))

    def newest(self, span: CoveredSpan) -> tuple[ShelvedSummary | None, tuple[CoveredExchange, ...]]:
        """Returns the newest summary of a part of the span, and the exchanges that it doesn't cover."""
        places = span.places
        with self._lock:
            for fingerprint in (span.fingerprint, *reversed(span.earlier)):
                written = self._written.use(fingerprint)
                if written is not None and written.exchanges <= places:
                    rest = [each for each in span.exchanges if (each.start, each.end) not in written.exchanges]
                    return written, tuple(rest)
        return None, span.exchanges

    def serve(self, span: CoveredSpan, *, anew: bool) -> SpanSummary | None:
        """Returns the lines of a summary of the whole span: the newest ones there are, and lines of the rules for what they
        don't cover; None where there are none. The answer for a fingerprint stays the same, unless `anew`."""
        key = span.fingerprint, span.places
        with self._lock:
            served = None if anew else self._served.use(key)
        if served is None:
            made = (self._made(span),)
            with self._lock:
                served = made if anew else self._served.setdefault(key, made)
                self._served.put(key, served)
        return served[0]

    def _made(self, span: CoveredSpan) -> SpanSummary | None:
        written, rest = self.newest(span)
        if written is None:
            return None
        lines, note = written.lines, ""
        if rest:
            note = f"extractive from message {rest[0].start} on"
            lines = thinned_lines(lines, span.notes, [each.notes for each in rest], span.max_tokens, span.count)
        if not lines:
            return None
        text = "\n".join(lines)
        return SpanSummary(text=text, covers=span.covers, tokens=span.count(text), method="llm", ids=span.ids, note=note)
