"""Cosines of units and of their windows against vectors added up by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from germane.search.cosine import VectorScan, cosines, windows
from germane.search.partition import Partition
from germane.search.snapshot import take_snapshot
from support.plain_units import DIMENSION, Text, asking, held, search, texts
from support.plain_units import windows as neighbourhoods

QUERY = np.array([0.5, 0.5, -0.5, 0.5], np.float32)


def scanned(partition: Partition, rows: int) -> NDArray[np.float32]:
    with VectorScan.begun(partition, QUERY, rows, lambda: False) as scan:
        return scan.products()


def near(partition: Partition) -> dict[int, tuple[float, float]]:
    rows = partition.columns.rows
    snapshot = take_snapshot(partition, rows)
    found = cosines(scanned(partition, rows), snapshot)
    alive = np.flatnonzero(partition.columns["alive"][:rows])
    keys = partition.columns["key"][alive].tolist()
    pairs = zip(found.own[alive].tolist(), windows(partition, found, snapshot, alive).tolist(), strict=True)
    return dict(zip(keys, pairs, strict=True))


def by_hand(corpus: list[Text]) -> dict[int, tuple[float, float]]:
    vectors = {text.key: np.array(text.vector or (0.0,) * DIMENSION) for text in corpus}
    answer = {}
    for key, (_, *beside) in neighbourhoods(corpus).items():
        window = vectors[key] + sum((0.5 * vectors[text.key] for text in beside), np.zeros(DIMENSION))
        length = max(float(np.linalg.norm(window)), 1e-6)
        answer[key] = (float(vectors[key] @ QUERY), float(window @ QUERY) / length)
    return answer


@given(texts(), st.integers(1, 9), st.data())
def test_a_window_is_the_unit_and_half_of_each_neighbour(corpus: list[Text], size: int, data: st.DataObject) -> None:
    """cos(q, v + ½ before + ½ after) of every living unit, however the units came and whatever was dropped since."""
    partition = held([corpus[start : start + size] for start in range(0, len(corpus), size)])
    gone = data.draw(st.sets(st.sampled_from([text.key for text in corpus])))
    partition.drop(gone)
    wanted = by_hand([text for text in corpus if text.key not in gone])
    found = near(partition)
    assert found.keys() == wanted.keys()
    for key, pair in wanted.items():
        assert found[key] == pytest.approx(pair, abs=0.02)


def test_a_unit_alone_has_the_same_cosine_as_its_window() -> None:
    """Up to its length: the window's is normalised."""
    own, window = near(held([[Text(key=1, vector=(0.0, 0.0, 0.0, 0.5))]]))[1]
    assert (own, window) == pytest.approx((0.25, 0.5), abs=0.01)


@pytest.mark.requirement("SEARCH-3")
def test_a_vector_of_another_dimension_says_nothing() -> None:
    """Keywords go on answering."""
    partition = held([[Text(key=1, words=("ash",), vector=(1.0, 0.0, 0.0, 0.0))]])
    (hit,) = search([partition], asking("ash", vector=np.ones(7, np.float32)))
    assert (hit.key, hit.evidence.cos_own, hit.evidence.cos_window) == (1, None, None)


def test_a_unit_without_a_vector_has_no_cosine() -> None:
    """None, not zero: nobody has looked."""
    line = [Text(key=1, words=("ash",)), Text(key=2, at=1.0, words=("ash",), vector=(1.0, 0.0, 0.0, 0.0))]
    found = {hit.key: hit.evidence for hit in search([held([line])], asking("ash", vector=QUERY))}
    assert found[1].cos_window is None
    assert found[2].cos_own == pytest.approx(0.5, abs=0.01)


def test_without_a_query_vector_there_is_no_cosine() -> None:
    (hit,) = search([held([[Text(key=1, words=("ash",), vector=(1.0, 0.0, 0.0, 0.0))]])], asking("ash"))
    assert hit.evidence.cos_window is None
