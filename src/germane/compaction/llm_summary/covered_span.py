"""Covered span: what a move of the boundary put behind it and a language model may be asked to sum up, and who answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from germane.compaction.notes import ExchangeNotes
from germane.compaction.summary import SpanSummary
from germane.types.message import Message

__all__ = ["CoveredExchange", "CoveredSpan", "Runs", "SummarySource"]

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
