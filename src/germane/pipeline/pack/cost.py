"""What packing must know of writing: what an item costs as written. `format/` fulfils it; stages don't import one another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from germane.types.candidate import Candidate, Chosen

__all__ = ["Layout", "Shortened"]


class Shortened(Protocol):
    @property
    def text(self) -> str: ...
    @property
    def share(self) -> float: ...


class Layout(Protocol):
    """Costs in the target model's tokens, wrapper and escapes included. `total` is measured on the final text and is the
    only number that counts; the others steer towards it."""

    def fixed(self, directive: str) -> int:
        """The directive, the standing line and the outermost wrapper."""

    def cost(self, candidate: Candidate, text: str, groups: frozenset[str]) -> int:
        """The item's own line, and its group's header unless `group(candidate)` is in `groups`."""

    def group(self, candidate: Candidate) -> str:
        """Which header it stands under."""

    def shorten(self, candidate: Candidate, tokens: int) -> Shortened | None:
        """An excerpt around what matches that costs at most `tokens` as written; None when nothing worth showing fits."""

    def total(self, directive: str, chosen: Sequence[Chosen]) -> int:
        """Tokens of everything as it will be written."""
