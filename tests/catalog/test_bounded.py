"""Counting tokens within a time limit."""

from __future__ import annotations

import asyncio
import threading

import pytest

from germane.catalog.request_tokens import count_within
from germane.models.tokenizers import CachedTokenizer, open_tokenizer

LARGE = "a large text " * 10_000


class Slow:
    """Counts characters, large texts only once the gate is open; remembers on which threads."""

    name, exact = "slow", True

    def __init__(self) -> None:
        self.gate, self.threads = threading.Event(), set[int]()

    def count(self, text: str) -> int:
        self.threads.add(threading.get_ident())
        if len(text) > 1000:
            self.gate.wait(timeout=30)
        return len(text)

    def ceiling(self, text: str) -> int:
        return 4 * len(text)


@pytest.mark.requirement("BUD-2")
async def test_few_small_texts_are_not_counted_ahead() -> None:
    """They are counted at once, when their count is needed."""
    slow = Slow()
    settled = await count_within(slow, ["a", "bc"])
    assert not slow.threads
    assert (settled.count("bc"), settled.bounded, settled.name, settled.exact) == (2, 0, "slow", True)


@pytest.mark.requirement("BUD-2")
async def test_large_texts_are_counted_in_a_thread() -> None:
    """Not on the event loop's own, and exactly where there is time."""
    slow = Slow()
    slow.gate.set()
    settled = await count_within(slow, [LARGE], limit=30)
    assert (settled.count(LARGE), settled.bounded) == (len(LARGE), 0)
    assert slow.threads == slow.threads - {threading.get_ident()} != set()


@pytest.mark.requirement("BUD-2")
async def test_what_is_not_counted_in_time_takes_its_ceiling() -> None:
    """The answer comes while the thread still counts; the texts it hadn't begun are left alone."""
    slow = Slow()
    settled = await count_within(slow, [LARGE, LARGE + "!", "small"], limit=0.001)
    assert (settled.count(LARGE), settled.count(LARGE + "!"), settled.bounded) == (4 * len(LARGE), 4 * len(LARGE) + 4, 2)
    assert settled.count("small") == 5
    slow.gate.set()


@pytest.mark.requirement("BUD-2")
async def test_many_small_texts_are_a_large_one() -> None:
    """What counts is how much is uncounted in all."""
    slow = Slow()
    settled = await count_within(slow, [f"{i} " * 500 for i in range(200)], limit=0.001)
    assert settled.bounded > 0
    slow.gate.set()


@pytest.mark.requirement("BUD-2")
async def test_what_is_remembered_is_exact_at_once() -> None:
    """A large text seen before needs no thread and no ceiling."""
    cached = CachedTokenizer(Slow())
    cached._base.gate.set()  # type: ignore[attr-defined]
    cached.count(LARGE)
    settled = await count_within(cached, [LARGE], limit=0)
    assert (settled.count(LARGE), settled.bounded) == (len(LARGE), 0)


@pytest.mark.requirement("BUD-2")
async def test_a_count_that_came_too_late_serves_the_next_request() -> None:
    """The thread ends what it is at, and the tokenizer remembers."""
    slow = Slow()
    cached = CachedTokenizer(slow)
    late = await count_within(cached, [LARGE], limit=0.001)
    assert late.bounded == 1
    slow.gate.set()
    await asyncio.get_running_loop().shutdown_default_executor()
    assert (await count_within(cached, [LARGE], limit=0)).count(LARGE) == len(LARGE)


@pytest.mark.requirement("BUD-2")
@pytest.mark.parametrize("name", ["o200k", "qwen3", "claude", "unknown"])
async def test_a_ceiling_is_never_below_the_count(name: str) -> None:
    """Whichever the clock allows, the budget holds."""
    text = "日本語 \u0958\u0958 mixed 12345 \ud800 " * 5000
    tokenizer = open_tokenizer(name)
    settled = await count_within(tokenizer, [text], limit=0)
    assert settled.count(text) >= tokenizer.count(text)


@pytest.mark.requirement("BUD-2")
async def test_what_is_far_too_long_to_be_counted_in_time_is_never_counted() -> None:
    """Nor hashed: both take longer than the time limit."""
    slow = Slow()
    slow.gate.set()
    huge = "a" * 1_000_001
    settled = await count_within(slow, [huge, "small"], limit=30)
    assert (settled.count(huge), settled.count("small"), settled.bounded) == (4 * len(huge), 5, 1)
    assert slow.threads == {threading.get_ident()}
