"""Constraints: what a user demands, forbids or limits, in the user's own words and in fifteen languages (HIST-5)."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.compaction.reading.statements import constraints_in, statement_rules
from germane.text.demands import LANGUAGES, MAX_DEMAND, demand_rules
from germane.text.normal import in_lower_case
from germane.text.own_words.own_words import own_sentences
from support.expressions import faults

pytestmark = pytest.mark.requirement("HIST-5")

SENTENCES = tomllib.loads((Path(__file__).parent / "demands.toml").read_text("utf-8"))


def listed(kind: str) -> list[tuple[str, str]]:
    return [(language, sentence) for language, kinds in SENTENCES.items() for sentence in kinds[kind]]


def texts(message: str) -> list[str]:
    return [each.text for each in constraints_in(message)]


def test_all_languages_with_rules_are_listed() -> None:
    """No language is untested."""
    assert tuple(SENTENCES) == LANGUAGES


@pytest.mark.parametrize(("language", "sentence"), listed("demands"))
def test_a_demand_is_found_verbatim(language: str, sentence: str) -> None:
    """Whatever the language, which isn't given."""
    assert texts(sentence) == [sentence]


@pytest.mark.parametrize(("language", "sentence"), listed("others"))
def test_another_sentence_is_no_constraint(language: str, sentence: str) -> None:
    """What is told, asked, thanked or complained about."""
    assert texts(sentence) == []


@pytest.mark.requirement("PERSON-6")
@pytest.mark.parametrize(
    "sentence",
    [
        "five lines tops",
        "pnpm not npm",
        "Stop using lodash.",
        "I forbid you to push to main.",
        "We can't break the public API.",
        "Nothing in vendor/ may change.",
        "If you touch the schema, add a migration.",
        "pls dont change the config",
    ],
)
def test_a_demand_in_few_words_is_found(sentence: str) -> None:
    """As people type them to an agent."""
    assert texts(sentence) == [sentence]


def test_only_the_sentence_with_the_demand_is_kept() -> None:
    """In passing, between others."""
    said = "Hello! Please look at src/parse.py, it fails. Fix the parser, but don't touch the tests. Thanks a lot."
    assert texts(said) == ["Fix the parser, but don't touch the tests."]


def test_a_list_of_rules_is_the_users_own() -> None:
    """Bullets and numbers are no quotations."""
    said = "Some rules:\n- never commit to main\n- [ ] answer in German\n2. no new dependencies, please\n"
    assert texts(said) == ["never commit to main", "answer in German", "no new dependencies, please"]


@pytest.mark.parametrize(
    "said",
    [
        "What does this do?\n```\n# never call this twice\nalways_run(only=True)\n```",
        "> You must not change the API.\n\nWhat did she mean by that?",
        'The sign says "never touch the lever", what is a lever?',
        "Translate this text: Never leave the door open. Always lock it.",
        "Please summarise the following e-mail:\n\nDear Ann,\nyou must never call them again.\nAlways yours, Bob",
        "Why?\n2024-05-01 10:00:01 ERROR you must not be root\nTraceback (most recent call last):\nValueError: never negative",
        "<document>Never share this. Only use it here.</document> Summarise it.",
        "The error says you must not be root.",
    ],
)
def test_what_is_quoted_or_pasted_is_not_demanded(said: str) -> None:
    """Code, quotations, letters, logs and documents are somebody else's words."""
    assert texts(said) == []


def test_a_demand_before_a_paste_counts() -> None:
    """The user's words end where the text is handed over."""
    said = "Never use contractions. Translate the following text: You must never go there."
    assert texts(said) == ["Never use contractions."]


def test_a_withdrawal_stands_behind_what_it_takes_back() -> None:
    """Both are kept in their order."""
    assert texts("Don't touch the tests.\nOk, you may touch the tests now.") == [
        "Don't touch the tests.",
        "Ok, you may touch the tests now.",
    ]


def test_a_long_sentence_is_cut_around_its_demand() -> None:
    """At most 300 characters, with the demand in them."""
    said = f"{'and so on ' * 30}, but never ever push to the main branch of it, {'and so on ' * 30}"
    found = " ".join(texts(said))
    assert "never ever push to the main branch" in found
    assert all(len(each) <= MAX_DEMAND for each in texts(said))


