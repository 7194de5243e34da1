"""The one cache that is bounded by size."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from germane.types.caches import SizedLru

KEY, SIZE = st.sampled_from("abcde"), st.integers(0, 9)
STEP = st.tuples(st.sampled_from(["put", "put", "put", "evict", "evict", "resize", "use", "get", "pop", "clear"]), KEY, SIZE)


@given(st.integers(0, 20), st.lists(STEP, max_size=30))
@example(9, [("put", "a", 5), ("put", "b", 5), ("put", "c", 5), ("evict", "e", 0)])
@example(9, [("put", "a", 5), ("put", "b", 5), ("put", "c", 5), ("use", "a", 0), ("evict", "b", 0)])
def test_it_holds_what_a_list_of_sizes_would(limit: int, steps: list[tuple[str, str, int]]) -> None:
    """In order of use; the size is the sum of all; evicting spares what stays, and goes no further than it has to."""
    cache, model = SizedLru[str, str](limit), dict[str, int]()
    for step, key, size in steps:
        match step:
            case "put":
                cache.put(key, key.upper(), size)
                model.pop(key, None)
                model[key] = size
            case "resize" if key in model:
                cache.resize(key, size)
                model[key] = size
            case "use":
                assert cache.use(key) == (key.upper() if key in model else None)
                model |= {key: model.pop(key)} if key in model else {}
            case "get":
                assert cache.get(key) == (key.upper() if key in model else None)
            case "pop":
                assert cache.pop(key) == (key.upper() if key in model else None)
                model.pop(key, None)
            case "evict":
                cache.evict(lambda one, value, spared=key: (one, value) == (spared, spared.upper()))  # type: ignore[misc]
                for other in [other for other in model if other != key]:
                    if sum(model.values()) > limit:
                        del model[other]
            case "clear":
                cache.clear()
                model.clear()
        assert (list(cache), len(cache), cache.size) == (list(model), len(model), sum(model.values()))


def test_without_more_said_nothing_is_spared() -> None:
    """Not even the newest, where it is too large by itself."""
    cache = SizedLru[str, int](5)
    cache.put("a", 1, 6)
    cache.evict()
    assert len(cache) == 0
