"""Shortening in whole assemblies: what becomes of long items, by the strategy."""

from __future__ import annotations

import pytest

from germane import Agent, InvalidInput, derive
from germane.api.strategies import COMPACT
from support.stories import ask, told

LONG = "The minutes of the harbour meeting. " + " ".join(
    f"Item {number}: the crane of berth {number} is to be painted in colour {number}." for number in range(60)
)
TALK = [
    {"id": "m1", "role": "user", "content": LONG},
    {"id": "m2", "role": "user", "content": "The harbour master is called Ana."},
    {"id": "m3", "role": "user", "content": LONG.replace("harbour meeting", "harbour committee")},
]
QUESTION = "What about the harbour?"


@pytest.mark.requirement("PACK-5")
@pytest.mark.parametrize("mode", ["excerpt", "summary", "breadcrumb", "none"])
async def test_a_strategy_says_what_becomes_of_long_items(agent: Agent, mode: str) -> None:
    """The budget is kept, what is short is whole, and the metadata say that something was shortened."""
    await told(agent, TALK)
    context = await ask(agent, QUESTION, strategy=derive(COMPACT, {"name": mode, "shorten": mode}), max_tokens=300)
    shown = {item.provenance.message_id: item for item in context.items}
    assert shown["m2"].text == "The harbour master is called Ana."
    assert context.metadata.total_tokens_injected <= 300
    assert context.metadata.was_truncated
    if mode == "none":
        assert set(shown) == {"m2"}
    elif mode == "breadcrumb":
        assert shown["m1"].share == shown["m3"].share == 0
        assert "tokens: expand with its handle" in context.added
    else:
        assert 0 < shown["m1"].share < 1


async def test_with_room_a_breadcrumb_strategy_shows_everything_whole(agent: Agent) -> None:
    """A pointer stands only where the text itself has no room."""
    await told(agent, TALK)
    context = await ask(agent, QUESTION, strategy=derive(COMPACT, {"name": "b", "shorten": "breadcrumb"}), max_tokens=8_000)
    assert {item.share for item in context.items} == {1.0}


def test_a_strategy_with_an_unknown_way_is_refused() -> None:
    """With the ways there are."""
    with pytest.raises(InvalidInput, match="shorten must be one of breadcrumb, excerpt, none, summary, not 'cut'"):
        derive(COMPACT, {"shorten": "cut"})