@pytest.mark.parametrize(
    ("before", "behind", "start", "end"),
    [(25, 45, "…word", "word…"), (0, 70, "Never", "word…"), (70, 0, "…word", "main"), (20, 20, "word", "word")],
)
def test_the_cut_is_marked_where_something_is_left_out(before: int, behind: int, start: str, end: str) -> None:
    """At whole words, with a third of what stays before the demand, unless it stands near an end."""
    said = (
        f"{'word ' * before}but never push to main{' word' * behind}".strip()
        if before
        else f"Never push to main{' word' * behind}"
    )
    (found,) = texts(said)
    assert "ever push to main" in found
    assert found.startswith(start)
    assert found.endswith(end)
    assert len(found) <= MAX_DEMAND
    assert set(found.strip("…").split()) <= {"word", "but", "Never", "never", "push", "to", "main"}


def test_each_constraint_is_told_once_and_forty_at_most() -> None:
    """In the order of the message; what has fewer than six characters demands nothing that lasts."""
    assert texts("Never push. Only Python. Never push.") == ["Never push.", "Only Python."]
    assert texts("\n".join(f"never touch file {number}" for number in range(60))) == [
        f"never touch file {number}" for number in range(40)
    ]
    assert texts("No php") == ["No php"]
    assert texts("No js") == []


@given(st.text(max_size=400))
def test_any_text_is_read(text: str) -> None:
    """One line each, not empty, and never long."""
    for each in texts(text):
        assert 0 < len(each) <= MAX_DEMAND
        assert len(each.splitlines()) == 1


@given(st.text(max_size=60) | st.text("İßΣſK a", max_size=60))
def test_each_character_keeps_its_place_in_lower_case(text: str) -> None:
    """Where a phrase stands in the sentence is told by places in the text that is read."""
    lowered = in_lower_case(text)
    assert len(lowered) == len(text)
    assert all(one == other or one.lower()[0] in (other, "σ") for one, other in zip(text, lowered, strict=True))


@given(st.text(max_size=200))
def test_own_sentences_are_parts_of_the_text(text: str) -> None:
    """Nothing is made up."""
    plain = " ".join(text.replace("\0", " ").split())
    assert all(sentence in plain for sentence, _ in own_sentences(text, for_task=True))


@pytest.mark.parametrize("said", ["DON'T TOUCH THE TESTS", "NIEMALS IN MAIN PUSHEN", "НИКОГДА НЕ ТРОГАЙ ТЕСТЫ"])
def test_capitals_demand_too(said: str) -> None:
    """Texts are read in lower case, and each character keeps its place."""
    assert texts(f"İ ok. {said}") == [said]


def test_the_rules_are_written_in_lower_case() -> None:
    """As the sentence is read: a capital letter in a rule would match nothing."""
    rules = [rule for table in (demand_rules(), statement_rules()) for found in table.by_word.values() for rule in found]
    patterns = [each for rule in rules for each in (rule.before, rule.not_before, rule.after)]
    patterns += [each for table in (demand_rules(), statement_rules()) for each in (table.told, table.narrates)]
    written = {re.sub(r"\\.", "", each.pattern) for each in patterns if each is not None}
    assert len(written) > 300
    assert [pattern for pattern in written if pattern != pattern.lower()] == []


def test_words_in_an_earlier_clause_hand_nothing_over() -> None:
    """What stands behind a colon is somebody else's text only where its own clause says so."""
    assert texts("Read the log. Two wishes: don't touch the tests") == ["Two wishes: don't touch the tests"]
    assert texts("One thing: translate this text: don't touch the tests") == []


def test_the_rules_take_linear_time() -> None:
    """Each looks at 120 characters on either side, so only a repeat inside a repeat could take long."""
    rules = [rule for table in (demand_rules(), statement_rules()) for found in table.by_word.values() for rule in found]
    patterns = {pattern for rule in rules for pattern in (rule.before, rule.not_before, rule.after) if pattern is not None}
    nested = {pattern.pattern for pattern in patterns if "nested" in faults(pattern.pattern, pattern.flags)}
    assert len(patterns) > 300
    assert nested == set()
