"""Hasty packing: packs in rank order by upper bounds of the costs, for when the answer is due soon (ENGINE-12).

The directive is counted exactly. An item costs the bytes that it takes as written, which no tokenizer exceeds and which are
four times its tokens for plain English. So fewer items go in than fit, and none is shortened, weighed or counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from germane.pipeline.pack.budget_state import BudgetState
from germane.pipeline.pack.cost import Layout, fit_directive
from germane.pipeline.pack.eligibility import Eligibility
from germane.pipeline.pack.packing import Packing
from germane.pipeline.pack.shares import CapUsage
from germane.pipeline.pack.task_shares import is_task, place_tasks
from germane.types.candidate import LeftOut, Scored, Sensitivity
from germane.types.strategy import Strategy

__all__ = ["pack_hastily"]

_MAX_ITEMS = 24
"""Items that go in at most; each costs some ten microseconds to write."""
_MAX_MISSES = 8
"""After so many items in a row that didn't fit, the rest isn't tried."""


def pack_hastily(
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
