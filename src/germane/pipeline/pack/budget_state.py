"""Budget state: what has gone in so far, what was refused, and what is left of the tokens and of each cap."""

from __future__ import annotations

from germane.pipeline.pack.shares import CapUsage
from germane.types.candidate import Chosen, LeftOut, Scored

__all__ = ["BudgetState"]


class BudgetState:
    """Mutable; lives for one packing. `untried` are items whose turn didn't come before the budget was spent. `gap` is how much
    more value could have gone in at most, where items were chosen together."""

    __slots__ = ("chosen", "gap", "refused", "tokens_left", "untried", "usage")

    def __init__(self, tokens_left: int, usage: CapUsage) -> None:
        self.tokens_left, self.usage = tokens_left, usage
        self.chosen: list[Chosen] = []
        self.refused: list[LeftOut] = []
        self.untried: list[Scored] = []
        self.gap = 0.0

    def copy(self) -> BudgetState:
        """An independent copy, to try a packing on."""
        other = BudgetState(self.tokens_left, self.usage.copy())
        other.chosen, other.refused, other.untried = self.chosen.copy(), self.refused.copy(), self.untried.copy()
        other.gap = self.gap
        return other

    def add(self, item: Scored, text: str, share: float, tokens: int) -> None:
        """Puts an item in: its `text`, the fraction of the original that it is, and its tokens."""
        self.usage.add(item.candidate, text, tokens)
        self.tokens_left -= tokens
        self.chosen.append(Chosen(item, text, tokens, share))
