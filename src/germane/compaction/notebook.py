"""Notebook: the notes of the exchanges that leave, each read once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from germane.compaction.boundaries import Span
from germane.compaction.notes import ExchangeNotes
from germane.compaction.plain_notes import read_exchange
from germane.types.message import Message

__all__ = ["Notebook"]


class Notebook:
    """Reads notes of `messages`, which may grow behind those that were read."""

    __slots__ = ("_count", "_messages", "_notes")

    def __init__(self, messages: Sequence[Message], count: Callable[[str], int]) -> None:
        self._messages, self._count = messages, count
        self._notes: dict[Span, ExchangeNotes] = {}

    def of(self, span: Span) -> ExchangeNotes:
        """Returns the notes of the messages of a span."""
        notes = self._notes.get(span)
        if notes is None:
            notes = self._notes[span] = read_exchange(self._messages[span[0] : span[1]])
        return notes

    def constraints(self, span: Span) -> Iterator[tuple[str, int]]:
        """Yields each constraint of the span, with its tokens as a line."""
        for each in self.of(span).constraints:
            yield each.text, self._count(each.text) + 4
