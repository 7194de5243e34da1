"""The exact packer from end to end."""

from __future__ import annotations

import pytest

from germane import Agent
from germane.api.strategies import COMPACT, derive
from support.stories import ask, told

EXACT = derive(COMPACT, {"name": "exactly", "packer": "exact"})


@pytest.mark.requirement("PACK-6", "ENGINE-5")
async def test_the_explanation_tells_what_was_reached_and_how_far_off_it_can_be(agent: Agent) -> None:
    """Only where items were chosen together."""
    await told(agent)
    context = await ask(agent, strategy=EXACT, max_tokens=90, deadline=None)
    assert context.trace.gap == 0
    assert "relevant items to be expected; no other choice shows more" in context.explain()
    greedy = await ask(agent, strategy=COMPACT, max_tokens=90, deadline=None)
    assert greedy.trace.gap is None
    assert "packed exactly" not in greedy.explain()
