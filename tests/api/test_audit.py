"""Audit: what deserves a look is found and named, without its content."""

from __future__ import annotations

from datetime import timedelta

import pytest

from germane import Agent, Germane, InvalidInput
from support.calendar import Calendar, Opening

SECRET = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"


async def test_a_clean_scope_has_no_findings(agent: Agent) -> None:
    """New memories needn't have been retrieved."""
    await agent.remember("Prefers e-mail to phone calls", kind="preference")
    report = await agent.audit()
    assert (report.clean, report.memories, report.messages, report.findings) == (True, 1, 0, ())


@pytest.mark.requirement("MEM-4")
async def test_each_kind_is_found_with_its_ids(opening: Opening, calendar: Calendar) -> None:
    """Once for each pair or group; details hold no content."""
    async with opening(secrets="off") as germane:
        agent = germane.agent("support", org="acme", user="caroline")
        near = [await agent.remember(text) for text in ("The build is reset every night", "The build is reset every night!")]
        same = [await agent.remember(kind="fact", key=key, value="Leith") for key in ("Home", "home")]
        two = [await agent.remember(f"The returns desk closes at {hour}:00") for hour in (17, 18)]
        old = await agent.remember("Short-lived", expires_at=calendar.moment + timedelta(days=1))
        source = await agent.remember(kind="fact", key="shop", value="Harbour Lane")
        derived = await agent.remember("Take the tram", derived_from=[source.id])
        secret = await agent.remember(f"The token is {SECRET}")
        (message,) = (await agent.record([{"role": "user", "content": f"it is {SECRET}"}], session="s")).added
        calendar.advance(days=40)
        await agent.remember(kind="fact", key="shop", value="High Street")
        await agent.remember("Later, and never retrieved")
        report = await agent.audit()
    found: dict[str, set[frozenset[str]]] = {}
    for finding in report.findings:
        found.setdefault(finding.kind, set()).add(frozenset(finding.ids))
    assert found["duplicate"] == {frozenset(memory.id for memory in same)}
    assert frozenset(memory.id for memory in near) in found["near_duplicate"]
    assert found["contradiction"] == {frozenset(memory.id for memory in two)}
    assert found["secret"] == {frozenset([secret.id]), frozenset([message])}
    assert found["expired"] == {frozenset([old.id])}
    assert found["stale"] == {frozenset([derived.id])}
    assert frozenset([near[0].id]) in found["never_retrieved"]
    assert report.counts == {kind: sum(one.kind == kind for one in report.findings) for kind in report.counts}
    assert (report.memories, report.messages) == (12, 1)
    assert not any(word in finding.detail for finding in report.findings for word in (SECRET, "tram", "Leith", "desk"))


async def test_findings_are_limited_and_counted(agent: Agent, calendar: Calendar) -> None:
    """And messages are left out on request."""
    for number in range(5):
        await agent.remember(f"Note {number} about {'abcde'[number] * 9}")
    calendar.advance(days=31)
    report = await agent.audit(limit=2, messages=False)
    assert (report.counts["never_retrieved"], len(report.findings)) == (5, 2)
    assert (await agent.audit(unused_days=32)).counts["never_retrieved"] == 0


async def test_only_ones_own_is_examined(agent: Agent, germane: Germane) -> None:
    """What is agent-wide is examined from a scope without a user."""
    await germane.agent("support", org="acme").remember("Shared")
    await germane.agent("support", org="acme", user="melanie").remember("Hers")
    assert (await agent.audit()).memories == 0
    assert (await germane.agent("support", org="acme").audit()).memories == 1


@pytest.mark.parametrize("given", [{"limit": 0}, {"limit": 1001}, {"unused_days": -1}, {"messages": 1}])
async def test_arguments_that_make_no_sense_are_refused(agent: Agent, given: dict[str, int]) -> None:
    """Before anything is read."""
    with pytest.raises(InvalidInput):
        await agent.audit(**given)  # type: ignore[arg-type]
