"""Covered span: what a move of the boundary took out and a model may sum up, and the summaries written of it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol

from germane.compaction.notes import ExchangeNotes, SpanSummary
from germane.types.caches import LruCache
from germane.types.message import Message

Runs = tuple[tuple[int, int], ...]
"""Messages from an index to another (exclusive), in their order; no run begins where another one ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveredExchange:
    """The messages from `start` to `end` (exclusive), which have left the prompt, and what the rules noted of them."""

    start: int
    end: int
    messages: tuple[Message, ...]
    notes: ExchangeNotes


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveredSpan:
    """Everything that a conversation's summary stands for after one move of the boundary.

    `fingerprint` is a hash of all that stands before the boundary, such as the handle of its newest span: another one where any
    of the messages was edited. `earlier` are the fingerprints of the moves before, oldest first. `exchanges` are those that
    have left, oldest first, `covers` the index of the boundary, and `ids` those of the messages. `begins` is the summary that
    the conversation itself began with, and `begins_notes` its notes. `count` returns the tokens of a text, `max_tokens` are
    those of the summary. `runs` are the messages of the exchanges: one boundary may have some exchanges before it that stay."""

    fingerprint: str
    exchanges: tuple[CoveredExchange, ...]
    covers: int
    max_tokens: int
    count: Callable[[str], int]
    earlier: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    begins: str = ""
    begins_notes: tuple[ExchangeNotes, ...] = ()
    runs: Runs = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "runs", _runs((each.start, each.end) for each in self.exchanges))

    @property
    def conversation(self) -> str:
        """The fingerprint of its first move: it stays while nothing before it is edited."""
        return self.earlier[0] if self.earlier else self.fingerprint

    @property
    def notes(self) -> tuple[ExchangeNotes, ...]:
        return (*self.begins_notes, *(exchange.notes for exchange in self.exchanges))


class SummarySource(Protocol):
    """Has summaries of spans that a language model wrote, or none. Both methods return at once."""

    def summary(self, span: CoveredSpan) -> SpanSummary | None:
        """Returns what stands for the whole span in the place of its outline, a line a sentence; None where the outline serves.
        A caller that asks again for the same fingerprint gets the same answer, unless the source says otherwise."""

    def want(self, span: CoveredSpan) -> None:
        """Says that this span has left the prompt, so that a summary of it will be asked for."""


def _runs(places: Iterable[tuple[int, int]]) -> Runs:
    found: list[tuple[int, int]] = []
    for start, end in places:
        if found and found[-1][1] == start:
            start, _ = found.pop()
        found.append((start, end))
    return tuple(found)


# The shelf keeps the summaries by the fingerprint of what they cover. No entry is ever changed: a summary is put on the
# shelf whole, once it was accepted. Messages that were edited meanwhile have another fingerprint, so what was written
# about them isn't found again, and goes when the shelf is full. An owner is served only what was put there for it: a
# fingerprint says nothing about whose messages they are.


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
            from germane.compaction.summary_text import thinned_lines

            note = f"extractive from message {rest[0].start} on"
            lines = thinned_lines(lines, span.notes, [each.notes for each in rest], span.max_tokens, span.count)
        if not lines:
            return None
        text = "\n".join(lines)
        return SpanSummary(text=text, covers=span.covers, tokens=span.count(text), method="llm", ids=span.ids, note=note)
