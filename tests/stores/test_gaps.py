"""Gaps: the search over many pages at once finds what a search page by page finds."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

from germane.stores.sqlite.raw_file import gaps


def one_by_one(content: bytes, size: int, first: int) -> Iterator[tuple[int, int, int]]:
    """Gaps of one page, straight from the file format's description."""
    for number in range(len(content) // size):
        page = content[number * size : (number + 1) * size]
        at = 100 if first + number == 1 else 0
        header = {2: 12, 5: 12, 10: 8, 13: 8}.get(page[at])
        if header is None:
            continue
        begins = at + header + 2 * int.from_bytes(page[at + 3 : at + 5], "big")
        ends = int.from_bytes(page[at + 5 : at + 7], "big") or 65536
        if begins < ends <= size and any(page[begins:ends]):
            yield first + number, begins, ends


def a_page(rng: random.Random, size: int, at: int) -> bytes:
    """A page, sound or damaged, whose gap may hold something."""
    cells = rng.choice([0, 1, 20, size])
    ends = rng.choice([0, size, size - 1, rng.randrange(size), 40 + 2 * cells])
    head = (
        bytes([rng.choice([0, 1, 2, 5, 10, 13, 255]), 0, 0])
        + (cells & 65535).to_bytes(2, "big")
        + (ends & 65535).to_bytes(2, "big")
    )
    page = bytearray(rng.randbytes(size) if rng.random() < 0.3 else bytes(size))
    page[at : at + 7] = head
    for place in (rng.randrange(size), ends - 1, ends, at + 8 + 2 * cells):
        if rng.random() < 0.3 and at + 7 <= place < size:
            page[place] = 7
    return bytes(page)


@pytest.mark.parametrize("size", [512, 8192, 65536])
@pytest.mark.parametrize("first", [1, 2])
def test_the_gaps_of_many_pages_are_those_of_each(size: int, first: int) -> None:
    """Whatever the pages are: of other kinds, empty, full, damaged."""
    rng = random.Random(size + first)
    found = 0
    for _ in range(60):
        pages = b"".join(a_page(rng, size, 100 if first + n == 1 else 0) for n in range(rng.randrange(1, 9)))
        wanted = list(one_by_one(pages, size, first))
        assert list(gaps(np.frombuffer(pages, np.uint8), size, first)) == wanted
        found += len(wanted)
    assert found > 20
