"""The cache stays within its bound and evicts one entry at a time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from germane.types.caches import FifoCache


def test_the_oldest_entry_makes_room() -> None:
    cache: FifoCache[str, int] = FifoCache(2)
    for number, key in enumerate("abc"):
        cache.keep(key, number)
    assert dict(cache) == {"b": 1, "c": 2}


@given(st.lists(st.integers(0, 9)), st.integers(1, 5))
def test_it_never_holds_more_than_its_bound_and_always_the_latest(keys: list[int], bound: int) -> None:
    cache: FifoCache[int, int] = FifoCache(bound)
    for number, key in enumerate(keys):
        cache.keep(key, number)
        assert len(cache) <= bound
        assert cache[key] == number
