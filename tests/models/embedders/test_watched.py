"""Whether a slow embedder answers, and with what."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from germane.errors import EmbedderError, InvalidInput
from germane.models.embedders.wrappers import WatchedEmbedder
from germane.ports.models import Embedder
from germane_testing.builders import Hashed
from germane_testing.faults import Fault, Garbage, Hang, Raise, Slow, faulty
from germane_testing.time_warp import warped

GOOD = Hashed(quick=False)


def watched(fault: Fault, *, times: int | None = None) -> WatchedEmbedder:
    return WatchedEmbedder(faulty(GOOD, fault, "embed", times=times), steady=lambda: asyncio.get_running_loop().time())


@pytest.mark.requirement("SEARCH-4")
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Raise(EmbedderError("refused")), "refused"),
        (Raise(OSError("/home/secret")), "OSError"),
        (Garbage("text"), "something else than vectors"),
        (Garbage(np.zeros((1, 3), np.float32)), "something else than vectors"),
        (Garbage(np.full((1, 16), np.nan, np.float32)), "aren't finite"),
    ],
    ids=str,
)
async def test_a_failure_is_a_fault_until_the_next_answer(fault: Fault, said: str) -> None:
    embedder = watched(fault, times=1)
    assert embedder.fault == ""
    with pytest.raises(EmbedderError):
        await embedder.embed(["one"])
    assert said in embedder.fault
    assert "secret" not in embedder.fault
    await embedder.check()
    assert (embedder.fault, embedder.answers) == ("", 1)


@pytest.mark.requirement("SEARCH-4")
@warped
async def test_a_hang_is_a_fault_after_ten_seconds_and_ends_after_its_time() -> None:
    """Meanwhile further calls fail at once, so that none of them piles up."""
    embedder, loop = watched(Hang(), times=1), asyncio.get_running_loop()
    call = asyncio.create_task(embedder.embed(["one"]))
    await asyncio.sleep(9)
    assert embedder.fault == ""
    await asyncio.sleep(2)
    assert "no answer" in embedder.fault
    with pytest.raises(EmbedderError, match="no answer"):
        await embedder.embed(["two"])
    with pytest.raises(EmbedderError, match="within 31 s"):
        await call
    assert loop.time() == 31
    await embedder.check()
    assert embedder.fault == ""


@warped
async def test_an_embedder_that_is_slow_but_answers_has_no_fault() -> None:
    embedder = watched(Slow(8.0))
    calls = [asyncio.create_task(embedder.embed(["one"]))]
    for _ in range(5):
        await asyncio.sleep(4)
        calls.append(asyncio.create_task(embedder.embed(["one"])))
        assert embedder.fault == ""
    await asyncio.gather(*calls)


class Preparing(Hashed):
    """Its preparation does what `fault` says, once."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(quick=False)
        self._inner: Any = faulty(self, fault, "done", times=1)
        self.prepared = 0

    async def done(self) -> None:
        self.prepared += 1

    async def prepare(self) -> None:
        await self._inner.done()


@pytest.mark.requirement("SEARCH-4")
@warped
async def test_preparing_takes_at_most_the_patience() -> None:
    """It goes on meanwhile, and the embedder has a fault until it has answered."""
    inner = Preparing(Slow(20.0))
    embedder = WatchedEmbedder(inner, steady=lambda: asyncio.get_running_loop().time())
    await embedder.prepare(5.0)
    assert (asyncio.get_running_loop().time(), embedder.fault) == (5, "not prepared yet")
    await embedder.check()
    assert (asyncio.get_running_loop().time(), embedder.fault, inner.prepared) == (20, "", 1)


async def test_a_preparation_that_failed_is_repeated() -> None:
    inner = Preparing(Raise(EmbedderError("not there")))
    embedder = WatchedEmbedder(inner)
    await embedder.prepare(5.0)
    assert embedder.fault == "not there"
    await embedder.check()
    assert (embedder.fault, inner.prepared) == ("", 1)


async def test_an_error_that_its_caller_has_to_correct_is_raised() -> None:
    embedder: Embedder = Preparing(Raise(InvalidInput("model names no file")))
    with pytest.raises(InvalidInput, match="names no file"):
        await WatchedEmbedder(embedder).prepare(5.0)
