"""Soft keyword match, by words of similar meaning, from the hashes of a text's stems."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from germane.models.embedders.distilled import Distilled
from germane.models.embedders.tables import StaticWordVectors
from germane.search.bm25 import WeightedTerm
from germane.search.features import RowTerms
from germane.search.features import soft_scores as scored
from germane.search.relevance import matrix, shipped
from germane.search.unit import analyse_text
from germane.text.terms import analyse, term_hash
from germane.types.evidence import Evidence


@pytest.fixture(scope="module")
def words() -> StaticWordVectors:
    return StaticWordVectors(Distilled())


def terms(*asked: str) -> list[WeightedTerm]:
    return [
        WeightedTerm(word=word, hashes=tuple(map(term_hash, analyse(word))), share=1 / len(asked), occurrences=())
        for word in asked
    ]


def stored(*texts: str) -> RowTerms:
    """The terms of texts as the search rows hold them."""
    hashes = [np.frombuffer(analyse_text(text).terms, "<u4") for text in texts]
    lengths = np.array([len(one) for one in hashes], np.int64)
    starts = np.cumsum(lengths) - lengths
    return RowTerms(np.concatenate([np.empty(0, np.uint32), *hashes]).astype(np.uint32), starts, lengths)


def soft(asked: Sequence[WeightedTerm], texts: RowTerms, words: StaticWordVectors) -> NDArray[np.float32]:
    """The scores, with what the index would say of the texts."""
    own = [
        set(texts.hashes[start : start + length].tolist()) for start, length in zip(texts.starts, texts.lengths, strict=True)
    ]
    held = np.array([[not there.isdisjoint(term.hashes) for term in asked] for there in own], np.bool_)
    return scored(asked, texts, held.reshape(len(own), len(asked)), words)


@pytest.mark.requirement("SCORE-2")
def test_an_equal_stem_is_a_full_answer_and_a_kindred_word_half_of_one(words: StaticWordVectors) -> None:
    texts = stored("Our puppies bark.", "A dog!", "The invoice is late.", "")
    exact, similar, stranger, nothing = soft(terms("puppy"), texts, words)
    assert exact == 1.0
    assert exact > similar > 2 * max(stranger, 0.1)
    assert nothing == 0.0


def test_the_rarer_word_of_a_question_counts_for_more(words: StaticWordVectors) -> None:
    heavy, light = terms("violin", "weekend")
    asked = [
        WeightedTerm(word=one.word, hashes=one.hashes, share=share, occurrences=())
        for one, share in ((heavy, 0.9), (light, 0.1))
    ]
    first, second = soft(asked, stored("violin", "weekend"), words)
    assert first > second
    assert 0.9 <= first <= 1.0


def test_without_words_to_look_for_nothing_is_known(words: StaticWordVectors) -> None:
    assert np.isnan(soft((), stored("a violin"), words)).tolist() == [True]
    assert soft(terms("violin"), stored(), words).tolist() == []
    assert soft(terms("violin"), stored("", ""), words).tolist() == [0.0, 0.0]


@pytest.mark.requirement("SCORE-2", "SEARCH-2")
@pytest.mark.parametrize("word", ["собака", "犬", "सोना", "σκύλος"])
def test_a_word_of_a_script_without_vectors_is_neither_alike_nor_strange(words: StaticWordVectors, word: str) -> None:
    """The relevance model then assumes the usual value; beside a word that has a vector, it counts only where it stands."""
    assert np.isnan(soft(terms(word), stored(word, "a dog"), words)).all()
    beside = soft(terms(word, "violin"), stored(f"{word} violin", "a violin"), words)
    assert beside.tolist() == pytest.approx([1.0, 0.5])


@pytest.mark.requirement("SCORE-2")
def test_a_text_that_was_not_read_is_taken_to_be_as_kindred_as_such_texts_are() -> None:
    """So that a source without word vectors is neither helped nor harmed."""
    likely, unread, unlikely = shipped().log_odds(
        matrix([Evidence(own=0.6, cos_own=0.3, cos_window=0.3, soft=soft) for soft in (0.9, None, 0.1)])
    )
    assert likely > unread > unlikely


def test_a_text_is_answered_alike_alone_and_among_others(words: StaticWordVectors) -> None:
    texts = ["Our puppies bark.", "A dog!", "The invoice is late.", "", "Violins and a cello.", "puppy", "A dog!"]
    asked = terms("puppy", "violin")
    alone = [float(soft(asked, stored(text), words)[0]) for text in texts]
    assert soft(asked, stored(*texts), words).tolist() == pytest.approx(alone, abs=1e-6)
    assert soft(asked, stored(*texts[::-1]), words).tolist() == pytest.approx(alone[::-1], abs=1e-6)
