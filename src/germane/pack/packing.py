"""Packing: what was chosen, what was left out and why (PACK-3)."""

from __future__ import annotations

from dataclasses import dataclass

from germane.item import Chosen, LeftOut

__all__ = ["Packing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """`tokens` is measured on the final text, `directive` is empty when it was left out, `directive_left_out` says why."""

    directive: str
    chosen: tuple[Chosen, ...]
    left_out: tuple[LeftOut, ...]
    tokens: int
    directive_left_out: str = ""
    bound: float | None = None
    """What no packing of these candidates is worth more than, at the costs line by line; None where nobody asked (PACK-6)."""

    @property
    def value(self) -> float:
        """Expected relevant items shown: Σ score × share over what was chosen."""
        return sum(item.score * item.share for item in self.chosen)

    @property
    def gap(self) -> float | None:
        """How much more another packing could be worth at most; 0 where this one is proven best."""
        return None if self.bound is None else max(0.0, self.bound - self.value)

    @property
    def skipped(self) -> int:
        return len(self.left_out)

    @property
    def was_truncated(self) -> bool:
        """Anything was dropped for budget, or shortened."""
        spent = any(item.reason in ("budget", "kind_cap", "source_cap") for item in self.left_out)
        return spent or bool(self.directive_left_out) or any(item.share < 1 for item in self.chosen)
