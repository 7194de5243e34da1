"""The cache of open documents: the newest of each block, as many as fit, and each given out once."""

from __future__ import annotations

import pytest

from germane.kinds.blocks.cache import DocumentCache
from germane.kinds.blocks.document import BlockDocument
from germane.kinds.blocks.schema import TextSchema

pytest.importorskip("loro")
pytestmark = pytest.mark.requirement("BLK-4")


def document(text: str = "a") -> BlockDocument:
    return BlockDocument.new(TextSchema(), text)


def test_an_earlier_version_never_replaces_a_later_one() -> None:
    """Two edits may be put back in either order."""
    cache, later = DocumentCache(), document("later")
    cache.put("b", 2, later, 10)
    cache.put("b", 1, document("earlier"), 10)
    held = cache.take("b")
    assert held is not None
    assert (held.version, held.document) == (2, later)
    assert (cache.take("b"), len(cache)) == (None, 0)


def test_what_wasnt_used_for_longest_goes_first() -> None:
    """The bytes are bounded, those of replaced and of taken documents are given back."""
    cache = DocumentCache(max_bytes=3 * 5_096)
    for number in range(50):
        cache.put("same", number, document(), 1_000)
    for id in ("one", "two"):
        cache.put(id, 0, document(), 1_000)
    assert len(cache) == 3
    again = cache.take("same")
    assert again is not None
    cache.put("same", 50, again.document, 1_000)
    cache.put("three", 0, document(), 1_000)
    assert [cache.take(id) is not None for id in ("one", "two", "same", "three")] == [False, True, True, True]
    cache.put("huge", 0, document(), 100_000)
    assert len(cache) == 0
