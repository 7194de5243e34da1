"""What an assembly has made is freed with its answer, and doesn't wait for the garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from germane import Agent

pytestmark = pytest.mark.requirement("ENGINE-8")


@contextmanager
def _collected() -> Iterator[list[str]]:
    """Yields a list, which afterwards holds the types of germane's that only the collector could free."""
    found = list[str]()
    gc.collect()
    gc.disable()
    try:
        yield found
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        found += sorted({type(one).__name__ for one in gc.garbage if type(one).__module__.startswith("germane.")})
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


async def test_a_conversation_made_fit_is_no_cycle(agent: Agent) -> None:
    """Another one of the same session takes its place, and what followed the first holds all of its messages."""
    with _collected() as left:
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
    with _collected() as left:
        for number in range(4):
            asked = [{"role": "user", "content": f"Which tea is green, number {number}?"}]
            context = await agent.assemble(asked, model="gpt-4o", session=session, deadline=None)
            assert context.items
            assert any(report.status == "skipped" for report in context.metadata.sources)
            del context
    assert left == []
