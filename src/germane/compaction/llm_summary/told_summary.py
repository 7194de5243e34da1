"""Told summary: prose that says what happened, in the place of the outline, with constraints and ledger of the rules beside it.

The text has the form of the extractive summary, so it is read back as that is, and no line of the prose can look like a
heading.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from germane.compaction.extractive import extractive_summary, notes_of_summary
from germane.compaction.notes import ExchangeNotes
from germane.text.sentences import sentences

__all__ = ["pinned_tokens", "prose_lines", "thinned_lines", "told_summary"]

_MARKS = "-*•– \t"
"""What lists begin with."""
Count = Callable[[str], int]


def prose_lines(prose: str) -> tuple[str, ...]:
    """Returns the sentences, each on one line, without the marks of a list. Linear."""
    lines = (" ".join(prose[start:end].split()).lstrip(_MARKS) for start, end in sentences(prose))
    return tuple(line for line in lines if line)


def told_summary(lines: Sequence[str], notes: Sequence[ExchangeNotes], max_tokens: int, count: Count) -> str:
    """Returns constraints and artifacts of `notes`, and `lines` in the place of the notes' own: at most `max_tokens` by
    `count`; '' where the lines don't fit as a whole. Linear."""
    told = [ExchangeNotes(line=line) for line in lines]
    text = extractive_summary([*_pinned(notes), *told], max_tokens, count) if max_tokens > 0 else ""
    return text if [one.line for one in notes_of_summary(text) if one.line] == list(lines) else ""


def pinned_tokens(notes: Sequence[ExchangeNotes], max_tokens: int, count: Count) -> int:
    """Returns what constraints and artifacts of `notes` take of `max_tokens`."""
    return count(extractive_summary(_pinned(notes), max_tokens, count))


def thinned_lines(
    lines: Sequence[str], notes: Sequence[ExchangeNotes], newer: Sequence[ExchangeNotes], max_tokens: int, count: Count
) -> tuple[str, ...]:
    """Returns `lines`, which stand for those of `notes`, and then as many of the lines of `newer` as fit a told summary of all
    of them; nothing where no line does. Linear."""
    room = max_tokens - count("".join(f"- {line}\n" for line in lines))
    text = extractive_summary([*_pinned(notes), *newer], room, count) if room > 0 else ""
    added = tuple(one.line for one in notes_of_summary(text) if one.line)
    return (*lines, *added) if added else ()


def _pinned(notes: Sequence[ExchangeNotes]) -> list[ExchangeNotes]:
    return [replace(one, line="") for one in notes]
