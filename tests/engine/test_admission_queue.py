"""Who works when many come at once: in order, one after another, and nobody for nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from random import Random

import pytest

from germane.clock import Clock
from germane.engine.admission import AdmissionQueue, Overloaded, Slot
from germane.engine.assembly import Deadline
from germane_testing.time_warp import warped
from support.scoped_stores import idle

CLOCK = Clock()


def now() -> float:
    return asyncio.get_running_loop().time()


async def taken(admission: AdmissionQueue, seconds: float | None = 0.048, org: str = "acme") -> Slot:
    slot = await admission.acquire(Deadline.of(now(), seconds), CLOCK, org)
    assert slot is not None
    return slot


async def working(admission: AdmissionQueue, took: float, ends: list[float], org: str = "acme") -> None:
    slot = await taken(admission, org=org)
    await asyncio.sleep(took)
    slot.gathered = now()
    slot.end(now())
    ends.append(round(now(), 4))


@pytest.mark.requirement("ENGINE-4")
@warped
async def test_one_after_another_in_the_order_they_came() -> None:
    admission, ends = idle(1), list[float]()
    who = [asyncio.ensure_future(working(admission, took, ends)) for took in (0.008, 0.004, 0.002, 0.010)]
    await asyncio.wait(who)
    assert ends == [0.008, 0.012, 0.014, 0.024]


@pytest.mark.requirement("ENGINE-4")
@warped
async def test_orgs_are_served_in_turn() -> None:
    """A neighbour comes after eight of a crowd, and waits for two of them: the one being served and one more at most."""
    admission, crowd, neighbour = idle(1), list[float](), list[float]()
    tasks = [asyncio.ensure_future(working(admission, 0.004, crowd)) for _ in range(8)]
    await asyncio.sleep(0.001)
    tasks.append(asyncio.ensure_future(working(admission, 0.004, neighbour, "other")))
    await asyncio.wait(tasks)
    assert neighbour == [0.012]
    assert crowd[-1] == 0.036


@pytest.mark.requirement("ENGINE-4")
@warped
async def test_a_crowd_of_one_org_sheds_only_its_own() -> None:
    """Known from how long its turns take; the neighbour isn't refused for them."""
    admission, ends = idle(1), list[float]()
    await working(admission, 0.009, ends)
    crowd = asyncio.gather(*(working(admission, 0.009, ends) for _ in range(10)), return_exceptions=True)
    await asyncio.sleep(0.001)
    await working(admission, 0.009, neighbour := list[float](), "other")
    assert len(neighbour) == 1
    assert sum(isinstance(answer, Overloaded) for answer in await crowd) >= 5


@pytest.mark.requirement("ENGINE-4")
@warped
async def test_as_many_at_once_as_there_may_be() -> None:
    admission, ends = idle(2), list[float]()
    await asyncio.gather(*(working(admission, 0.008, ends) for _ in range(4)))
    assert ends == [0.008, 0.008, 0.016, 0.016]


@pytest.mark.requirement("ENGINE-4")
@warped
async def test_whoever_would_be_late_is_refused() -> None:
    """Of ten that gather for 9 ms each, four are in time; nobody waits for less than half of that."""
    admission, ends = idle(1), list[float]()
    await working(admission, 0.009, ends)
    began = now()
    answers = await asyncio.gather(*(working(admission, 0.009, ends) for _ in range(10)), return_exceptions=True)
    assert [isinstance(answer, Overloaded) for answer in answers] == [False] * 4 + [True] * 6
    assert now() - began == pytest.approx(0.036)


@pytest.mark.requirement("ENGINE-4")
@warped
async def test_nobody_waits_longer_than_gathering_may_last() -> None:
    """Also where nothing was known of how long it takes; whose time is up loses nothing but its place."""
    admission = idle(1)
    slot = await taken(admission)
    slot._timer.cancel()
    with pytest.raises(Overloaded):
        await taken(admission)
    assert now() == pytest.approx(0.036)
    slot.end(now())
    (await taken(admission)).end(now())


@pytest.mark.requirement("ENGINE-4")
@warped
async def test_a_turn_counts_for_a_while_only() -> None:
    """Whoever takes longer waits for something else: the next begins after 12 ms, and the end is no second one."""
    admission = idle(1)
    long = await taken(admission)
    following = await taken(admission)
    assert now() == pytest.approx(0.012)
    long.end(now())
    waiting = asyncio.ensure_future(taken(admission))
    await asyncio.sleep(0.001)
    assert not waiting.done()
    following.end(now())
    (await waiting).end(now())


@pytest.mark.requirement("ENGINE-4", "OPS-1")
@warped
async def test_who_works_and_who_was_refused_is_counted() -> None:
    admission, ends = idle(1), list[float]()
    await working(admission, 0.030, ends)
    call = asyncio.gather(*(working(admission, 0.030, ends) for _ in range(5)), return_exceptions=True)
    await asyncio.sleep(0.015)
    assert (admission.working, len(admission), admission.shed) == (2, 3, 0)
    await call
    assert (admission.working, admission.shed) == (0, 2)


