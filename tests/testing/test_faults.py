"""Faults: fault injection into any object."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from germane_testing.faults import Fault, Garbage, Hang, Raise, Slow, faulty
from germane_testing.time_warp import warped


@dataclass
class Well:
    """An object with asynchronous and plain methods."""

    name: str = "well"
    asked: int = 0

    async def draw(self, buckets: int = 1) -> int:
        self.asked += 1
        return buckets

    async def measure(self) -> str:
        return "deep"

    def depth(self) -> int:
        return 12


@dataclass
class Village:
    well: Well = field(default_factory=Well)


@warped
async def test_what_hangs_never_answers() -> None:
    """The call doesn't return within a day of warped time."""
    drawing = asyncio.ensure_future(faulty(Well(), Hang()).draw())
    _, pending = await asyncio.wait([drawing], timeout=86_400)
    assert pending
    drawing.cancel()


@warped
async def test_what_is_slow_answers_rightly_and_late() -> None:
    """The right result comes after the delay."""
    assert await faulty(Well(), Slow(0.05)).draw(3) == 3
    assert asyncio.get_running_loop().time() == 0.05


@pytest.mark.parametrize("fault", [Raise(ConnectionResetError), Raise(ConnectionResetError("gone"))])
async def test_what_raises_raises_the_given_error(fault: Fault) -> None:
    """The error may be a type or an instance."""
    with pytest.raises(ConnectionResetError):
        await faulty(Well(), fault).draw()


async def test_garbage_comes_instead_of_the_answer() -> None:
    """The wrapped method isn't called."""
    well = Well()
    answer: object = await faulty(well, Garbage([None])).draw()
    assert answer == [None]
    assert well.asked == 0


async def test_only_the_named_method_fails() -> None:
    """Other methods and attributes reach the wrapped object."""
    well = faulty(Well(), Raise(ConnectionResetError), "draw")
    assert (await well.measure(), well.depth(), well.name) == ("deep", 12, "well")
    with pytest.raises(ConnectionResetError):
        await well.draw()


async def test_a_plain_method_fails_when_it_is_named() -> None:
    """A plain method can raise or return garbage; `Hang` doesn't affect it."""
    with pytest.raises(ConnectionResetError):
        faulty(Well(), Raise(ConnectionResetError), "depth").depth()
    assert faulty(Well(), Garbage(None), "depth").depth() is None
    assert faulty(Well(), Hang(), "depth").depth() == 12


async def test_a_dot_reaches_into_an_attribute() -> None:
    """The other methods of the attribute work."""
    village = faulty(Village(), Raise(ConnectionResetError), "well.draw")
    assert await village.well.measure() == "deep"
    with pytest.raises(ConnectionResetError):
        await village.well.draw()


async def test_it_recovers_after_so_many_calls() -> None:
    """Tests of a circuit breaker need a source that recovers."""
    well = faulty(Well(), Raise(ConnectionResetError), "draw", times=2)
    for _ in range(2):
        with pytest.raises(ConnectionResetError):
            await well.draw()
    assert await well.draw() == 1
