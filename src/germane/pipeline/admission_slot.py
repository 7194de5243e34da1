"""Admission slot: one assembly's turn to work, and for how long it counts as occupied.

A slot is occupied for a limited time: an assembly that takes longer waits for something else than the processor, such as a
source in a network, and doesn't keep others from it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal, Protocol

__all__ = ["Searching", "Slot"]

_COUNTS = 0.012
"""Seconds that a slot counts as occupied."""
_PERIODS, _COMPUTING = 4, 0.25
"""How often that time counts at most where this process computes meanwhile: the share of one processor from which it does."""


Searching = Literal["full", "shallow", "none"]
"""How far an assembly may search: `shallow`, for the best few results, where calls that wait would else be late, and not at all
where so much time was spent waiting that a search would be late."""


class _Queue(Protocol):
    """What a slot needs of its queue: `cpu` returns the processor time of this process in seconds."""

    working: int
    cpu: Callable[[], float]

    def learn(self, org: str, seconds: float, gathering: float | None, *, shallow: bool) -> None: ...

    def release(self) -> None: ...


class Slot:
    """The right to work, until `end`, and to search as far as `searching` says. The assembly sets `gathered` to the time at
    which gathering ended."""

    __slots__ = ("_began", "_counted", "_cpu", "_org", "_periods", "_queue", "_timer", "gathered", "searching")

    def __init__(self, queue: _Queue, org: str, began: float, searching: Searching) -> None:
        self.searching = searching
        self.gathered: float | None = None
        queue.working += 1
        self._queue, self._org, self._began, self._counted = queue, org, began, True
        self._periods, self._cpu = 1, queue.cpu()
        self._timer = asyncio.get_running_loop().call_later(_COUNTS, self._due)

    def end(self, now: float) -> None:
        """Gives the slot back. The assembly calls it whatever happened."""
        self._timer.cancel()
        self._queue.working -= 1
        if self.searching != "none":
            gathering = None if self.gathered is None else self.gathered - self._began
            occupied = now - self._began if self._counted else self._periods * _COUNTS
            self._queue.learn(self._org, occupied, gathering, shallow=self.searching == "shallow")
        self._lapse()

    def _due(self) -> None:
        """The slot lapses, unless this process computed: then the assembly doesn't wait for something else."""
        cpu = self._queue.cpu()
        if self._periods < _PERIODS and cpu - self._cpu >= _COMPUTING * _COUNTS:
            self._periods, self._cpu = self._periods + 1, cpu
            self._timer = asyncio.get_running_loop().call_later(_COUNTS, self._due)
        else:
            self._lapse()

    def _lapse(self) -> None:
        if self._counted:
            self._counted = False
            self._queue.release()
