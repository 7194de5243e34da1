"""`agent.expand`: the whole text of what was shown in part."""

from __future__ import annotations

from typing import Any

import pytest

from germane import Agent, Context, Filters, Germane, InvalidInput, NotFound, derive
from germane.api.strategies import COMPACT
from support.stories import ask, told

MINUTES = "The minutes of the harbour meeting. " + " ".join(
    f"Item {number}: the crane of berth {number} is to be painted in colour {number}." for number in range(400)
)
CRUMBS = derive(COMPACT, {"name": "crumbs", "shorten": "breadcrumb"})


async def shown(agent: Agent, **options: Any) -> Context:
    await told(agent, [{"id": "m1", "role": "user", "content": MINUTES}])
    return await ask(agent, "What about the harbour?", strategy=CRUMBS, max_tokens=200, **options)


@pytest.mark.requirement("PACK-5")
async def test_a_breadcrumbs_handle_gives_the_whole_text(agent: Agent) -> None:
    """Though only a passage of it was read; the id does too."""
    context = await shown(agent)
    (item,) = context.items
    assert "tokens: expand with its handle" in context.added
    assert await agent.expand(item.handle, context) == MINUTES
    assert await agent.expand(item.id, context) == MINUTES
    assert await agent.expand(item.id) == MINUTES
    assert await agent.expand("m1") == MINUTES


@pytest.mark.requirement("PACK-8")
async def test_what_was_forgotten_since_is_not_expanded(agent: Agent) -> None:
    """Whatever the context still holds."""
    context = await shown(agent)
    await agent.forget([context.items[0].id])
    for name in (context.items[0].handle, context.items[0].id):
        with pytest.raises(NotFound):
            await agent.expand(name, context)


@pytest.mark.requirement("SCOPE-3")
async def test_another_scopes_handle_gives_nothing(germane: Germane, agent: Agent) -> None:
    """Neither with the context in hand nor by id."""
    context = await shown(agent)
    bob = germane.agent("support", org="acme", user="bob")
    for name, within in ((context.items[0].handle, context), (context.items[0].id, context), (context.items[0].id, None)):
        with pytest.raises(NotFound):
            await bob.expand(name, within)


@pytest.mark.requirement("GATHER-5")
async def test_sensitivity_holds_as_in_the_context(agent: Agent) -> None:
    """What is sensitive is expanded only for a context that was allowed to show it."""
    await agent.record([{"role": "user", "content": "hello"}], session="s1")
    memory = await agent.remember("Salary talks are confidential", sensitivity="sensitive", pinned=True)
    every = Filters(sensitivities=("public", "private", "sensitive"))
    open_, closed = await ask(agent, "salary?", filters=every), await ask(agent, "salary?")
    assert await agent.expand(memory.id, open_) == "Salary talks are confidential"
    for context in (closed, None):
        with pytest.raises(NotFound):
            await agent.expand(memory.id, context)


async def test_a_name_that_stands_for_nothing_is_refused(agent: Agent) -> None:
    """With the same error as everywhere."""
    with pytest.raises(NotFound):
        await agent.expand("a77", await shown(agent))
    with pytest.raises(InvalidInput):
        await agent.expand(3)  # type: ignore[arg-type]
