"""Summary shelf: the summaries that a language model has written, by the fingerprint of what they cover, and what is served.

No entry is ever changed: a summary is put on the shelf whole, when it was accepted. Messages that were edited meanwhile have
another fingerprint, so what was written about them isn't found again, and goes when the shelf is full. An owner is served only
what was put there for it: a fingerprint says nothing about whose messages they are.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from threading import Lock

from germane.compaction.llm_summary.covered_span import CoveredExchange, CoveredSpan, Runs
from germane.compaction.summary import SpanSummary
from germane.types.lru_cache import LruCache

__all__ = ["Owner", "ShelvedSummary", "SummaryShelf"]

Owner = tuple[str | None, ...]
"""Whose conversation it is, the widest first, such as org, agent, user and session; () where there is only one."""


@dataclass(frozen=True, slots=True)
class ShelvedSummary:
    """Accepted sentences, and the messages that they stand for."""

    lines: tuple[str, ...]
    runs: Runs

    def split(self, span: CoveredSpan) -> tuple[CoveredExchange, ...] | None:
        """Returns the exchanges of the span that the sentences don't stand for; None where they stand for something else than
        whole exchanges of it. Linear."""
        starts = [start for start, _ in self.runs]
        rest, covered = list[CoveredExchange](), 0
        for each in span.exchanges:
            place = bisect_right(starts, each.start) - 1
            if place >= 0 and each.end <= self.runs[place][1]:
                covered += each.end - each.start
            else:
                rest.append(each)
        return tuple(rest) if covered == sum(end - start for start, end in self.runs) else None


class SummaryShelf:
    """Holds at most `size` summaries and as many answers that were given. Safe to use from several threads."""

    __slots__ = ("_lock", "_served", "_written")

    def __init__(self, size: int) -> None:
        self._lock = Lock()
        self._written = LruCache[tuple[Owner, str], ShelvedSummary](size)
        self._served = LruCache[tuple[Owner, str, Runs], tuple[SpanSummary | None]](size)
        """By fingerprint and what has left: one boundary may have some exchanges before it that stay."""

    def put(self, owner: Owner, fingerprint: str, written: ShelvedSummary) -> None:
        """Adds what was written about the span with this fingerprint."""
        with self._lock:
            self._written.put((owner, fingerprint), written)

    def forget(self, owner: Owner) -> None:
        """Drops what is held of this owner, and of all whose names begin with its."""
        with self._lock:
            self._written.drop(lambda key: key[0][: len(owner)] == owner)
            self._served.drop(lambda key: key[0][: len(owner)] == owner)

    def newest(self, owner: Owner, span: CoveredSpan) -> tuple[ShelvedSummary | None, tuple[CoveredExchange, ...]]:
        """Returns the newest summary of a part of the span, and the exchanges that it doesn't cover."""
        for fingerprint in (span.fingerprint, *reversed(span.earlier)):
            with self._lock:
                written = self._written.use((owner, fingerprint))
            if written is not None and (rest := written.split(span)) is not None:
                return written, rest
        return None, span.exchanges

    def serve(self, owner: Owner, span: CoveredSpan, *, anew: bool) -> SpanSummary | None:
        """Returns the lines of a summary of the whole span: the newest ones there are, and lines of the rules for what they
        don't cover; None where there are none. The answer for a fingerprint stays the same, unless `anew`."""
        key = owner, span.fingerprint, span.runs
        with self._lock:
            served = None if anew else self._served.use(key)
        if served is None:
            made = (self._made(owner, span),)
            with self._lock:
                served = made if anew else self._served.setdefault(key, made)
                self._served.put(key, served)
        return served[0]

    def _made(self, owner: Owner, span: CoveredSpan) -> SpanSummary | None:
        written, rest = self.newest(owner, span)
        if written is None:
            return None
        lines, note = written.lines, ""
        if rest:
            from germane.compaction.llm_summary.told_summary import thinned_lines

            note = f"extractive from message {rest[0].start} on"
            lines = thinned_lines(lines, span.notes, [each.notes for each in rest], span.max_tokens, span.count)
        if not lines:
            return None
        text = "\n".join(lines)
        return SpanSummary(text=text, covers=span.covers, tokens=span.count(text), method="llm", ids=span.ids, note=note)
