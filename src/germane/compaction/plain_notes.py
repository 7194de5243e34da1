"""Plain notes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from germane.compaction.notes import ExchangeNotes
from germane.types.message import Message

__all__ = ["extractive_summary", "notes_of_summary", "read_exchange"]


def read_exchange(messages: Sequence[Message]) -> ExchangeNotes:
    said = next((m.text for m in messages if m.role == "user" and m.text.strip()), "")
    return ExchangeNotes(line=" ".join(said.split())[:160])


def extractive_summary(notes: Sequence[ExchangeNotes], max_tokens: int, count: Callable[[str], int]) -> str:
    lines = [f"- {each.line}" for each in notes if each.line]
    while lines and count("\n".join(lines)) > max_tokens:
        del lines[: max(1, len(lines) // 4)]
    return "\n".join(lines)


def notes_of_summary(text: str) -> tuple[ExchangeNotes, ...]:
    return tuple(ExchangeNotes(line=line.removeprefix("- ")) for line in text.splitlines() if line.strip())
