"""What a caller gets that can't wait at all."""

from __future__ import annotations

import pytest

from germane import Germane, InvalidInput

ASKED = [{"role": "user", "content": "Where does Ana live?"}]


@pytest.mark.requirement("ENGINE-2", "ENGINE-4")
async def test_the_directive_is_there_without_asking_the_store() -> None:
    """As it was last known; no memory, and the reason beside it."""
    async with Germane.open(":memory:") as germane:
        agent = germane.agent(user="ann")
        await agent.remember("Ana lives in Lisbon")
        await agent.directive("Be brief.")
        await germane._open.store.close()
        context = await agent.fallback(ASKED, model="gpt-4o", reason="shed")
    assert "Be brief." in str(context.messages[0])
    assert context.messages[-1] is ASKED[-1]
    assert (context.metadata.degradation_level, context.metadata.fallback_reason) == (2, "shed")
    assert context.metadata.directive_injected


async def test_without_a_directive_known_the_messages_go_alone() -> None:
    """Nothing is made up."""
    async with Germane.open(":memory:") as germane:
        context = await germane.agent("nobody").fallback(ASKED, model="gpt-4o")
    assert context.messages == ASKED
    assert (context.metadata.degradation_level, context.metadata.fallback_reason) == (3, "assembly_timeout")


async def test_what_the_caller_can_put_right_is_named() -> None:
    async with Germane.open(":memory:") as germane:
        with pytest.raises(InvalidInput, match="messages"):
            await germane.agent().fallback([], model="gpt-4o")
