"""Covered span: what a boundary covers and a language model may be asked to sum up, and who answers without waiting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from germane.compaction.notes import ExchangeNotes
from germane.compaction.summary import SpanSummary
from germane.types.message import Message

__all__ = ["CoveredSpan", "SummarySource"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveredSpan:
    """The messages before one boundary of a conversation, from its beginning.

    `conversation` is any name that stays the same while the conversation goes on. `fingerprint` is a hash of what is covered,
    such as the handle of the span: another one where any of the messages was edited. `messages` are those covered, `exchanges`
    the notes of each exchange among them with the index where it ends. `earlier` are the boundaries before this one, oldest
    first: what each covers, and its fingerprint. `count` returns the tokens of a text for the model that reads the summary."""

    conversation: str
    fingerprint: str
    messages: tuple[Message, ...]
    exchanges: tuple[tuple[int, ExchangeNotes], ...]
    max_tokens: int
    count: Callable[[str], int]
    ids: tuple[str, ...] = ()
    earlier: tuple[tuple[int, str], ...] = ()

    @property
    def covers(self) -> int:
        return len(self.messages)

    @property
    def notes(self) -> tuple[ExchangeNotes, ...]:
        return tuple(notes for _, notes in self.exchanges)


class SummarySource(Protocol):
    """Has summaries of spans that a language model wrote, or none."""

    def summary(self, span: CoveredSpan) -> SpanSummary | None:
        """Returns a summary that stands for the whole span; None where the extractive one serves. Returns at once, and for the
        same fingerprint always the same, unless it says otherwise."""
