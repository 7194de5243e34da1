"""Tokenizer: the protocol for counting the tokens that a text costs a model."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Tokenizer"]


class Tokenizer(Protocol):
    """Counts exactly as the model does, or returns an upper estimate (BUD-2). Raises for no `str`, lone surrogates included."""

    @property
    def name(self) -> str:
        """Appears in the trace: `o200k`, or `o200k×1.45 (estimate)`."""

    @property
    def exact(self) -> bool:
        """Whether `count` is the model's own count; an estimate gets a wider safety margin."""

    def count(self, text: str) -> int:
        """Returns the tokens of `text`. Names of special tokens count as plain text."""

    def ceiling(self, text: str) -> int:
        """Returns an upper bound of `count(text)`, computed from the size alone: for texts there is no time to count."""
