"""Covered span: what a move of the boundary put behind it and a language model may be asked to sum up, and who answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from germane.compaction.notes import ExchangeNotes
from germane.compaction.summary import SpanSummary
from germane.types.message import Message

__all__ = ["CoveredExchange", "CoveredSpan", "SummarySource"]


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
    those of the summary."""

    fingerprint: str
    exchanges: tuple[CoveredExchange, ...]
    covers: int
    max_tokens: int
    count: Callable[[str], int]
    earlier: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    begins: str = ""
    begins_notes: tuple[ExchangeNotes, ...] = ()

    @property
    def conversation(self) -> str:
        """The fingerprint of its first move: it stays while nothing before it is edited."""
        return self.earlier[0] if self.earlier else self.fingerprint

    @property
    def places(self) -> frozenset[tuple[int, int]]:
        """Start and end of each exchange."""
        return frozenset((each.start, each.end) for each in self.exchanges)

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