@pytest.mark.requirement("ENGINE-4")
@warped
async def test_whose_turn_comes_late_does_not_search() -> None:
    """Begun at 34 ms of 40, where 10 ms are usual; what was hurried says nothing of what is usual."""
    admission, ends = idle(1), list[float]()
    await working(admission, 0.010, ends)
    first = await taken(admission)
    first._timer.cancel()
    assert first.searching == "full"
    waiting = asyncio.ensure_future(taken(admission))
    await asyncio.sleep(0.034)
    first.gathered = now()
    first.end(now())
    second = await waiting
    assert second.searching == "none"
    second.end(now())
    assert admission._pace.gathering("acme") == pytest.approx(0.010)


@warped
async def test_whoever_gives_up_leaves_no_gap() -> None:
    """Cancelled while waiting, or in the very moment its turn came."""
    admission = idle(1)
    first = await taken(admission)
    gone, unlucky, last = (asyncio.ensure_future(taken(admission)) for _ in range(3))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.sleep(0)
    first.end(now())
    unlucky.cancel()
    (await last).end(now())
    assert gone.cancelled()
    assert unlucky.cancelled()
    assert len(admission) == 0
    (await taken(admission)).end(now())


@warped
async def test_whoever_gives_up_before_its_first_step_leaves_no_gap() -> None:
    admission = idle(1)
    first = asyncio.ensure_future(taken(admission))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first])
    assert (admission.working, admission._free) == (0, 1)


@warped
async def test_who_waits_for_everything_takes_no_turn() -> None:
    """It may take for ever."""
    admission = idle(1)
    assert await admission.acquire(Deadline.of(now(), None), CLOCK, "acme") is None
    (await taken(admission)).end(now())


async def used(admission: AdmissionQueue, took: float, seconds: float, org: str = "acme") -> float:
    """Works for so long and returns when; raises `Overloaded`."""
    slot = await taken(admission, seconds, org)
    await asyncio.sleep(took)
    slot.gathered = now()
    slot.end(now())
    return round(now(), 4)


async def occupied() -> tuple[AdmissionQueue, Slot]:
    """A queue that knows of 10 ms, and its slot, which is taken and doesn't lapse."""
    admission = idle(1)
    await used(admission, 0.010, 0.25)
    first = await taken(admission)
    first._timer.cancel()
    return admission, first


@pytest.mark.requirement("ENGINE-10")
@warped
async def test_a_call_waits_as_long_as_its_deadline_allows() -> None:
    """Twenty of 5 ms each, at once: all are in time with 250 ms, and so are fifty of 4."""
    for calls, took in ((20, 0.005), (50, 0.004)):
        admission = idle(1)
        await used(admission, took, 0.25)
        began = now()
        ends = await asyncio.gather(*(used(admission, took, 0.25) for _ in range(calls)))
        assert ends[-1] - began == pytest.approx(calls * took)
        assert admission.shed == 0


@pytest.mark.requirement("ENGINE-10")
@warped
async def test_no_call_is_refused_for_what_an_average_says() -> None:
    """One assembly took 100 ms; those of the crowd take 2 and are all in time."""
    admission = idle(1)
    await used(admission, 0.012, 0.25)
    ends = await asyncio.gather(*(used(admission, 0.002, 0.048) for _ in range(7)))
    assert len(ends) == 7
    assert admission.shed == 0


@pytest.mark.requirement("ENGINE-10")
@warped
async def test_the_oldest_call_that_can_be_in_time_goes_first() -> None:
    """Those before it are refused when the slot is free: they would be late."""
    admission, first = await occupied()
    hasty = [asyncio.ensure_future(used(admission, 0.010, 0.048)) for _ in range(2)]
    patient = [asyncio.ensure_future(used(admission, 0.010, 0.25)) for _ in range(2)]
    await asyncio.sleep(0.035)
    first.end(now())
    assert [await call for call in patient] == [0.055, 0.065]
    assert [type(call.exception()) for call in hasty] == [Overloaded, Overloaded]


@pytest.mark.requirement("ENGINE-10", "ENGINE-12")
@warped
async def test_who_can_still_make_a_shallow_search_is_not_passed_over() -> None:
    """Begun at 31 ms of 40, where full ones take 10: the call that came later waits, though it could search in full."""
    admission, first = await occupied()
    hasty = asyncio.ensure_future(used(admission, 0.006, 0.048))
    patient = asyncio.ensure_future(used(admission, 0.010, 0.25))
    await asyncio.sleep(0.031)
    first.end(now())
    assert (await hasty, await patient) == (0.047, 0.057)


