"""Vectors of the stems of a table's vocabulary."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from germane.models.embedders.distilled import Distilled
from germane.models.embedders.tables import StaticWordVectors
from germane.text.terms import stem, term_hash


class _Table:
    """Four words in two directions besides one that they share; `runs` and `run` have one stem."""

    words = ("run", "runs", "jog", "sleep")
    vectors = np.array([[9, 1, 0], [9, 1, 0.1], [9, 1, 0.1], [9, -3, 0]], np.float32)

    def embed_now(self, texts: Sequence[str]) -> NDArray[np.float32]:
        unit = self.vectors / np.linalg.norm(self.vectors, axis=1, keepdims=True)
        known = dict(zip(self.words, unit, strict=True))
        return np.array([known.get(text, np.zeros(3)) for text in texts], np.float32).reshape(len(texts), 3)

    def whole_words(self) -> tuple[Sequence[str], NDArray[np.float32]]:
        return self.words, self.vectors.copy()


def hashes(*words: str) -> NDArray[np.uint32]:
    return np.array([term_hash(stem(word, "english")) for word in words], np.uint32)


def test_words_are_alike_by_what_they_have_in_common_besides_what_all_have() -> None:
    same, near, far = StaticWordVectors(_Table()).cosines(hashes("runs", "jog", "sleep"), ["run"])[:, 0]
    assert same > 0.95
    assert near > 0.95
    assert far < -0.95


def test_a_stem_without_a_vector_is_like_no_word_and_a_word_without_one_has_none() -> None:
    found = StaticWordVectors(_Table()).cosines(hashes("unheard", "run"), ["run", "unknown"])
    assert found[0, 0] == 0
    assert np.isnan(found[:, 1]).all()


@pytest.mark.parametrize("asked", [[], ["dog"]])
def test_nothing_to_compare_is_no_trouble(asked: list[str]) -> None:
    assert StaticWordVectors(Distilled()).cosines(np.empty(0, np.uint32), asked).shape == (0, len(asked))


def test_the_default_table_knows_some_ten_thousand_stems() -> None:
    dog, invoice, odd = StaticWordVectors(Distilled()).cosines(hashes("puppies", "invoice", "qzxv"), ["dog"])[:, 0]
    assert dog > 0.5 > 0.2 > invoice
    assert odd == 0


def test_words_of_earlier_questions_are_as_they_would_be_alone() -> None:
    """Their vectors are kept, those of long words and of scripts without vectors too or not, in whatever order they come."""
    embedder = Distilled()
    stems, long = hashes("garden", "boat", "winter", "piano"), "boat" * 30
    kept, questions = (
        StaticWordVectors(embedder),
        (["boat", "garden"], ["garden", long, "корабль", "boat"], [long, "boat", "sea"]),
    )
    for words in (*questions, *reversed(questions)):
        np.testing.assert_array_equal(kept.cosines(stems, words), StaticWordVectors(embedder).cosines(stems, words))
