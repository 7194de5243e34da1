"""The word sets that guard patterns: whatever a pattern matches contains one of its words."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from germane.pipeline.signals import asks, identifiers, intent, times
from germane.pipeline.signals.dates import DATES
from germane.pipeline.signals.relative import RELATIVE
from germane.pipeline.signals.word_set import lacks_all, word_set

GATED = [
    *((words, pattern) for words, pattern in (*asks._WHEN, *asks._NAME) if words),
    (intent._FIXING, intent._FIX),
    (intent._EXPLAINING, intent._EXPLAIN),
    (intent._ACTING, intent._ACTION),
]
AROUND = st.sampled_from(["", " ", "x ", " y", "?", "1", ". "])


def fitting(pattern: re.Pattern[str]) -> st.SearchStrategy[str]:
    """Texts in which the pattern is found, with something around it."""
    inside = st.from_regex(pattern)
    return st.builds("{}{}{}".format, AROUND, inside, AROUND).filter(lambda text: pattern.search(text) is not None)


@pytest.mark.parametrize(("words", "pattern"), GATED, ids=lambda one: min(one) if isinstance(one, frozenset) else "")
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], deadline=None)
@given(st.data())
def test_what_fits_a_pattern_holds_one_of_its_words(words: Any, pattern: re.Pattern[str], data: st.DataObject) -> None:
    assert not lacks_all(data.draw(fitting(pattern)), words)


@pytest.mark.parametrize(("words", "pattern"), GATED, ids=lambda one: min(one) if isinstance(one, frozenset) else "")
def test_no_word_that_fits_by_itself_is_forgotten(words: Any, pattern: re.Pattern[str]) -> None:
    """Every word that the pattern spells out, one by one."""
    spelled = set(re.findall("[a-z]{2,}", pattern.pattern))
    assert not [word for word in spelled if pattern.search(word) and lacks_all(word, words)]


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], deadline=None)
@given(fitting(identifiers._SHAPES))
def test_every_shape_of_an_identifier_is_may_contain(text: str) -> None:
    assert identifiers._may_contain(text)


@pytest.mark.parametrize("rule", [*DATES, *RELATIVE], ids=lambda rule: rule[0].pattern[:24])
@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], deadline=None)
@given(st.data())
def test_whatever_names_days_holds_what_its_rule_needs(rule: Any, data: st.DataObject) -> None:
    pattern, _, needs = rule
    words = times._words(data.draw(fitting(pattern)))
    assert not any(map(words.isdisjoint, needs))


def test_words_are_compared_without_case_and_a_text_beyond_ascii_may_contain_any_word() -> None:
    assert sorted(word_set("What's THIS, then?") or ()) == ["s", "then", "this", "what"]
    assert word_set("où?") is None
    assert lacks_all("nothing here", {"what"})
    assert not lacks_all("où?", {"what"})
