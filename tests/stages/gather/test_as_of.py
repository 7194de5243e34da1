"""What was known at a time that is asked about."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from germane import Agent
from germane.types.query import Filters

ASKED = [{"role": "user", "content": "When is the launch?"}]
MAY = datetime(2026, 5, 1, tzinfo=UTC)
JUNE = datetime(2026, 6, 1, tzinfo=UTC)


async def filled(agent: Agent) -> None:
    said = (("m1", "The launch is on 5 May", "2026-04-20T10:00Z"), ("m2", "The launch moved to 9 June", "2026-05-10T10:00Z"))
    messages: list[Any] = [{"role": "user", "content": text, "id": id, "created_at": at} for id, text, at in said]
    await agent.record(messages, session="s1")
    await agent.remember("5 May", kind="fact", key="launch", valid_from="2026-04-20T10:00Z")
    await agent.remember("9 June", kind="fact", key="launch", valid_from="2026-05-10T10:00Z")


@pytest.mark.requirement("GATHER-6", "SCOPE-4", "FORMAT-3")
@pytest.mark.parametrize("strategy", ["default", "verbose"])
async def test_what_was_said_or_became_valid_later_isnt_known(agent: Agent, strategy: str) -> None:
    """Neither as a memory nor as a message; asked as of later, the later value holds."""
    await filled(agent)
    then = await agent.assemble(ASKED, model="gpt-4o", at=MAY, deadline=None, strategy=strategy)
    later = await agent.assemble(ASKED, model="gpt-4o", at=JUNE, deadline=None, strategy=strategy)
    assert ("5 May" in then.added, "9 June" in then.added) == (True, False)
    assert ("launch: 5 May" in later.added, "launch: 9 June" in later.added) == (False, True)


@pytest.mark.requirement("GATHER-6")
async def test_without_a_time_nothing_is_hidden(agent: Agent) -> None:
    """A caller's clock may run ahead of ours; a filter's own end holds where it is earlier."""
    await agent.record(
        [{"role": "user", "content": "See you at the launch tomorrow", "created_at": "2199-01-01T00:00Z"}], session="s1"
    )
    assert "tomorrow" in (await agent.assemble(ASKED, model="gpt-4o", deadline=None)).added
    found = await agent.search("launch", at=JUNE, filters=Filters(until=MAY))
    assert found == ()
