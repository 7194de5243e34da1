"""Cost: the protocol by which packing asks the layout what an item costs as written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from germane.types.candidate import Candidate, Chosen

__all__ = ["Layout", "Shortened", "fit_directive"]


class Shortened(Protocol):
    """An excerpt: its text, and the fraction of the original text's characters that it keeps."""

    @property
    def text(self) -> str: ...
    @property
    def share(self) -> float: ...


class Layout(Protocol):
    """Costs in the target model's tokens, wrapper and escapes included; `format.layout.Format` implements it. Only `total` is
    measured on the final text and decides whether the budget is kept; the other costs are estimates line by line."""

    def fixed(self, directive: str) -> int:
        """Tokens of the directive, the standing notice and the outermost wrapper."""

    def cost(self, candidate: Candidate, text: str) -> int:
        """Tokens of the item's own line, without the header that it stands under."""

    def group(self, candidate: Candidate) -> str:
        """The group whose header the item stands under."""

    def header(self, candidate: Candidate) -> int:
        """Tokens of the header of the item's group, which the first item of the group pays for."""

    def chars(self, candidate: Candidate, text: str) -> int:
        """Characters of the item's own line as written, its line break included."""

    def wrapper_chars(self) -> int:
        """Characters of the outermost wrapper around the items."""

    def shorten(self, candidate: Candidate, tokens: int, chars: int | None = None) -> Shortened | None:
        """An excerpt around the query's terms that costs at most `tokens` as written, and whose line has at most `chars`
        characters; None when nothing useful fits."""

    def total(self, directive: str, chosen: Sequence[Chosen]) -> int:
        """Tokens of the whole text as it will be written."""


def fit_directive(directive: str, available: int, layout: Layout) -> tuple[str, int, str]:
    """The directive where it fits into `available` tokens, else an empty one; the tokens that are fixed then; and why it was
    left out (empty where it fits)."""
    fixed = layout.fixed(directive)
    if fixed > available and directive and (alone := layout.total(directive, ())) > available:
        return "", layout.fixed(""), f"it takes {alone} tokens of {available}"
    return directive, fixed, ""
