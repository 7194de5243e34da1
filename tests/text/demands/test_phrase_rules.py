"""Phrase rules: how a rule's word is found, and what must and mustn't stand around it (HIST-5)."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Any

import pytest

from germane.compaction.reading.statements import statement_rules
from germane.text.demands import LANGUAGES, PhraseRule, PhraseRules, demand_rules, lasting_words
from germane.text.normal import in_lower_case

pytestmark = pytest.mark.requirement("HIST-5")


def rule(name: str = "lift", **given: Any) -> PhraseRule:
    patterns = {part: re.compile(str(given[part])) if part in given else None for part in ("before", "not_before")}
    after = re.compile(str(given.get("after", "")))
    asks, narrated = bool(given.get("asks", True)), bool(given.get("narrated", True))
    return PhraseRule(name, patterns["before"], patterns["not_before"], after, asks, narrated)


def rules(*given: PhraseRule, word: str = "lift", **reading: str) -> PhraseRules:
    first = re.split(r"['’-]", word)[0]
    told, narrates = (re.compile(reading[part]) if part in reading else None for part in ("told", "narrates"))
    return PhraseRules(MappingProxyType({word: given}), frozenset({first}), told, narrates)


def found(these: PhraseRules, sentence: str) -> list[tuple[str, str]]:
    return [(one.name, sentence[one.start : one.end]) for one in these.find(sentence)]


@pytest.mark.parametrize(
    ("word", "sentence", "words"),
    [
        ("lift", "Lift it.", ["Lift"]),
        ("lift", "lift, LIFT and Lift", ["lift", "LIFT", "Lift"]),
        ("lift", "lifts uplift lift2 lift_it", ["lift", "lift"]),
        ("lift", "lift-off and lift's", ["lift", "lift"]),
        ("lift", "fork-lift", []),
        ("don't", "don't, don’t, dont", ["don't"]),
        ("è", "È bello", ["È"]),
    ],
)
def test_a_word_is_found_whole(word: str, sentence: str, words: list[str]) -> None:
    """In any case, where letters end; of a word with joints what stands before the first, if the whole has no rules."""
    assert [what for _, what in found(rules(rule(), word=word), sentence)] == words


@pytest.mark.parametrize(
    ("given", "sentence", "holds"),
    [
        ({"after": " it"}, "lift it", True),
        ({"after": " it"}, "lift him", False),
        ({"before": r"(?:\A|please )\Z"}, "please lift", True),
        ({"before": r"(?:\A|please )\Z"}, "lift", True),
        ({"before": r"(?:\A|please )\Z"}, "to lift", False),
        ({"not_before": r"(?:not )\Z"}, "do not lift", False),
        ({"not_before": r"(?:not )\Z"}, "do lift", True),
        ({"asks": False}, "lift it?", False),
        ({"asks": False}, "lift it? ", False),
        ({"asks": False}, "lift it!", True),
        ({"asks": True}, "lift it?", True),
    ],
)
def test_a_rule_looks_before_and_behind_its_word(given: dict[str, Any], sentence: str, holds: bool) -> None:
    """`before` ends where the word begins, `after` begins where it ends; a question holds only what may be asked."""
    assert bool(found(rules(rule(**given)), sentence)) is holds


def test_the_first_rule_that_fits_names_the_phrase() -> None:
    """Each word once."""
    these = rules(rule("one", after=" two"), rule("two", after=" "), rule("three"))
    assert found(these, "lift two, lift three, lift") == [("one", "lift"), ("two", "lift"), ("three", "lift")]


def test_what_somebody_else_told_is_no_phrase() -> None:
    """Nor what speakers tell of themselves, for rules that aren't `narrated`."""
    these = rules(rule("narrated"), told=r"says\b", narrates=r"\bi [^,]*\Z")
    assert found(these, "the log says lift") == []
    assert found(these, "lift, the log says") == [("narrated", "lift")]
    assert found(these, "i always lift") == [("narrated", "lift")]
    strict = rules(rule(narrated=False), narrates=r"\bi [^,]*\Z")
    assert found(strict, "i always lift") == []
    assert found(strict, "i am here, lift") == [("lift", "lift")]


