"""Soft keyword match, by words of similar meaning."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from germane.embedders import word_vectors as module
from germane.embedders.distilled import Distilled
from germane.embedders.word_vectors import StaticWordVectors
from germane.search.bm25 import WeightedTerm
from germane.search.relevance import matrix, shipped
from germane.search.soft_match import soft
from germane.text.analyse import analyse, term_hash, worded
from germane.types.evidence import Evidence


@pytest.fixture(scope="module")
def words() -> StaticWordVectors:
    return StaticWordVectors(Distilled())


def terms(*asked: str) -> list[WeightedTerm]:
    return [
        WeightedTerm(word=word, hashes=tuple(map(term_hash, analyse(word))), share=1 / len(asked), occurrences=())
        for word in asked
    ]


@pytest.mark.requirement("SCORE-2")
def test_an_equal_stem_is_a_full_answer_and_a_kindred_word_half_of_one(words: StaticWordVectors) -> None:
    exact, similar, stranger, nothing = soft(terms("puppy"), ["Our puppies bark.", "A dog!", "The invoice is late.", ""], words)
    assert exact == 1.0
    assert exact > similar > 2 * max(stranger, 0.1)
    assert nothing == 0.0


def test_the_rarer_word_of_a_question_counts_for_more(words: StaticWordVectors) -> None:
    heavy, light = terms("violin", "weekend")
    asked = [
        WeightedTerm(word=one.word, hashes=one.hashes, share=share, occurrences=())
        for one, share in ((heavy, 0.9), (light, 0.1))
    ]
    first, second = soft(asked, ["violin", "weekend"], words)
    assert first > second
    assert 0.9 <= first <= 1.0


def test_without_words_to_look_for_or_texts_to_look_in_there_is_nothing(words: StaticWordVectors) -> None:
    assert soft((), ["a violin"], words).tolist() == [0.0]
    assert soft(terms("violin"), [], words).tolist() == []


@pytest.mark.requirement("SCORE-2")
def test_a_text_that_was_not_read_is_taken_to_be_as_kindred_as_such_texts_are() -> None:
    """So that a source without word vectors is neither helped nor harmed."""
    likely, unread, unlikely = shipped().log_odds(
        matrix([Evidence(own=0.6, cos_own=0.3, cos_window=0.3, soft=soft) for soft in (0.9, None, 0.1)])
    )
    assert likely > unread > unlikely


def test_the_words_of_a_text_stand_beside_the_stems_that_its_analysis_gives() -> None:
    text = "The puppies' e-mail: running_late in C++"
    assert [stem for _, stem in worded(text)] == [term_hash(stem) for stem in analyse(text)]


@pytest.mark.parametrize("max_words", [4, 65_536])
def test_a_word_has_the_same_vector_every_time(monkeypatch: pytest.MonkeyPatch, max_words: int) -> None:
    """Also when the cache is full and starts anew."""
    monkeypatch.setattr(module, "_MAX_WORDS", max_words)
    words = StaticWordVectors(Distilled())

    def of(*asked: str) -> NDArray[np.float32]:
        return words.of(asked)

    first = of("violin", "cello", "drum")
    assert np.array_equal(of("oboe", "flute", "cello", "violin")[[3, 2]], first[:2])
    assert np.array_equal(of("drum", "violin"), first[[2, 0]])
    assert np.allclose(np.linalg.norm(first, axis=1), 1.0, atol=2e-3)
    assert not of("").any()


def test_no_word_is_kept_as_text() -> None:
    words = StaticWordVectors(Distilled())
    seen: Sequence[object] = [*words._cache[0]]
    words.of(["violin"])
    seen = [*words._cache[0]]
    assert all(isinstance(key, int) for key in seen)
    assert len(seen) == 1


@pytest.mark.parametrize(("words", "texts"), [(65_536, 32_768), (3, 32_768), (65_536, 2), (3, 2), (0, 0)])
def test_a_text_is_answered_alike_whatever_is_remembered(monkeypatch: pytest.MonkeyPatch, words: int, texts: int) -> None:
    """Cached or not, alone or among others, and when a full cache starts anew."""
    stored = ["Our puppies bark.", "A dog!", "The invoice is late.", "", "Violins and a cello.", "puppy", "A dog!"]
    asked = terms("puppy", "violin")
    once = [float(soft(asked, [text], StaticWordVectors(Distilled()))[0]) for text in stored]
    monkeypatch.setattr(module, "_MAX_WORDS", words)
    monkeypatch.setattr(module, "_MAX_TEXTS", texts)
    known = StaticWordVectors(Distilled())
    for some in (stored[:3], stored, stored[2:], stored[::-1], stored):
        assert soft(asked, some, known).tolist() == [once[stored.index(text)] for text in some]


def test_no_text_is_kept_as_text() -> None:
    """Only numbers remain of a text: the rows of its words and the hashes of their stems."""
    words = StaticWordVectors(Distilled())
    soft(terms("violin"), ["A secret violin."], words)
    assert [list(map(type, kept)) for kept in words._cache.texts.items()] == [[int, np.ndarray]]
