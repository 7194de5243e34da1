"""Texts get the vectors that they lack, however long the embedder is away."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from germane.api.workers.batch_writers import CatchUp
from germane.errors import EmbedderError
from germane.stores.contract import Store
from germane_testing.time_warp import warped


class Away:
    """An embedder and a store in one: it notes when it is asked, and answers from `since` on."""

    read_only = False
    answers = 0

    def __init__(self, *, since: float = 0.0, hangs: bool = False) -> None:
        self._since, self._hangs = since, hangs
        self.asked: list[float] = []
        self.embedded: list[float] = []
        self.fault = ""

    async def check(self) -> None:
        now = asyncio.get_running_loop().time()
        self.asked.append(now)
        if now < self._since:
            if self._hangs:
                await asyncio.get_running_loop().create_future()
            self.fault = "away"
            raise EmbedderError("away")
        self.fault = ""

    async def embed_pending(self, limit: int | None = None) -> int:
        await self.check()
        self.embedded.append(asyncio.get_running_loop().time())
        self.answers += 1
        return 1

    refused_texts = 0

    async def stale_vectors(self) -> int:
        raise NotImplementedError

    async def reembed(self, progress: object = None) -> int:
        raise NotImplementedError


def catching_up(away: Away) -> CatchUp:
    made = CatchUp(cast("Store", away), cast("Any", away))
    made.start()
    return made


@pytest.mark.requirement("SEARCH-4")
@warped
async def test_it_tries_again_with_growing_pauses() -> None:
    """At most a minute apart; an embedder that was away for three minutes is found within a minute."""
    away = Away(since=180.0)
    catch_up = catching_up(away)
    await asyncio.sleep(400)
    assert away.asked[:8] == [0, 1, 3, 7, 15, 31, 63, 123]
    assert away.embedded == [183]
    await catch_up.close()


@pytest.mark.requirement("SEARCH-4")
@warped
async def test_a_recording_waits_for_its_vectors() -> None:
    """Also where a round is under way that began before the recording."""
    away = Away()
    catch_up = catching_up(away)
    await asyncio.gather(*(catch_up.settle() for _ in range(20)))
    await catch_up.settle()
    assert 2 <= len(away.embedded) <= 4
    await catch_up.close()


@pytest.mark.requirement("SEARCH-4")
@warped
async def test_a_recording_does_not_wait_for_an_embedder_that_is_away() -> None:
    """One that hangs costs five seconds, one that is known to fail nothing."""
    failing = catching_up(Away(since=1000.0))
    await asyncio.sleep(0.5)
    await failing.settle()
    assert asyncio.get_running_loop().time() == 0.5
    hanging = catching_up(Away(since=1000.0, hangs=True))
    await hanging.settle()
    assert asyncio.get_running_loop().time() == 5.5
    for one in (failing, hanging):
        await one.close()
        await one.close()
