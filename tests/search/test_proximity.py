"""Neighbouring words of the query that are neighbours in a unit."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

from germane.search.bm25 import weigh_terms
from germane.search.features import RowTerms, phrase_scores
from germane.search.partition import Partition
from support.plain_units import WORDS, Text, asking, held, texts


def phrases(partition: Partition, *words: str) -> list[float]:
    rows = np.arange(partition.columns.rows)
    return [float(one) for one in phrase_scores(weigh_terms([partition], asking(*words)), RowTerms.of(partition, rows))]


def test_adjacent_in_order_counts_half_a_quarter_a_few_words_apart() -> None:
    """Reversed, too far apart, or alone counts nothing."""
    units = ["ash birch", "ash elm elm elm birch", "ash elm elm elm elm birch", "birch ash", "ash"]
    partition = held([[Text(key=key, session=key, words=tuple(words.split())) for key, words in enumerate(units)]])
    assert phrases(partition, "ash", "birch") == pytest.approx([0.5, 0.25, 0, 0, 0])


def test_words_of_two_units_are_no_phrase() -> None:
    partition = held([[Text(key=1, words=("ash",)), Text(key=2, at=1.0, words=("birch",))]])
    assert phrases(partition, "ash", "birch") == [0, 0]


def test_one_word_is_no_phrase_and_no_rows_are_no_trouble() -> None:
    partition = held([[Text(key=1, words=("ash",))]])
    assert phrases(partition, "ash") == [0]
    assert len(phrase_scores(weigh_terms([partition], asking("ash", "elm")), RowTerms.of(partition, np.empty(0, np.intp)))) == 0


def test_a_word_that_is_asked_twice_must_stand_there_twice() -> None:
    """It is no neighbour of itself."""
    units = ["ash", "ash ash", "ash elm ash"]
    partition = held([[Text(key=key, session=key, words=tuple(words.split())) for key, words in enumerate(units)]])
    assert phrases(partition, "ash", "ash") == pytest.approx([0, 0.5, 0.25])


@given(texts())
def test_a_phrase_is_worth_what_its_pairs_hold(corpus: list[Text]) -> None:
    """Σ over pairs of the query's neighbours: their idf share, halved when adjacent, quartered within four words."""
    partition = held([corpus])
    asked = WORDS[:3]
    shares = dict(zip(asked, (term.share for term in weigh_terms([partition], asking(*asked))), strict=True))
    for text, found in zip(corpus, phrases(partition, *asked), strict=True):
        wanted = 0.0
        for one, two in pairwise(asked):
            gaps = [
                second - first
                for first, word in enumerate(text.words)
                for second, other in enumerate(text.words)
                if (word, other) == (one, two) and 0 < second - first <= 4
            ]
            if gaps:
                wanted += (0.5 if min(gaps) == 1 else 0.25) * (shares[one] + shares[two])
        assert found == pytest.approx(min(wanted, 1.0), abs=1e-5)