def test_a_rule_reads_120_characters_on_either_side() -> None:
    """So that the time is linear, however long the sentence is."""
    near, far = "x" * 100, "x" * 130
    before, after = rules(rule(before=r"not.*\Z")), rules(rule(after=".*end"))
    assert found(before, f"not {near} lift")
    assert not found(before, f"not {far} lift")
    assert found(after, f"lift {near} end")
    assert not found(after, f"lift {far} end")


def test_at_most_eighty_words_of_a_sentence_are_looked_at() -> None:
    """The ones behind them are passed over, whether a rule held or not."""
    assert len(found(rules(rule()), "lift " * 200)) == 80
    assert found(rules(rule(after=" now")), "lift it " * 80 + "lift now") == []


def test_the_lower_case_keeps_each_character_in_its_place() -> None:
    """Where it would be longer, that character stays."""
    assert in_lower_case("LİFT Éa") == "lİft éa"
    assert found(rules(rule()), "İİ LIFT") == [("lift", "LIFT")]


@pytest.mark.parametrize(
    ("sentence", "name", "word"),
    [
        ("Don't touch the tests.", "prohibition", "Don't"),
        ("Fass die Tests nicht an.", "prohibition", "nicht"),
        ("Ne touche pas aux tests.", "prohibition", "Ne"),
        ("Nunca toques las pruebas.", "never", "Nunca"),
        ("Non toccare i test.", "prohibition", "Non"),
        ("Não toque nos testes.", "prohibition", "Não"),
        ("Не трогай тесты.", "prohibition", "Не"),
    ],
)
def test_a_prohibition_is_found_in_each_language(sentence: str, name: str, word: str) -> None:
    """With the place of its word, around which a long sentence is cut."""
    found = next(demand_rules().find(sentence))
    assert found[:3] == (name, sentence.index(word), sentence.index(word) + len(word))


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        ("We decided to use Postgres.", ["decision"]),
        ("I created a.py.", ["created"]),
        ("a.py was renamed.", ["renamed"]),
        ("I deleted b.py and edited c.py.", ["deleted", "edited"]),
        ("That fixes the crash.", ["fixed"]),
        ("Still to do: the docs.", ["open"]),
        ("The sea is calm.", []),
    ],
)
def test_a_statement_is_found_by_its_kind(sentence: str, names: list[str]) -> None:
    """What was decided, done, mended and left to do."""
    assert [one.name for one in statement_rules().find(sentence)] == names


def test_every_language_has_rules_and_readings() -> None:
    """Each is asked for; words of rules are in lower case, as the sentence is read."""
    read = demand_rules()
    assert len(LANGUAGES) == 15
    assert all(word == word.lower() for word in (*read.by_word, *statement_rules().by_word))
    assert None not in (read.told, read.narrates)
    assert read.named("The sea is calm.") == frozenset()
    assert "never" in read.named("We NEVER go.")


@pytest.mark.requirement("PERSON-6")
@pytest.mark.parametrize(
    ("sentence", "lasts"),
    [
        ("Never touch internal/edi.", True),
        ("Never touch the tests in this fix.", False),
        ("Don't touch the tests.", False),
        ("five lines tops", True),
        ("pnpm, not npm", True),
        ("It's blue, not green.", False),
        ("When I paste a log, only tell me the cause.", True),
        ("no well-dones", True),
        ("no emojis please", True),
        ("no idea", False),
        ("Stop using lodash.", True),
        ("Stop it.", False),
        ("From now on, two sentences.", True),
        ("Never got an answer.", False),
        ("Is it pnpm, not npm?", False),
        ("Keine Emojis, bitte.", True),
        ("Nunca uses emojis.", True),
        ("Nunca uses emojis en este correo.", False),
        ("D'ora in poi rispondi in due frasi.", True),
        ("Никогда не используй смайлики.", True),
        ("Désormais, réponds en une phrase.", True),
    ],
)
def test_a_demand_says_whether_it_lasts(sentence: str, lasts: bool) -> None:
    """By its own words, and not where the sentence names the task at hand."""
    assert (demand_rules().lasting(sentence) is not None) == lasts


def test_words_of_lasting_demands_are_known() -> None:
    """A text without one of them is passed over."""
    assert {"never", "tops", "stop", "niemals", "jamais", "впредь"} <= lasting_words()
    assert "must" not in lasting_words()