@pytest.mark.requirement("ENGINE-10")
@warped
async def test_under_lasting_overload_refusals_come_at_once() -> None:
    """Ten times as many as can be served: hardly any refused call has waited."""
    waits = await refused(idle(1), 3000, iter(lambda: 0.005, None))
    assert len(waits) > 2600
    assert sum(wait > 0.001 for wait in waits) <= 0.01 * len(waits)


@pytest.mark.requirement("ENGINE-4")
@warped
async def test_who_would_be_late_after_its_wait_is_refused_at_once() -> None:
    """Where an assembly takes some 20 ms of 48, and never the same, hardly any call is in time that waits for another one."""
    random = Random(1)
    waits = await refused(idle(1), 2000, iter(lambda: random.uniform(0.012, 0.026), None))
    assert len(waits) > 1600
    assert sum(wait > 0.001 for wait in waits) <= 0.01 * len(waits)


async def refused(admission: AdmissionQueue, calls: int, takes: Iterator[float]) -> list[float]:
    """How long each refused call had waited, of so many that come ten times as fast as they are served."""
    waits = list[float]()
    await used(admission, next(takes), 0.048)

    async def call() -> None:
        began = now()
        try:
            await used(admission, next(takes), 0.048)
        except Overloaded:
            waits.append(now() - began)

    under_way = []
    for _ in range(calls):
        under_way.append(asyncio.ensure_future(call()))
        await asyncio.sleep(next(takes) / 10)
    await asyncio.gather(*under_way)
    assert admission.shed == len(waits)
    return waits


@pytest.mark.requirement("ENGINE-10")
@warped
async def test_a_slot_counts_for_longer_while_the_process_computes() -> None:
    """On a busy machine an assembly takes longer than 12 ms; if the next one began then, all would be late. Up to 48 ms."""
    for share, begins in ((0.0, 0.012), (0.2, 0.012), (0.3, 0.048), (1.0, 0.048)):
        admission = AdmissionQueue(1, cpu=lambda share=share: share * now())  # type: ignore[misc]
        began = now()
        await taken(admission, 0.25)
        await taken(admission, 0.25)
        assert now() - began == pytest.approx(begins)


@pytest.mark.requirement("ENGINE-10")
@warped
async def test_the_calls_of_one_moment_are_read_before_the_first_one_begins() -> None:
    """500 calls at once, each of which takes 0.2 ms to read: until that is done, 100 ms of 225 are gone. The first assembly
    isn't charged for that; of 2 ms each, 62 are in time."""
    admission, read, searched = idle(1), [0.0], list[float]()
    clock = Clock(steady=lambda: now() + read[0])

    async def call() -> None:
        deadline = Deadline.of(now(), 0.25)
        read[0] += 0.0002
        slot = await admission.acquire(deadline, clock, "acme")
        assert slot is not None
        await asyncio.sleep(0.002)
        slot.gathered = clock.steady()
        slot.end(clock.steady())
        if slot.searching != "none":
            searched.append(clock.steady())

    await asyncio.gather(*(call() for _ in range(500)), return_exceptions=True)
    assert len(searched) == 62
    assert admission._pace.gathering("acme") == pytest.approx(0.002)


@pytest.mark.requirement("ENGINE-10")
@warped
async def test_calls_in_vain_are_answered_when_the_last_one_has_gathered() -> None:
    """Their answers would take the processor from it. Where there are too many for the time after gathering, those at the end
    of the queue are answered earlier, so that none is late."""
    for calls, served, first in ((40, 23, 0.225), (400, 22, 0.138)):
        admission, refused = idle(1), list[float]()

        async def call(admission: AdmissionQueue = admission, refused: list[float] = refused) -> None:
            began = now()
            try:
                await used(admission, 0.010, 0.25)
            except Overloaded:
                refused.append(now() - began)

        await asyncio.gather(*(call() for _ in range(calls)))
        assert len(refused) == calls - served
        assert min(refused) == pytest.approx(first, abs=0.002)
        assert all(0.2381 - at >= 0.00024 * sum(other > at for other in refused) for at in refused)


@pytest.mark.requirement("ENGINE-10")
@warped
async def test_no_assembly_begins_that_may_end_late() -> None:
    """Of 40 ms each, of which gathering takes 4, shallow or not: the sixth one would gather in time and could end after the
    answer is due. It goes without a search. Those before it were shallow for its sake, as far as that seemed to help."""
    admission, slots = idle(1), list[Slot]()
    admission.learn("acme", 0.040, 0.004)

    async def call() -> None:
        slot = await taken(admission, 0.25)
        slot._timer.cancel()
        slots.append(slot)
        await asyncio.sleep(0.040)
        slot.gathered = slot._began + 0.004
        slot.end(now())

    await asyncio.gather(*(call() for _ in range(6)))
    found = [slot.searching for slot in slots]
    assert set(found[:5]) == {"full", "shallow"}
    assert found[5] == "none"
