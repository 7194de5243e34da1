"""What `deadline` may be: seconds, from hardly any to a minute; milliseconds are refused with a hint."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from germane import Agent, InvalidInput, sync

ASKED = [{"role": "user", "content": "What do I drink?"}]


@pytest.mark.requirement("ENGINE-10")
@pytest.mark.parametrize("deadline", [None, 0.001, 0.005, 0.048, 0.25, 1, 30, 30.5, 48.0, 60.0])
async def test_any_time_up_to_a_minute_is_taken_as_given(agent: Agent, deadline: float | None) -> None:
    context = await agent.assemble(ASKED, model="gpt-4o", deadline=deadline)
    assert context.messages[-1] == ASKED[0]


@pytest.mark.requirement("ENGINE-10")
@pytest.mark.parametrize(
    ("deadline", "hint"),
    [
        (48, "deadline is in seconds, at most 60, not 48: did you mean 0.048? 48 seconds are 48.0."),
        (250, "not 250: did you mean 0.25?"),
        (3600, "not 3600: did you mean 3.6?"),
        (61.0, "not 61.0: did you mean 0.061?"),
        (86_400_000, "not 86400000: None waits for every source"),
    ],
)
async def test_what_looks_like_milliseconds_is_refused_with_a_hint(agent: Agent, deadline: float, hint: str) -> None:
    """A whole number from 31 on as well: nobody writes 48 for 48 seconds by chance."""
    with pytest.raises(InvalidInput, match=re.escape(hint)):
        await agent.assemble(ASKED, model="gpt-4o", deadline=deadline)


@pytest.mark.requirement("ENGINE-10")
@pytest.mark.parametrize("deadline", [0, 0.0, -1, -0.048, math.nan, math.inf, -math.inf, True, False, "0.048", [0.048], 10**99])
async def test_what_is_no_time_is_refused(agent: Agent, deadline: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^deadline "):
        await agent.assemble(ASKED, model="gpt-4o", deadline=deadline)


@pytest.mark.requirement("ENGINE-10")
def test_the_blocking_twin_refuses_the_same() -> None:
    with sync.Germane.open(":memory:") as germane, pytest.raises(InvalidInput, match=r"did you mean 0\.048"):
        germane.agent().assemble(ASKED, model="gpt-4o", deadline=48)
