"""First come, first served for each key, and the keys in turn."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.engine.admission import FairQueue


def test_keys_take_turns_and_items_of_one_key_keep_their_order() -> None:
    queue: FairQueue[str, int] = FairQueue()
    for key, item in [("a", 1), ("a", 2), ("a", 3), ("b", 4), ("c", 5), ("b", 6)]:
        queue.put(key, item)
    assert [queue.pop()[1] for _ in range(6)] == [1, 4, 5, 2, 6, 3]
    with pytest.raises(KeyError):
        queue.pop()


def test_what_is_removed_waits_no_more() -> None:
    queue: FairQueue[str, int] = FairQueue()
    queue.put("a", 1)
    assert queue.remove("a", 1)
    assert not queue.remove("a", 1)
    assert len(queue) == 0


def test_the_newest_item_of_a_key_is_the_one_put_last() -> None:
    queue: FairQueue[str, int] = FairQueue()
    for key, item in [("a", 1), ("a", 2), ("b", 3)]:
        queue.put(key, item)
    assert (queue.newest("a"), queue.newest("b"), queue.newest("c")) == (2, 3, None)
    queue.remove("a", 2)
    assert queue.newest("a") == 1


@given(st.lists(st.one_of(st.none(), st.integers(0, 3))), st.integers(0, 4))
def test_what_comes_first_is_known_beforehand(steps: list[int | None], key: int) -> None:
    """`ahead` tells exactly what is popped before a new item; None in `steps` pops one."""
    queue: FairQueue[int, str] = FairQueue()
    for number, step in enumerate(steps):
        if step is not None:
            queue.put(step, f"other {number}")
        elif len(queue):
            queue.pop()
    ahead = +queue.ahead(key)
    queue.put(key, "mine")
    popped: Counter[int] = Counter()
    while (one := queue.pop())[1] != "mine":
        popped[one[0]] += 1
    assert popped == ahead
