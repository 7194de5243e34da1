"""Told summary: a language model's prose in the place of the outline, with constraints and ledger of the rules beside it.

The text has the form of the extractive summary, so it is read back as that is, and no sentence can look like a heading.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from germane.compaction.extractive import extractive_summary
from germane.compaction.notes import ExchangeNotes
from germane.text.sentences import sentences

__all__ = ["pinned_tokens", "told_summary"]

_MARKS = "-*•– \t"
"""What lists begin with."""


def told_summary(
    prose: str,
    notes: Sequence[ExchangeNotes],
    max_tokens: int,
    count: Callable[[str], int],
    *,
    newer: Sequence[ExchangeNotes] = (),
) -> str:
    """Returns constraints and artifacts of `notes` and `newer`, then the sentences of `prose`, which stand for the lines of
    `notes`, then the lines of `newer`: at most `max_tokens` by `count`; '' where no sentence fits beside what is pinned.
    Linear."""
    told = [ExchangeNotes(line=line) for line in _lines(prose)]
    pinned = [ExchangeNotes(line="", constraints=one.constraints, artifacts=one.artifacts) for one in notes]
    text = extractive_summary([*pinned, *told, *newer], max_tokens, count)
    return text if any(one.line in text for one in told) else ""


def pinned_tokens(notes: Sequence[ExchangeNotes], max_tokens: int, count: Callable[[str], int]) -> int:
    """Returns what constraints and artifacts of `notes` take of `max_tokens`."""
    pinned = [ExchangeNotes(line="", constraints=one.constraints, artifacts=one.artifacts) for one in notes]
    return count(extractive_summary(pinned, max_tokens, count))


def _lines(prose: str) -> list[str]:
    """The sentences, each on one line, without the marks of a list."""
    lines = (" ".join(prose[start:end].split()).lstrip(_MARKS) for start, end in sentences(prose))
    return [line for line in lines if line]
