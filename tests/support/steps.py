"""Steps: the work of a call as the number of lines of Python that it runs, which is the same on every machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

__all__ = ["growth", "steps"]


def steps(call: Callable[[], object]) -> int:
    """Returns how many lines run in a call, in whatever it calls too. A search within C code counts as one."""
    lines = 0

    def traced(frame: FrameType, event: str, _: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return traced

    before = sys.gettrace()
    sys.settrace(traced)
    try:
        call()
    finally:
        sys.settrace(before)
    return lines


def growth(call: Callable[[int], object], n: int) -> float:
    """Returns how many times as many lines run for 4n as for n: about 4 where the time is linear, 16 where it is the square."""
    call(n)
    return steps(lambda: call(4 * n)) / steps(lambda: call(n))
