"""Garbage: what only the garbage collector could free, for tests that nothing waits for it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["left_to_the_collector"]


@contextmanager
def left_to_the_collector(name: Callable[[object], str]) -> Iterator[list[str]]:
    """Yields a list, which afterwards holds the names of what was left inside, sorted; `name` returns "" for what doesn't
    count."""
    found = list[str]()
    gc.collect()
    gc.disable()
    try:
        yield found
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        found += sorted(filter(None, map(name, gc.garbage)))
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
