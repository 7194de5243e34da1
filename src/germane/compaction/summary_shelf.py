"""Summary shelf: the summaries that a language model has written, by the fingerprint of what they cover, and what is served.

No entry is ever changed: a summary is put on the shelf whole, when it was accepted. Messages that were edited meanwhile have
another fingerprint, so what was written about them isn't found again, and goes when the shelf is full.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock

from germane.compaction.covered_span import CoveredExchange, CoveredSpan
from germane.compaction.extractive import extractive_summary
from germane.compaction.summary import SpanSummary
from germane.types.lru_cache import LruCache

__all__ = ["ShelvedSummary", "SummaryShelf"]


@dataclass(frozen=True, slots=True)
class ShelvedSummary:
    """An accepted text, and the exchanges that it covers, each as start and end."""

    text: str
    exchanges: frozenset[tuple[int, int]]


class SummaryShelf:
    """Holds at most `size` summaries and as many answers that were given. Safe to use from several threads."""

    __slots__ = ("_lock", "_served", "_written")

    def __init__(self, size: int) -> None:
        self._lock = Lock()
        self._written = LruCache[str, ShelvedSummary](size)
        self._served = LruCache[str, tuple[SpanSummary | None]](size)

    def put(self, span: CoveredSpan, text: str) -> None:
        """Adds what was written about the span."""
        with self._lock:
            self._written.put(span.fingerprint, ShelvedSummary(text, _places(span)))

    def newest(self, span: CoveredSpan) -> tuple[ShelvedSummary | None, tuple[CoveredExchange, ...]]:
        """Returns the newest summary of a part of the span, and the exchanges that it doesn't cover."""
        places = _places(span)
        with self._lock:
            for fingerprint in (span.fingerprint, *reversed(span.earlier)):
                written = self._written.use(fingerprint)
                if written is not None and written.exchanges <= places:
                    rest = [each for each in span.exchanges if (each.start, each.end) not in written.exchanges]
                    return written, tuple(rest)
        return None, span.exchanges

    def serve(self, span: CoveredSpan, *, anew: bool) -> SpanSummary | None:
        """Returns a summary of the whole span: the newest text there is, and extractive lines for what it doesn't cover; None
        where there is no text. The answer for a fingerprint stays the same, unless `anew`."""
        with self._lock:
            served = None if anew else self._served.use(span.fingerprint)
        if served is None:
            made = (self._made(span),)
            with self._lock:
                served = made if anew else self._served.setdefault(span.fingerprint, made)
                self._served.put(span.fingerprint, served)
        return served[0]

    def _made(self, span: CoveredSpan) -> SpanSummary | None:
        written, rest = self.newest(span)
        if written is None:
            return None
        text, note = written.text, ""
        if rest:
            room = span.max_tokens - span.count(text + "\n")
            lines = extractive_summary([each.notes for each in rest], room, span.count) if room > 0 else ""
            if not lines:
                return None
            text, note = f"{text}\n{lines}", f"extractive from message {rest[0].start} on"
        tokens = span.count(text)
        if tokens > span.max_tokens:
            return None
        return SpanSummary(text=text, covers=span.covers, tokens=tokens, method="llm", ids=span.ids, note=note)


def _places(span: CoveredSpan) -> frozenset[tuple[int, int]]:
    return frozenset((each.start, each.end) for each in span.exchanges)
