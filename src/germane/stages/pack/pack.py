"""Pack: chooses the items that fit: required items first, then the others by the strategy's packer.

An item that doesn't fit is skipped and the next one is tried. If items are chosen together (`exact`), the tokens that this
leaves are filled one by one, with excerpts too. The final text is counted last: while it is above the budget, the
lowest-scoring item is removed. The result is a `Packing`: what was chosen, what was left out and why (PACK-3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress

from germane.stages.pack.budget_packer import BudgetPacker
from germane.stages.pack.greedy import Eligibility, Layout, fit_directive
from germane.stages.pack.shares import BudgetState, CapUsage, is_task, place_tasks
from germane.types.budget import TokenPrice
from germane.types.candidate import Chosen, LeftOut, Reason, Scored, Sensitivity
from germane.types.strategy import Strategy


def pack(
    ranked: Sequence[Scored],
    dropped: Sequence[Scored],
    *,
    available: int,
    layout: Layout,
    strategy: Strategy,
    directive: str = "",
    sensitivities: Sequence[Sensitivity] = ("public", "private"),
    price: TokenPrice | None = None,
    broad: bool = False,
    stop: Callable[[], bool] = lambda: False,
) -> Packing:
    """Packs `ranked`, the items that may go in, into at most `available` tokens in all. `dropped` are the items below the
    floor. With a `price`, items go in while they are worth their tokens (AMOUNT-1). `broad` shows short passages of many
    messages. `stop` ends an exact search early, with the best packing so far and the bound that still holds."""
    others, required = _by_rank(ranked), list[Scored]()
    if True in (needed := [item.candidate.required for item in others]):
        required = list(compress(others, needed))
        others = [item for item in others if not item.candidate.required]
    directive, fixed, refused = fit_directive(directive, available, layout)
    eligibility = Eligibility(sensitivities)
    packer = BudgetPacker(available, fixed, layout, strategy, eligibility, stop, price, broad)
    packer.fill_tasks([item for item in required if is_task(item.candidate)], available)
    packer.fill([item for item in required if not is_task(item.candidate)])
    packer.fill(others, together=packer.together)
    packer.grow()
    packing = Packing(
        directive=directive,
        chosen=tuple(packer.state.chosen),
        refused=(*eligibility.refused, *packer.state.refused),
        untried=tuple(packer.state.untried),
        dropped=tuple(_by_rank(dropped)),
        sensitivities=frozenset(sensitivities),
        tokens=0,
        directive_left_out=refused,
        price=price,
    )
    if packer.together:
        packing = replace(packing, bound=packing.value + packer.state.gap)
    return trim(packing, available, layout)


def withhold(packing: Packing, available: int, layout: Layout) -> Packing:
    """The packing without what was searched for: P(need) is too low (NEED-1). Required items and the directive stay."""
    kept = tuple(item for item in packing.chosen if item.scored.candidate.required)
    if len(kept) == len(packing.chosen):
        return replace(packing, withheld=True)
    gone = (item for item in packing.chosen if not item.scored.candidate.required)
    refused = tuple(LeftOut(scored=item.scored, reason="not_needed", tokens=item.tokens) for item in gone)
    return trim(replace(packing, chosen=kept, refused=(*packing.refused, *refused), withheld=True), available, layout)


def trim(packing: Packing, available: int, layout: Layout) -> Packing:
    """Counts the final text; while it is above `available` tokens, removes the lowest-scoring item, required items and the
    directive last (BUD-4)."""
    chosen, out, directive, refused = list(packing.chosen), list(packing.refused), packing.directive, ""
    while (tokens := layout.total(directive, chosen)) > available:
        if not chosen and not directive:
            break
        if not chosen:
            directive, refused = "", f"it takes {tokens} tokens of {available}"
            continue
        excess = tokens - available  # far above the budget, several items go before the next count, but none too many
        while chosen and excess > 0:
            worst = max(chosen, key=lambda item: (not item.scored.candidate.required, item.scored.rank))
            chosen.remove(worst)
            excess -= 2 * worst.tokens + 16
            out.append(LeftOut(scored=worst.scored, reason="budget", tokens=worst.tokens))
    return replace(
        packing,
        chosen=tuple(chosen),
        refused=tuple(out),
        directive=directive,
        tokens=tokens,
        directive_left_out=packing.directive_left_out or refused,
    )


def _by_rank(items: Sequence[Scored]) -> Sequence[Scored]:
    """The items by rank; the same sequence where it is in order already, as scoring returns it."""
    ranks = [item.rank for item in items]
    return items if ranks == sorted(ranks) else sorted(items, key=lambda item: item.rank)


# Packing in rank order by upper bounds of the costs, for when the answer is due soon (ENGINE-12). The directive is
# counted exactly. An item costs the bytes that it takes as written, which no tokenizer exceeds and which are four times
# its tokens for plain English. So fewer items go in than fit, and none is shortened, weighed or counted.


_MAX_ITEMS = 24
"""Items that go in at most; each costs some ten microseconds to write."""
_MAX_MISSES = 8
"""After so many items in a row that didn't fit, the rest isn't tried."""


def pack_by_bounds(
    ranked: Sequence[Scored],
    dropped: Sequence[Scored],
    *,
    available: int,
    layout: Layout,
    bounds: Layout,
    strategy: Strategy,
    directive: str = "",
    sensitivities: Sequence[Sensitivity] = ("public", "private"),
    needed: bool = True,
    stop: Callable[[], bool] = lambda: False,
) -> Packing:
    """Packs `ranked` in its order, required items first, into at most `available` tokens. `layout` counts the directive
    exactly, `bounds` costs items by upper bounds. Where nothing is `needed`, only required items go in. `stop` ends the packing
    early. `tokens` of the result is an upper bound."""
    directive, fixed, refused = fit_directive(directive, available, layout)
    state = BudgetState(
        available - fixed, CapUsage(strategy.shares, available, size=layout.chars, wrapper=layout.wrapper_chars)
    )
    eligibility, groups, misses = Eligibility(sensitivities), set[str](), 0
    order = sorted(ranked, key=lambda item: (not item.candidate.required, item.rank))
    tasks = [item for item in order if item.candidate.required and is_task(item.candidate)]
    if tasks:
        place_tasks(state, eligibility.filter(tasks), available, bounds)
        groups |= {bounds.group(item.scored.candidate) for item in state.chosen}
        order = [item for item in order if item not in tasks]
    for place, item in enumerate(order):
        candidate = item.candidate
        if not needed and not candidate.required:
            state.refused.append(LeftOut(scored=item, reason="not_needed"))
            continue
        if stop() or misses >= _MAX_MISSES or len(state.chosen) >= _MAX_ITEMS:
            state.untried += order[place:]
            break
        if not eligibility.filter((item,)):
            continue
        group = bounds.group(candidate)
        tokens = bounds.cost(candidate, candidate.text) + (0 if group in groups else bounds.header(candidate))
        reason = "budget" if tokens > state.tokens_left else state.usage.refusal(candidate, candidate.text, tokens)
        if reason is not None:
            state.refused.append(LeftOut(scored=item, reason=reason, tokens=tokens))
            misses += 1
            continue
        state.add(item, candidate.text, candidate.share, tokens)
        groups.add(group)
        misses = 0
    chosen, used = state.chosen, fixed + bounds.total("", state.chosen)
    while chosen and used > available:
        state.refused.append(LeftOut(scored=chosen[-1].scored, reason="budget", tokens=chosen[-1].tokens))
        del chosen[-1]
        used = fixed + bounds.total("", chosen)
    return Packing(
        directive=directive,
        chosen=tuple(chosen),
        refused=(*eligibility.refused, *state.refused),
        untried=tuple(state.untried),
        dropped=tuple(dropped),
        sensitivities=frozenset(sensitivities),
        tokens=used if chosen else layout.total(directive, ()),
        directive_left_out=refused,
        withheld=not needed,
    )


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
