"""Postings and columns grow while they are read."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from germane.search.columns import Columns, Postings

DOCUMENTS = st.lists(st.lists(st.integers(0, 2**32 - 1) | st.integers(0, 5), max_size=6), max_size=40)


@given(DOCUMENTS, st.lists(st.integers(1, 9), max_size=12))
def test_postings_are_a_count_of_terms_by_row_however_they_were_added(documents: list[list[int]], sizes: list[int]) -> None:
    """Rows come back distinct and ascending, over any number of segments."""
    postings, first = Postings(), 0
    for size in [*sizes, len(documents)]:
        rows = range(first, min(first + size, len(documents)))
        pairs = [(row, term) for row in rows for term in documents[row]]
        postings.add(np.array([row for row, _ in pairs], np.int32), np.array([term for _, term in pairs], np.uint32))
        first = rows.stop
    for term in {term for document in documents for term in document} | {12345}:
        rows_of, counts = postings.find(term)
        wanted = [(row, Counter(document)[term]) for row, document in enumerate(documents) if term in document]
        assert list(zip(rows_of.tolist(), counts.tolist(), strict=True)) == wanted


@given(DOCUMENTS, st.lists(st.integers(1, 9), max_size=12), st.sets(st.integers(0, 40), max_size=12))
def test_of_dropped_rows_nothing_is_left(documents: list[list[int]], sizes: list[int], dropped: set[int]) -> None:
    """Neither an entry nor a term that only they held; the others are as if those had never been there."""
    postings, first = Postings(), 0
    for size in [*sizes, len(documents)]:
        rows = range(first, min(first + size, len(documents)))
        pairs = [(row, term) for row in rows for term in documents[row]]
        postings.add(np.array([row for row, _ in pairs], np.int32), np.array([term for _, term in pairs], np.uint32))
        first = rows.stop
    postings.drop(np.array(sorted(dropped), np.intp))
    left = {row: document for row, document in enumerate(documents) if row not in dropped}
    terms = {term for document in left.values() for term in document}
    assert {term for segment in postings._segments for term in segment.terms.tolist()} == terms
    for term in terms:
        rows_of, counts = postings.find(term)
        wanted = [(row, Counter(document)[term]) for row, document in left.items() if term in document]
        assert list(zip(rows_of.tolist(), counts.tolist(), strict=True)) == wanted


def test_many_small_additions_make_few_segments() -> None:
    """Each is a quarter of the one before at most, so a term is looked up in O(log n) of them."""
    postings = Postings()
    for row in range(1000):
        postings.add(np.array([row], np.int32), np.array([row % 7], np.uint32))
    assert len(postings._segments) <= 8
    assert len(postings.find(3)[0]) == 143


def test_a_reader_keeps_what_it_took_while_columns_grow() -> None:
    columns = Columns({"a": (np.int32, ())})
    columns.append(2, {"a": np.array([1, 2])})
    rows, held = columns.rows, columns["a"]
    columns.append(500, {"a": np.full(500, 9)})
    assert held[:rows].tolist() == [1, 2]
    assert columns["a"][: columns.rows].tolist() == [1, 2, *[9] * 500]


def test_rows_that_are_written_are_not_seen_before_they_are_published() -> None:
    columns = Columns({"a": (np.int32, ())})
    columns.write(2, {"a": np.array([1, 2])})
    assert columns.rows == 0
    columns.publish(2)
    assert columns["a"][: columns.rows].tolist() == [1, 2]
