"""The word sets that guard patterns: whatever a pattern matches contains one of its words."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from germane.stages.read import asks, query
from germane.stages.read import asks as intent
from germane.stages.read.asks import lacks_all, word_set
from support.examples import examples
from support.fitting import fitting

GATED = [
    *((words, pattern) for words, pattern in (*asks._WHEN, *asks._NAME) if words),
    (intent._FIXING, intent._FIX),
    (intent._EXPLAINING, intent._EXPLAIN),
    (intent._ACTING, intent._ACTION),
]


@pytest.mark.parametrize(("words", "pattern"), GATED, ids=lambda one: min(one) if isinstance(one, frozenset) else "")
@examples(40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(st.data())
def test_what_fits_a_pattern_holds_one_of_its_words(words: Any, pattern: re.Pattern[str], data: st.DataObject) -> None:
    assert not lacks_all(data.draw(fitting(pattern)), words)


@pytest.mark.parametrize(("words", "pattern"), GATED, ids=lambda one: min(one) if isinstance(one, frozenset) else "")
def test_no_word_that_fits_by_itself_is_forgotten(words: Any, pattern: re.Pattern[str]) -> None:
    """Every word that the pattern spells out, one by one."""
    spelled = set(re.findall("[a-z]{2,}", pattern.pattern))
    assert not [word for word in spelled if pattern.search(word) and lacks_all(word, words)]


@examples(100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(fitting(query._SHAPES))
def test_every_shape_of_an_identifier_is_may_contain(text: str) -> None:
    assert query._may_contain(text)


def alternatives(pattern: str) -> list[str]:
    """The alternatives of a pattern of one group between word boundaries, those of groups within left as they are."""
    found, depth = [""], 0
    for char in pattern.removeprefix(r"\b(?:"):
        depth += (char == "(") - (char == ")")
        if depth < 0:
            break
        if char == "|" and not depth:
            found.append("")
        else:
            found[-1] += char
    return found


OVERVIEWS = [one for one in alternatives(asks._OVERVIEW.pattern) if one.isascii() and "(?!" not in one]


def test_overviews_have_alternatives() -> None:
    assert len(OVERVIEWS) == 37
    assert OVERVIEWS[0].startswith("summar")
    assert OVERVIEWS[-1].startswith("sammanfatt")


@pytest.mark.parametrize("alternative", OVERVIEWS, ids=lambda one: one[:20])
@examples(12, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(st.data())
def test_what_asks_for_an_overview_holds_one_of_its_parts(alternative: str, data: st.DataObject) -> None:
    pattern = re.compile(rf"\b(?:{alternative})\b", re.IGNORECASE | re.ASCII)
    text = data.draw(fitting(pattern, st.characters(codec="ascii")))
    assert asks._OVERVIEW.search(text)
    assert asks.asks_overview(text, 5)


@pytest.mark.parametrize(
    "text",
    [
        *("walk me through our plan", "WALK ME THROUGH it", "une vue d'ensemble", "dans quel ordre", "ordre dans lequel"),
        *("de quoi on a fait", "qu'on a vu", "qu'avons-nous fait", "sujets jusqu'ici", "fais le point", "en que orden"),
        *("sobre que hemos hablado, los temas hasta ahora", "do que falamos", "o que vimos", "em que ordem"),
    ],
)
def test_so_does_what_is_also_written_with_accents(text: str) -> None:
    assert asks.asks_overview(text, 5) is (asks._OVERVIEW.search(text) is not None)


def test_words_are_compared_without_case_and_a_text_beyond_ascii_may_contain_any_word() -> None:
    assert sorted(word_set("What's THIS, then?") or ()) == ["s", "then", "this", "what"]
    assert word_set("où?") is None
    assert lacks_all("nothing here", {"what"})
    assert not lacks_all("où?", {"what"})
