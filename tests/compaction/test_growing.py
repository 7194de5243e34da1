"""Growing: what is made of a sequence leaves it as it was, and doesn't copy it."""

from __future__ import annotations

import pytest

from germane.compaction.boundaries import SharedSequence


def test_a_longer_one_leaves_the_shorter_as_it_was() -> None:
    """Two that are made of the same one don't see each other."""
    first = SharedSequence([1, 2])
    second, other = first.plus([3]), first.plus([4, 5])
    assert [list(first), list(second), list(other)] == [[1, 2], [1, 2, 3], [1, 2, 4, 5]]
    assert list(second.plus([6])) == [1, 2, 3, 6]
    assert (len(first), first[-1], list(first[1:])) == (2, 2, [2])
    assert (first == SharedSequence([1, 2]), first == second, second == other, hash(first) == hash(SharedSequence([1, 2]))) == (
        True,
        False,
        False,
        True,
    )
    with pytest.raises(IndexError):
        first[2]


def test_adding_does_not_copy() -> None:
    """The items stand in one list, however many steps there were."""
    grown = SharedSequence[int]()
    for number in range(50):
        grown = grown.plus([number])
    assert list(grown) == list(range(50))
    assert grown.plus([50])._items is grown._items
