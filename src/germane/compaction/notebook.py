"""Notebook: the notes of what leaves, each read once, and the summary that is made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from germane.compaction.boundaries import Span
from germane.compaction.llm_summary.covered_span import CoveredExchange, CoveredSpan, SummarySource
from germane.compaction.notes import Artifact, Constraint, ExchangeNotes, Ledger, SpanSummary, SummaryMethod
from germane.compaction.reading.exchange import read_exchange
from germane.compaction.reading.statements import constraints_in
from germane.compaction.summary_text import constraints_left_out, extractive_summary, notes_of_summary, told_summary
from germane.types.message import Message

Summaries = Sequence[SpanSummary] | SummarySource
"""Summaries that were prepared, or a source of them."""

_AROUND_LINE = 4
"""Tokens that a constraint's line takes beyond its text, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What stands for everything that has left; `summary` is None where nothing is said."""

    summary: SpanSummary | None = None
    constraints: tuple[Constraint, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    reasons: tuple[str, ...] = ()
    lost: int = 0
    """The number of constraints that don't fit."""
    span: CoveredSpan | None = None
    """What has left, for a source of summaries to write about."""


class _Known(NamedTuple):
    left: Sequence[Span]
    room: int
    prepared: SpanSummary | None
    span: CoveredSpan | None
    told: Told


class Notebook:
    """Reads notes of `messages`, which may grow behind those that were read. With `constraints_only` it reads nothing but the
    user's constraints."""

    __slots__ = ("_begins", "_constraints_only", "_count", "_held", "_known", "_messages", "_notes")

    def __init__(self, messages: Sequence[Message], count: Callable[[str], int], *, constraints_only: bool = False) -> None:
        self._messages, self._count, self._constraints_only = messages, count, constraints_only
        self._notes: dict[Span, ExchangeNotes] = {}
        self._held: tuple[ExchangeNotes, ...] = ()
        self._begins = ""
        self._known: _Known | None = None

    def hold(self, text: str) -> None:
        """Takes the text of an earlier summary, which this one builds on."""
        held, self._begins = notes_of_summary(text), text
        self._held = tuple(replace(notes, line="", artifacts=()) for notes in held) if self._constraints_only else held

    def of(self, span: Span) -> ExchangeNotes:
        """Returns the notes of the messages of a span."""
        notes = self._notes.get(span)
        if notes is None:
            messages = self._messages[span[0] : span[1]]
            notes = self._notes[span] = _constraints(messages) if self._constraints_only else read_exchange(messages)
        return notes

    def constraints(self, span: Span) -> Iterator[tuple[str, int]]:
        """Yields each constraint of the span, with its tokens as a line."""
        return self._lines(self.of(span))

    def held_constraints(self) -> Iterator[tuple[str, int]]:
        """Yields those of the earlier summary."""
        for notes in self._held:
            yield from self._lines(notes)

    def tell(
        self, left: Sequence[Span], room: int, covers: int, summaries: Summaries, handles: Callable[[], Sequence[str]]
    ) -> Told:
        """Returns the summary of everything that has left in at most `room` tokens; `covers` is the boundary. What `summaries`
        has for this boundary is taken for the outline, where there is one and it fits. `handles` are those of the spans that
        have left."""
        known, span = self._known, None
        summaries = () if self._constraints_only else summaries
        if isinstance(summaries, Sequence):
            ids = self._ids(left) if summaries else ()
            prepared = next((each for each in reversed(summaries) if _fits(each, covers, ids)), None)
        else:
            ids = ()
            if known is not None and known.left is left and known.room == room:
                span = known.span
            if span is None and (made := handles()):
                span = self._span(left, room, covers, made)
            prepared = None if span is None else summaries.summary(span)
        if known is not None and known.left is left and (known.room, known.prepared, known.span) == (room, prepared, span):
            return known.told
        notes = [*self._held, *map(self.of, sorted(left))]
        ledger = Ledger(notes)
        reasons: list[str] = []
        text = ""
        if prepared is not None:
            text = self._with(prepared, notes, room)
            if not text:
                reasons.append(f"the prepared summary of {prepared.tokens} tokens doesn't fit beside what must be kept")
        method: SummaryMethod = "extractive"
        if prepared is not None and text:
            method = prepared.method
        else:
            text = extractive_summary(notes, room, self._count) if room > 0 else ""
        lost = len(constraints_left_out(notes, text))
        if lost:
            reasons.append(f"{lost} of the user's constraints don't fit: the newest are kept")
        summary = None
        if text:
            ids = ids or self._ids(left)
            note = reasons[0] if prepared is not None and reasons else ""
            summary = SpanSummary(text=text, covers=covers, tokens=self._count(text), method=method, ids=ids, note=note)
        told = Told(
            summary=summary,
            constraints=tuple(ledger.constraints),
            artifacts=tuple(ledger.artifacts),
            reasons=tuple(reasons),
            lost=lost,
            span=span,
        )
        self._known = _Known(left, room, prepared, span, told)
        return told

    def told_before(self, text: str) -> Told:
        """Returns the earlier summary as it stands."""
        ledger = Ledger(self._held)
        summary = SpanSummary(text=text, covers=1, tokens=self._count(text)) if text else None
        return Told(summary=summary, constraints=tuple(ledger.constraints), artifacts=tuple(ledger.artifacts))

    def _span(self, left: Sequence[Span], room: int, covers: int, handles: Sequence[str]) -> CoveredSpan:
        *earlier, newest = handles
        exchanges = tuple(
            CoveredExchange(start=start, end=end, messages=tuple(self._messages[start:end]), notes=self.of((start, end)))
            for start, end in sorted(left)
        )
        return CoveredSpan(
            fingerprint=newest,
            exchanges=exchanges,
            covers=covers,
            max_tokens=room,
            count=self._count,
            earlier=tuple(earlier),
            ids=self._ids(left),
            begins=self._begins,
            begins_notes=self._held,
        )

    def _ids(self, left: Sequence[Span]) -> tuple[str, ...]:
        return tuple(id for span in left for index in range(*span) if (id := self._messages[index].id))

    def _with(self, prepared: SpanSummary, notes: Sequence[ExchangeNotes], room: int) -> str:
        """The prepared summary as the outline, with constraints and ledger; '' where it doesn't fit as a whole."""
        lines = [" ".join(line.split()).removeprefix("- ") for line in prepared.text.splitlines() if line.strip()]
        return told_summary(lines, notes, room, self._count)

    def _lines(self, notes: ExchangeNotes) -> Iterator[tuple[str, int]]:
        for each in notes.constraints:
            yield each.text, self._count(each.text) + _AROUND_LINE


def _constraints(messages: Sequence[Message]) -> ExchangeNotes:
    found = (each for message in messages if message.role == "user" for each in constraints_in(message.text))
    return ExchangeNotes(line="", constraints=tuple(found))


def _fits(summary: SpanSummary, covers: int, ids: tuple[str, ...]) -> bool:
    return summary.covers == covers and (not summary.ids or not ids or summary.ids == ids)
