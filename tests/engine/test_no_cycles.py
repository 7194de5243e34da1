"""What an assembly has made is freed with its answer, and doesn't wait for the garbage collector."""

from __future__ import annotations

import pytest

from germane import Agent
from support.garbage import left_to_the_collector

pytestmark = pytest.mark.requirement("ENGINE-8")


def _of_germane(one: object) -> str:
    return type(one).__name__ if type(one).__module__.startswith("germane.") else ""


async def test_a_conversation_made_fit_is_no_cycle(agent: Agent) -> None:
    """Another one of the same session takes its place, and what followed the first holds all of its messages."""
    with left_to_the_collector(_of_germane) as left:
        for drink in ("Tea", "Milk", "Juice"):
            said = [{"role": ("user", "assistant")[n % 2], "content": f"{drink} number {n} is green. " * 9} for n in range(31)]
            context = await agent.assemble(
                said, model="gpt-4o", session="s1", history=True, history_tokens=1_000, deadline=None
            )
            assert context.metadata.history is not None
            assert len(context.messages) < len(said)
            del context
    assert left == []


@pytest.mark.parametrize("session", [None, "s1"])
async def test_an_assembly_is_no_cycle(agent: Agent, session: str | None) -> None:
    """A source that skips or fails keeps its frame in the error's traceback: what others found must not hang on it. Of 77
    candidates the collector would walk over each, and keep their texts until then."""
    said = [{"role": ("user", "assistant")[number % 2], "content": f"Tea number {number} is green."} for number in range(20)]
    await agent.record(said, session="s1")
    with left_to_the_collector(_of_germane) as left:
        for number in range(4):
            asked = [{"role": "user", "content": f"Which tea is green, number {number}?"}]
            context = await agent.assemble(asked, model="gpt-4o", session=session, deadline=None)
            assert context.items
            assert any(report.status == "skipped" for report in context.metadata.sources)
            del context
    assert left == []
