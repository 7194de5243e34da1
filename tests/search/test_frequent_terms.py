"""The cached contributions of frequent terms equal freshly computed ones, to within a step of the cache."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from germane.search import bm25
from germane.search import bm25 as frequent_terms
from germane.search.bm25 import LexicalScores, lexical_scores, weigh_terms
from germane.search.partition import Partition
from germane.search.snapshot import Snapshot, take_snapshot
from support.plain_units import DIMENSION, Text, asking, texts, unit

STEP = 2.2 / 255
"""Of a term's contribution, which a share of at most 1 makes smaller."""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of few rows."""
    monkeypatch.setattr(bm25, "_MAX_AT_ONCE", -1)


def found(partition: Partition, words: Sequence[str] = ("ash", "elm")) -> tuple[LexicalScores, Snapshot]:
    snapshot = take_snapshot(partition, partition.columns.rows)
    return lexical_scores(weigh_terms([partition], asking(*words)), snapshot), snapshot


def alike(one: LexicalScores, two: LexicalScores) -> None:
    for name in ("own", "window", "block"):
        assert getattr(one, name).tolist() == pytest.approx(getattr(two, name).tolist(), abs=STEP), name


@given(texts(), st.lists(st.integers(1, 8), max_size=6), st.data())
def test_whenever_it_was_worked_out_it_is_the_same(corpus: list[Text], sizes: list[int], data: st.DataObject) -> None:
    """Searched after every few units, in order or late, dropped or replaced: the scores are those of BM25 without a cache."""
    partition, rest = Partition(DIMENSION), list(corpus)
    for size in (*sizes, len(corpus)):
        partition.extend([unit(text) for text in rest[:size]])
        rest = rest[size:]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bm25, "_MAX_AT_ONCE", -1)
            kept, _ = found(partition)
        alike(kept, found(partition)[0])
    partition.drop(data.draw(st.lists(st.sampled_from([text.key for text in corpus]), max_size=2)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bm25, "_MAX_AT_ONCE", -1)
        kept, _ = found(partition)
    alike(kept, found(partition)[0])


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 3)), min_size=2, max_size=30))
def test_what_comes_in_order_is_carried_on(turns: list[tuple[int, int]]) -> None:
    """Some sessions that take turns, searched after every message."""
    partition = Partition(DIMENSION)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("germane.search.snapshot._MIN_ROUNDED", 1)
        for at, (session, times) in enumerate(turns):
            partition.extend([unit(Text(key=at, session=session, at=float(at), words=("ash",) * times + ("fir",)))])
            patch.setattr(bm25, "_MAX_AT_ONCE", -1)
            kept, _ = found(partition, ("ash", "fir"))
            patch.setattr(bm25, "_MAX_AT_ONCE", 1 << 20)
            alike(kept, found(partition, ("ash", "fir"))[0])


@pytest.mark.usefixtures("small")
def test_it_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second search looks nothing up; of new rows only they and their neighbours are."""
    monkeypatch.setattr("germane.search.snapshot._MIN_ROUNDED", 1)
    partition = Partition(DIMENSION)
    partition.extend([unit(Text(key=n, at=float(n), words=(("ash", "elm")[n % 2], "oak"))) for n in range(200)])
    changed: list[int] = []
    steps = frequent_terms._steps

    def noted(counts: NDArray[np.float32], norm: NDArray[np.float32]) -> NDArray[np.uint8]:
        changed.append(len(counts))
        return steps(counts, norm)

    monkeypatch.setattr(frequent_terms, "_steps", noted)
    for _ in range(2):
        found(partition, ("ash",))
    assert changed == [200, 200]
    partition.extend([unit(Text(key=300, at=300.0, words=("ash", "oak")))])
    found(partition, ("ash",))
    assert changed[2:] == [2, 2]


@pytest.mark.usefixtures("small")
def test_only_so_many_terms_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full cache evicts the least recently used term, which is computed again at its next use."""
    monkeypatch.setattr(frequent_terms, "_MAX_CACHED_TERMS", 1)
    partition = Partition(DIMENSION)
    partition.extend([unit(Text(key=n, words=("ash", "elm"))) for n in range(20)])
    first, snapshot = found(partition, ("ash",))
    found(partition, ("elm",))
    assert len(frequent_terms.FrequentTerms.of(snapshot)._terms) == 1
    assert np.array_equal(found(partition, ("ash",))[0].own, first.own)
