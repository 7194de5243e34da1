"""The words of a sentence tell which rules may match in it, so that the others aren't tried."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st

from germane.extraction.memories.language import LANGUAGES, language, vocabulary
from germane.extraction.memories.statements import may_state
from support.examples import examples

generated = examples(15, phases=[Phase.generate], suppress_health_check=list(HealthCheck), derandomize=True)


def beginning(text: str) -> str:
    word = re.match(r"[^\W\d_]{1,30}", text)
    return "" if word is None else word[0].lower()


@pytest.mark.parametrize(("name", "place"), [(name, place) for name in LANGUAGES for place in range(len(language(name).rules))])
def test_what_a_rule_matches_holds_a_word_that_the_rule_needs(name: str, place: int) -> None:
    """Texts made from the rule's expression: where one may begin a clause, the rule is possible there."""
    rules = language(name)
    rule = rules.rules[place]

    @generated
    @given(st.from_regex(rule.pattern))
    def check(text: str) -> None:
        match = rule.pattern.search(text)
        assert match is not None
        clause = text[match.start() :]
        assert not rule.may_begin_with(beginning(clause)) or rule in rules.possible(vocabulary(clause))

    check()


@pytest.mark.parametrize("name", LANGUAGES)
def test_what_may_stand_before_a_clause_begins_with_a_leading_word(name: str) -> None:
    rules = language(name)

    @generated
    @given(st.from_regex(rules.leads))
    def check(text: str) -> None:
        lead = rules.leads.search(text)
        assert lead is not None
        assert beginning(lead[0]) in rules.leading

    check()


def test_a_rule_is_possible_where_the_words_that_it_needs_and_begins_with_are_said() -> None:
    """The order is that of the file."""
    rules = language("english")

    def names(text: str) -> list[str]:
        return [rule.name for rule in rules.possible(vocabulary(text))]

    assert names("The weather is fine.") == []
    assert names("I PREFER tea.") == ["you_should_always", "prefer", "rather"]
    assert names("They prefer tea.") == []
    assert "age" in names("I am 40.")


@pytest.mark.parametrize("text", ["s’installer", "moved", "is 5", "é 5 €"])
def test_words_that_state_something_are_known(text: str) -> None:
    assert may_state(vocabulary(f"x {text}."))


@pytest.mark.parametrize("text", ["is", "what it is", "5 apples"])
def test_a_measure_isnt_stated_without_a_digit_and_a_verb(text: str) -> None:
    assert not may_state(vocabulary(text))
