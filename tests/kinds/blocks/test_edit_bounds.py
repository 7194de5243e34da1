"""Edit: what an edit may ask for is checked before any of it is done."""

from __future__ import annotations

from typing import Any

import pytest

from germane import Agent
from germane.errors import InvalidInput
from germane.kinds.blocks.plans import screened_mutations

pytestmark = pytest.mark.requirement("BLK-4", "LIMITS-2")


def test_all_mutations_together_have_a_size() -> None:
    """Each of them may be as large as a block, all of them four times that."""
    text: dict[str, Any] = {"op": "set_text", "text": "x" * 99_000}
    assert len(screened_mutations([text] * 4, "off")[0]) == 4
    with pytest.raises(InvalidInput, match="are allowed in one edit: make several edits"):
        screened_mutations([text] * 5, "off")
    many: dict[str, Any] = {"op": "set_value", "value": list(range(1_000))}
    with pytest.raises(InvalidInput, match="are allowed in one edit"):
        screened_mutations([many] * 900, "off")


async def test_many_mutations_that_look_through_a_long_text_are_refused(agent: Agent) -> None:
    """Nobody else can write while they do; of a short text there may be as many as ever."""
    await agent.blocks.create("long", text="x" * 50_000 + "\n", limit=100_000, permission="admin")
    line: dict[str, Any] = {"op": "insert_lines", "line": 0, "text": "a"}
    with pytest.raises(InvalidInput, match="on 50,001 characters, 399 are allowed"):
        await agent.blocks.edit("long", *[line] * 400)
    await agent.blocks.create("short", text="", permission="admin")
    assert (await agent.blocks.edit("short", *[line] * 400)).text.startswith("a\na\n")


async def test_with_base_a_text_is_set_once(agent: Agent) -> None:
    """Each would be merged with what was changed since."""
    block = await agent.blocks.create("notes", text="one two", permission="admin")
    await agent.blocks.set_text("notes", "one two three")
    twice = [{"op": "set_text", "text": "zero one two"}, {"op": "set_text", "text": "one"}]
    with pytest.raises(InvalidInput, match="may set a text once"):
        await agent.blocks.edit("notes", *twice, base=block.version)
    await agent.blocks.edit("notes", twice[0], {"op": "append_text", "text": " four"}, base=block.version)
    assert (await agent.blocks.get("notes")).text == "zero one two three four"
