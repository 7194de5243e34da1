"""Tokenizer: how many tokens a text costs a model."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Tokenizer"]


class Tokenizer(Protocol):
    """Counts as the model would, or an upper bound (BUD-2). Never raises for any `str`, lone surrogates included."""

    @property
    def name(self) -> str:
        """Such as `o200k`, or `o200k×1.45 (estimate)`; appears in the trace."""

    @property
    def exact(self) -> bool: ...

    def count(self, text: str) -> int:
        """Tokens of `text`, special tokens read as plain text."""

    def ceiling(self, text: str) -> int:
        """At least `count(text)`, from the size alone: for when there is no time to count."""
