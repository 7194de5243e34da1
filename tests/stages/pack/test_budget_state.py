"""The budget's state: trying something on a copy leaves the original unchanged."""

from __future__ import annotations

from germane.stages.pack.shares import BudgetState, CapUsage
from germane.types.candidate import LeftOut
from germane.types.strategy import Cap, Shares
from support.plain_layout import item


def test_a_copy_takes_items_without_the_original() -> None:
    """Neither the tokens, the caps nor the lists are shared."""
    state = BudgetState(100, CapUsage(Shares(total=Cap(items=1)), 100))
    trial = state.copy()
    trial.add(item(20), "text", 1.0, 20)
    trial.refused.append(LeftOut(scored=item(20), reason="budget"))
    trial.untried.append(item(20))
    assert (trial.tokens_left, len(trial.chosen)) == (80, 1)
    assert trial.usage.refusal(item(20).candidate, "text", 20) == "budget"
    assert (state.tokens_left, state.chosen, state.refused, state.untried) == (100, [], [], [])
    assert state.usage.refusal(item(20).candidate, "text", 20) is None
