"""Telling words: what the words of a clause say of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.kinds.profile.telling import EVIDENCE, MODELS, word_evidence, word_tokens

pytestmark = pytest.mark.requirement("PERSON-1")


def test_words_their_beginnings_and_pairs_are_what_is_known() -> None:
    assert word_tokens("Don’t reformat") == {"don't", "reformat", "refor*", "^_don't", "don't_reformat", "reformat_$"}
    assert {"以", "以后", "以后别", "后别"} <= word_tokens("以后别")


def test_each_model_has_the_sum_the_highest_and_the_lowest() -> None:
    weights = {"one": (1.0, -2.0, 0.5), "other": (3.0, 0.0, 0.5)}
    found = dict(zip(EVIDENCE, word_evidence(["one", "other", "unknown"], weights), strict=True))
    root = 3**0.5
    assert found["words:rule"] == pytest.approx(4 / root)
    assert (found["most:rule"], found["least:rule"]) == (3.0, 0.0)
    assert (found["most:lasting"], found["least:lasting"]) == (0.0, -2.0)


def test_unknown_words_say_nothing() -> None:
    assert word_evidence(["qqzzx"]) == [0.0] * (3 * len(MODELS))


@given(st.text(max_size=300))
def test_any_text_has_evidence_of_one_shape(text: str) -> None:
    assert len(word_evidence(word_tokens(text))) == len(EVIDENCE)
