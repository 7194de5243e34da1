"""Slots and places: which calls get one, and which are evicted."""

from __future__ import annotations

import asyncio

import pytest

from germane.grpc.server.admission import AnonymousSlots, Evicted, Limits, OrgSlots
from germane.grpc.server.refusals import Refused

pytestmark = pytest.mark.requirement("RPC-5")


PEER = "ipv4:127.0.0.1:4711"


def taken(slots: OrgSlots, org: str | None) -> int:
    """Takes all slots that the org can get and returns how many."""
    count = 0
    try:
        while True:
            slots.acquire(org)
            count += 1
    except Refused:
        return count


def test_one_org_gets_half_and_the_next_as_many_as_are_free() -> None:
    """No org can take all slots, and a new org always gets some."""
    slots = OrgSlots(Limits(calls=2000))
    assert taken(slots, "one") == 1000
    assert taken(slots, "two") == 500
    assert taken(slots, "three") == 250
    assert slots.traffic.refused["share"] == 3


def test_it_is_full_when_nobody_who_has_calls_could_have_another() -> None:
    """One org alone that has its share makes the port full; as soon as another org is served, the port isn't."""
    slots = OrgSlots(Limits(calls=100))
    looks = [slots.traffic.full]
    assert taken(slots, "one") == 50
    looks.append(slots.traffic.full)
    slots.acquire("two")
    assert [*looks, slots.traffic.full] == [False, True, False]


def test_without_keys_all_slots_may_be_taken_and_no_more() -> None:
    """Without keys there is no org, so there are no shares."""
    slots = OrgSlots(Limits(calls=3))
    assert taken(slots, None) == 3
    assert slots.traffic.full
    assert (slots.traffic.refused["slots"], slots.traffic.used["calls"], slots.traffic.admitted) == (1, 3, 3)


def test_a_slot_that_is_given_back_is_there_for_the_next() -> None:
    """For its org as well."""
    slots = OrgSlots(Limits(calls=2))
    give_back = slots.acquire("acme")
    with pytest.raises(Refused, match="org"):
        slots.acquire("acme")
    give_back()
    slots.acquire("acme")


async def test_the_oldest_place_is_given_to_the_newest() -> None:
    """The evicted call raises `Evicted`; the others go on."""
    places, told = AnonymousSlots(2), list[str]()

    async def stays(name: str) -> None:
        try:
            async with places.place(3600, PEER):
                await asyncio.Event().wait()
        except Evicted:
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
    """It raises `TimeoutError`, not `Evicted`."""
    places = AnonymousSlots(1)
    with pytest.raises(TimeoutError):
        async with places.place(0.01, PEER):
            await asyncio.Event().wait()
    assert len(places) == 0


async def test_who_is_done_in_the_moment_of_going_is_done() -> None:
    """The place was needed, but the answer was there."""
    places = AnonymousSlots(1)
    async with places.place(3600, PEER):
        task = asyncio.create_task(_through(places))
        await asyncio.sleep(0)
    await task


async def _through(places: AnonymousSlots) -> None:
    async with places.place(3600, PEER):
        return


async def test_the_address_with_most_places_makes_room() -> None:
    """A single call of another address keeps its place, over however many connections the busy address calls."""
    places, told = AnonymousSlots(3), list[str]()

    async def stays(peer: str) -> None:
        try:
            async with places.place(3600, peer):
                await asyncio.Event().wait()
        except Evicted:
            told.append(peer)

    peers = ["ipv4:10.0.0.1:1", *(f"ipv4:10.0.0.2:{port}" for port in range(1, 6)), "ipv6:%5B::1%5D:1"]
    tasks = [asyncio.create_task(stays(peer)) for peer in peers]
    async with asyncio.timeout(60):
        await asyncio.gather(*tasks[1:5])
    assert told == peers[1:5]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
