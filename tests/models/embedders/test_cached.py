"""The caching embedder: bounded, shared by concurrent calls, and without any text in it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from germane.errors import EmbedderError, InvalidInput
from germane.models.embedders.wrappers import CachedEmbedder
from germane_testing.faults import Garbage, Hang, Raise, Slow, faulty
from germane_testing.time_warp import warped


class Counting:
    """An embedder of two dimensions that notes what it is asked."""

    identity = "counting/1/2"
    dimension = 2
    quick = True

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.closed = False

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.embed_now(texts)

    def embed_now(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.append(list(texts))
        return np.array([[len(text), 1] for text in texts], dtype=np.float32)

    async def close(self) -> None:
        self.closed = True


@pytest.mark.requirement("SEARCH-3")
def test_the_space_is_that_of_the_embedder_inside() -> None:
    """Wrapping changes no identity."""
    cached = CachedEmbedder(Counting())
    assert (cached.identity, cached.dimension, cached.quick) == ("counting/1/2", 2, True)


async def test_a_text_is_embedded_once() -> None:
    """Also twice in one call; rows come in the order asked."""
    inner = Counting()
    cached = CachedEmbedder(inner)
    first = await cached.embed(["bb", "a", "bb"])
    again = await cached.embed(["a", "ccc"])
    assert inner.asked == [["bb", "a"], ["ccc"]]
    assert first[:, 0].tolist() == [2, 1, 2]
    assert again[:, 0].tolist() == [1, 3]


def test_both_faces_share_what_is_kept() -> None:
    """The blocking one finds what it embedded before."""
    inner = Counting()
    cached = CachedEmbedder(inner)
    assert np.array_equal(cached.embed_now(["a", "b"]), cached.embed_now(["a", "b"]))
    assert inner.asked == [["a", "b"]]


async def test_the_least_recently_asked_for_goes_first() -> None:
    """Never more than the capacity is kept."""
    inner = Counting()
    cached = CachedEmbedder(inner, 2)
    for text in ("a", "b", "a", "c", "a", "b"):
        await cached.embed([text])
    assert inner.asked == [["a"], ["b"], ["c"], ["b"]]


async def test_a_batch_above_the_capacity_is_answered_whole() -> None:
    """The cache is bounded; a larger batch is answered all the same."""
    assert (await CachedEmbedder(Counting(), 1).embed(["a", "bb", "ccc"]))[:, 0].tolist() == [1, 2, 3]


@warped
async def test_callers_at_once_share_one_call() -> None:
    """A text that is being embedded is waited for, not embedded again."""
    inner = Counting()
    cached = CachedEmbedder(faulty(inner, Slow(1)))
    await asyncio.gather(cached.embed(["a"]), cached.embed(["a", "b"]), cached.embed(["b"]))
    assert inner.asked == [["a"], ["b"]]


@warped
async def test_a_caller_that_gives_up_takes_nobody_with_it() -> None:
    """The call goes on for the others and for the next time."""
    inner = Counting()
    cached = CachedEmbedder(faulty(inner, Slow(1)))
    hasty, patient = asyncio.ensure_future(cached.embed(["a"])), asyncio.ensure_future(cached.embed(["a"]))
    await asyncio.wait([hasty], timeout=0.04)
    hasty.cancel()
    assert (await patient)[0, 0] == 1
    await cached.embed(["a"])
    assert inner.asked == [["a"]]


@warped
async def test_a_failure_reaches_all_who_wait_and_is_not_kept() -> None:
    """The next caller starts a new call."""
    cached = CachedEmbedder(faulty(Counting(), Raise(EmbedderError("down")), times=1))
    failures = await asyncio.gather(cached.embed(["a"]), cached.embed(["a"]), return_exceptions=True)
    assert [str(failure) for failure in failures] == ["down", "down"]
    assert (await cached.embed(["a"]))[0, 0] == 1


@pytest.mark.parametrize("answer", [None, "text", np.zeros((1, 3), np.float32), np.zeros((2, 2), np.float32)])
async def test_garbage_is_an_error_and_never_kept(answer: object) -> None:
    """Only one row per text, of the dimension, is taken."""
    cached = CachedEmbedder(faulty(Counting(), Garbage(answer), "embed"))
    with pytest.raises(EmbedderError, match="something else than vectors"):
        await cached.embed(["a"])


@pytest.mark.requirement("GATHER-2")
@warped
async def test_a_hanging_embedder_gathers_no_crowd() -> None:
    """Calls whose callers gave up are bounded; one more fails at once."""
    cached = CachedEmbedder(faulty(Counting(), Hang(), "embed"), calls=3)
    waiting = [asyncio.ensure_future(cached.embed([str(n)])) for n in range(3)]
    await asyncio.wait(waiting, timeout=0.04)
    for caller in waiting:
        caller.cancel()
    with pytest.raises(EmbedderError, match="3 calls"):
        await cached.embed(["one more"])
    await cached.close()


@warped
async def test_closing_ends_what_is_under_way() -> None:
    """Who still waits is told."""
    inner = Counting()
    cached = CachedEmbedder(faulty(inner, Hang(), "embed"))
    waiting = asyncio.ensure_future(cached.embed(["a"]))
    await asyncio.sleep(1)
    await cached.close()
    with pytest.raises(EmbedderError, match="closed"):
        await waiting
    assert inner.closed


async def test_no_text_is_held() -> None:
    """What is forgotten must not be readable here."""
    cached = CachedEmbedder(Counting())
    await cached.embed(["a secret of mine"])
    assert "secret" not in repr(vars(cached))


async def test_no_texts_no_rows() -> None:
    """The shape holds when empty."""
    assert (await CachedEmbedder(Counting()).embed([])).shape == (0, 2)


def test_a_capacity_of_nothing_is_refused() -> None:
    """The message names the value."""
    with pytest.raises(InvalidInput, match="not 0"):
        CachedEmbedder(Counting(), 0)
