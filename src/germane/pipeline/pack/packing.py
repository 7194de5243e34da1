"""Packing: the result of the pack stage: what was chosen, what was left out and why (PACK-3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from germane.pipeline.pack.eligibility import Eligibility
from germane.types.amount import TokenPrice
from germane.types.candidate import Chosen, LeftOut, Reason, Scored, Sensitivity

__all__ = ["Packing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """`tokens` is measured on the final text. `directive` is empty when it was left out, and `directive_left_out` says why.
    What was left out stands in three parts, of which the last two may be long: `refused` with a reason each, `untried` because
    the budget was spent before their turn, in score order, and `dropped` below the floor."""

    directive: str
    chosen: tuple[Chosen, ...]
    refused: tuple[LeftOut, ...]
    tokens: int
    untried: tuple[Scored, ...] = ()
    dropped: tuple[Scored, ...] = ()
    sensitivities: frozenset[Sensitivity] = frozenset()
    """The sensitivities that were allowed."""
    directive_left_out: str = ""
    withheld: bool = False
    """Whether nothing that was searched for goes in, as nothing is needed."""
    price: TokenPrice | None = None
    """What a token had to bring; None where the budget was to be used."""
    bound: float | None = None
    """Upper bound on `value` of any packing of these candidates, at the costs line by line; None where items weren't chosen
    together (PACK-6)."""

    @property
    def value(self) -> float:
        """Expected number of relevant items shown: Σ score × fraction shown, over what was chosen."""
        return sum(item.score * item.share for item in self.chosen)

    @property
    def gap(self) -> float | None:
        """How much higher the value of another packing could be at most; 0 where this one is proven best."""
        return None if self.bound is None else max(0.0, self.bound - self.value)

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Every candidate that does not go in, and why; built on each access."""
        return (
            *(LeftOut(scored=item, reason="below_floor") for item in self.dropped),
            *self.refused,
            *self._untried(),
        )

    @property
    def skipped(self) -> int:
        """Number of candidates left out."""
        return len(self.refused) + len(self.untried) + len(self.dropped)

    @property
    def was_truncated(self) -> bool:
        """Whether anything was left out for lack of budget, or shortened."""
        left_out = chain(self.refused, self._untried() if self.price is None else ())  # at a price none is for the budget
        spent = any(
            item.reason in ("budget", "kind_cap", "source_cap") and (not self.withheld or item.scored.candidate.required)
            for item in left_out
        )
        return spent or bool(self.directive_left_out) or any(item.share < 1 for item in self.chosen)

    def _untried(self) -> Iterator[LeftOut]:
        """The untried items; those that aren't eligible either are left out for that reason, the others for the price or for
        the budget."""
        reason: Reason = "budget" if self.price is None else "price"
        seen = [out.scored for out in self.refused if out.reason not in ("duplicate", "sensitivity")]
        seen += [item.scored for item in self.chosen]
        eligibility = Eligibility(self.sensitivities, (item.candidate for item in seen))
        for item in self.untried:
            passed = eligibility.filter((item,))
            yield LeftOut(scored=item, reason=reason) if passed else eligibility.refused[-1]
