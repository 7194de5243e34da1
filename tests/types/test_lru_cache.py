"""The one LRU cache."""

from __future__ import annotations

from germane.types.caches import LruCache


def test_the_least_recently_used_entry_is_evicted() -> None:
    """Putting and using count as use, getting doesn't."""
    cache = LruCache[str, int](2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.use("a") == 1
    assert cache.get("b") == 2
    cache.put("c", 3)
    assert list(cache.items()) == [("a", 1), ("c", 3)]


def test_an_entry_that_is_put_again_is_replaced_and_evicts_nothing() -> None:
    cache = LruCache[str, int](2)
    for key, value in (("a", 1), ("b", 2), ("a", 3)):
        cache.put(key, value)
    assert list(cache.items()) == [("b", 2), ("a", 3)]


def test_what_is_not_there_is_none() -> None:
    assert LruCache[str, int](2).use("a") is None


def test_a_cache_of_no_size_keeps_nothing() -> None:
    cache = LruCache[str, int](0)
    cache.put("a", 1)
    assert not cache
