"""Shortened outputs: what a command printed last is what says how it came out (FORMAT-5, PACK-5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane import Germane
from germane.stages.write.excerpts import ends_matter, event_excerpt


def cost(text: str) -> int:
    return len(text)


def test_the_first_line_and_the_end_are_kept() -> None:
    text = "Executed: `make`\n" + "\n".join(f"step {number}" for number in range(30)) + "\nE: no rule to make target"
    found = event_excerpt(text, 57, cost)
    assert found is not None
    assert found.text == "Executed: `make`\n…\nstep 29\nE: no rule to make target"
    assert found.share < 0.3


def test_nothing_is_shown_where_the_last_line_has_no_room() -> None:
    """The caller makes an excerpt around the query's words then."""
    assert event_excerpt("Executed: `make`\n" + "x" * 500, 100, cost) is None
    assert event_excerpt("Executed: `make`", 100, cost) is None
    assert all(ends_matter(type) for type in ("shell_exec", "test", "error"))
    assert not any(ends_matter(type) for type in ("file_read", "", "deploy"))


@given(st.text(alphabet="ab\n ", max_size=300), st.integers(1, 200))
def test_an_excerpt_never_costs_more_than_it_may(text: str, limit: int) -> None:
    """And it has the text's own first and last lines."""
    found = event_excerpt(text, limit, cost)
    if found is not None:
        assert cost(found.text) <= limit
        assert found.text.split("\n")[0] == text.split("\n")[0]
        assert found.text.split("\n")[-1] == text.rstrip().split("\n")[-1]
        assert 0 < found.share <= 1


@pytest.mark.requirement("FORMAT-5", "PACK-5")
async def test_the_error_of_a_long_output_is_in_a_small_context() -> None:
    """The beginning of a log is of no use to an agent that has to mend what failed."""
    async with Germane.open(":memory:", warm=False) as germane:
        agent = germane.agent("coder", user="ada")
        log = "\n".join(f"12:00:{number:02} INFO compiled part {number}" for number in range(20))
        content = {"command": "make", "stdout": f"{log}\nValueError: the okapi has no name"}
        await agent.events.record("shell_exec", content, session="s", outcome="exit 1")
        ask = [{"role": "user", "content": "Why does make fail?"}]
        options = {"model": "gpt-4o", "session": "s", "strategy": "compact", "max_tokens": 130, "deadline": None}
        context = await agent.assemble(ask, **options)  # type: ignore[arg-type]
        assert "ValueError: the okapi has no name" in context.added
        assert "part 3\n" not in context.added
