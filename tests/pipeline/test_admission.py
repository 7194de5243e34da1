"""Who works when many come at once: in order, one after another, and nobody for nothing."""

from __future__ import annotations

import asyncio

import pytest

from germane.clock import Clock
from germane.pipeline.admission import Shed, Turn, Turns
from germane.pipeline.deadline import Deadline
from germane.testing.time_warp import warped

CLOCK = Clock()


def now() -> float:
    return asyncio.get_running_loop().time()


async def taken(turns: Turns, seconds: float | None = 0.048, org: str = "acme") -> Turn:
    turn = await turns.take(Deadline.of(now(), seconds), CLOCK, org)
    assert turn is not None
    return turn


async def working(turns: Turns, took: float, ends: list[float], org: str = "acme") -> None:
    turn = await taken(turns, org=org)
    await asyncio.sleep(took)
    turn.end(now())
    ends.append(round(now(), 4))


@pytest.mark.requirement("ENGINE-4")
@warped
async def test_one_after_another_in_the_order_they_came() -> None:
    turns, ends = Turns(1), list[float]()
    who = [asyncio.ensure_future(working(turns, took, ends)) for took in (0.008, 0.004, 0.002, 0.010)]
    await asyncio.wait(who)
    assert ends == [0.008, 0.012, 0.014, 0.024]


@pytest.mark.requirement("ENGINE-4")
@warped
async def test_orgs_are_served_in_turn() -> None:
    """A neighbour comes after eight of a crowd, and waits for two of them: the one being served and one more at most."""
    turns, crowd, neighbour = Turns(1), list[float](), list[float]()
    tasks = [asyncio.ensure_future(working(turns, 0.004, crowd)) for _ in range(8)]
    await asyncio.sleep(0.001)
    tasks.append(asyncio.ensure_future(working(turns, 0.004, neighbour, "other")))
    await asyncio.wait(tasks)
    assert neighbour == [0.012]
    assert crowd[-1] == 0.036


@pytest.mark.requirement("ENGINE-4")
@warped
async def test_a_crowd_of_one_org_sheds_only_its_own() -> None:
    """Known from how long its turns take; the neighbour isn't refused for them."""
    turns, ends = Turns(1), list[float]()
    await working(turns, 0.009, ends)
    crowd = asyncio.gather(*(working(turns, 0.009, ends) for _ in range(10)), return_exceptions=True)
    await asyncio.sleep(0.001)
    await working(turns, 0.009, neighbour := list[float](), "other")
    assert len(neighbour) == 1
    assert sum(isinstance(answer, Shed) for answer in await crowd) >= 5


@pytest.mark.requirement("ENGINE-4")
@warped
async def test_as_many_at_once_as_there_may_be() -> None:
    turns, ends = Turns(2), list[float]()
    await asyncio.gather(*(working(turns, 0.008, ends) for _ in range(4)))
    assert ends == [0.008, 0.008, 0.016, 0.016]


@pytest.mark.requirement("ENGINE-4")
@warped
async def test_whoever_would_be_late_is_told_at_once() -> None:
    """Known from how long the latest took: of ten that take 9 ms each, five can begin before gathering ends."""
    turns, ends = Turns(1), list[float]()
    await working(turns, 0.009, ends)
    began = now()
    answers = await asyncio.gather(*(working(turns, 0.009, ends) for _ in range(10)), return_exceptions=True)
    assert [isinstance(answer, Shed) for answer in answers] == [False] * 5 + [True] * 5
    assert now() - began == pytest.approx(0.045)


@pytest.mark.requirement("ENGINE-4")
@warped
async def test_nobody_waits_longer_than_gathering_may_last() -> None:
    """Also where nothing was known of how long it takes; whose time is up loses nothing but its place."""
    turns = Turns(1)
    turn = await taken(turns)
    turn._timer.cancel()
    with pytest.raises(Shed):
        await taken(turns)
    assert now() == pytest.approx(0.040)
    turn.end(now())
    (await taken(turns)).end(now())


@pytest.mark.requirement("ENGINE-4")
@warped
async def test_a_turn_counts_for_a_while_only() -> None:
    """Whoever takes longer waits for something else: the next begins after 12 ms, and the end is no second one."""
    turns = Turns(1)
    long = await taken(turns)
    following = await taken(turns)
    assert now() == pytest.approx(0.012)
    long.end(now())
    waiting = asyncio.ensure_future(taken(turns))
    await asyncio.sleep(0.001)
    assert not waiting.done()
    following.end(now())
    (await waiting).end(now())


@pytest.mark.requirement("ENGINE-4", "OPS-1")
@warped
async def test_who_works_and_who_was_refused_is_counted() -> None:
    turns, ends = Turns(1), list[float]()
    await working(turns, 0.030, ends)
    call = asyncio.gather(*(working(turns, 0.030, ends) for _ in range(5)), return_exceptions=True)
    await asyncio.sleep(0.015)
    assert (turns.working, len(turns), turns.shed) == (2, 0, 3)
    await call
    assert (turns.working, turns.shed) == (0, 3)


@pytest.mark.requirement("ENGINE-4")
@warped
async def test_whose_turn_comes_late_is_hurried() -> None:
    """Begun at 35 ms of 40, where 10 ms are usual; what was hurried says nothing of what is usual."""
    turns, ends = Turns(1), list[float]()
    await working(turns, 0.010, ends)
    first = await taken(turns)
    first._timer.cancel()
    assert not first.hurried
    waiting = asyncio.ensure_future(taken(turns))
    await asyncio.sleep(0.035)
    first.end(now())
    second = await waiting
    assert second.hurried
    second.end(now())
    assert turns._usual["acme"] == pytest.approx(0.015)


@warped
async def test_whoever_gives_up_leaves_no_gap() -> None:
    """Cancelled while waiting, or in the very moment its turn came."""
    turns = Turns(1)
    first = await taken(turns)
    gone, unlucky, last = (asyncio.ensure_future(taken(turns)) for _ in range(3))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.sleep(0)
    first.end(now())
    unlucky.cancel()
    (await last).end(now())
    assert gone.cancelled()
    assert unlucky.cancelled()
    assert len(turns) == 0
    (await taken(turns)).end(now())


@warped
async def test_who_waits_for_everything_takes_no_turn() -> None:
    """It may take for ever."""
    turns = Turns(1)
    assert await turns.take(Deadline.of(now(), None), CLOCK, "acme") is None
    (await taken(turns)).end(now())
