"""Slots and places: who may have one, and who has to go."""

from __future__ import annotations

import asyncio

import pytest

from germane.grpc.places import Ousted, Places
from germane.grpc.refusals import Refused
from germane.grpc.slots import Limits, Slots

pytestmark = pytest.mark.requirement("RPC-5")


def taken(slots: Slots, org: str | None) -> int:
    """As many as it can get."""
    count = 0
    try:
        while True:
            slots.take(org)
            count += 1
    except Refused:
        return count


def test_one_org_gets_half_and_the_next_as_many_as_are_free() -> None:
    """Nobody can take all of them, and nobody comes too late for some."""
    slots = Slots(Limits(calls=2000))
    assert taken(slots, "one") == 1000
    assert taken(slots, "two") == 500
    assert taken(slots, "three") == 250
    assert slots.traffic.refused["share"] == 3
    assert not slots.traffic.full


def test_without_keys_all_slots_may_be_taken_and_no_more() -> None:
    """There is no org to be fair to."""
    slots = Slots(Limits(calls=3))
    assert taken(slots, None) == 3
    assert slots.traffic.full
    assert (slots.traffic.refused["slots"], slots.traffic.used["calls"], slots.traffic.admitted) == (1, 3, 3)


def test_a_slot_that_is_given_back_is_there_for_the_next() -> None:
    """For its org as well."""
    slots = Slots(Limits(calls=2))
    give_back = slots.take("acme")
    with pytest.raises(Refused, match="org"):
        slots.take("acme")
    give_back()
    slots.take("acme")


def test_only_so_many_keys_are_verified_at_once() -> None:
    """The next is refused, until one is done."""
    slots = Slots(Limits(keys=1))
    with slots.verifying(), pytest.raises(Refused, match="keys"), slots.verifying():
        pass
    with slots.verifying():
        assert slots.traffic.used["keys"] == 1
    assert slots.traffic.used["keys"] == 0


async def test_the_oldest_place_is_given_to_the_newest() -> None:
    """Whoever waits in it is told, and the others aren't disturbed."""
    places, told = Places(2), list[str]()

    async def stays(name: str) -> None:
        try:
            async with places.place(3600):
                await asyncio.Event().wait()
        except Ousted:
            told.append(name)

    tasks = [asyncio.create_task(stays(name)) for name in ("first", "second", "third")]
    async with asyncio.timeout(60):
        await tasks[0]
    assert (told, len(places)) == (["first"], 2)
    for task in tasks[1:]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert (told, len(places)) == (["first"], 0)


async def test_a_place_ends_by_itself() -> None:
    """With another error than for who had to go."""
    places = Places(1)
    with pytest.raises(TimeoutError):
        async with places.place(0.01):
            await asyncio.Event().wait()
    assert len(places) == 0


async def test_who_is_done_in_the_moment_of_going_is_done() -> None:
    """The place was needed, but the answer was there."""
    places = Places(1)
    async with places.place(3600):
        task = asyncio.create_task(_through(places))
        await asyncio.sleep(0)
    await task


async def _through(places: Places) -> None:
    async with places.place(3600):
        return
