"""Telling: which of a person's own words may stand in the profile."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.kinds.profile.telling import judge_clauses, telling_clauses
from germane.text.clauses import clauses

RULES = [
    "From now on keep it under four sentences.",
    "And please never use exclamation marks in your replies.",
    "no semicolons in anything you write for me, ever",
    "when i send you a stack trace just give me the cause, nothing else",
    "Bitte ab jetzt immer in ganzen Sätzen antworten und ohne Emojis.",
    "Désormais, tutoie-moi et réponds en deux phrases maximum.",
    "A partir de ahora contéstame siempre en español y sin listas.",
    "D'ora in poi rispondi sempre in italiano e senza elenchi.",
    "Vanaf nu altijd kort antwoorden, zonder opsommingen.",
    "С этого момента всегда отвечай коротко и без смайлов.",
    "以后回答都用一句话 不要列表",
    "これからは短く答えて、絵文字は使わないでください",
]
NARRATED = [
    "I have never seen so much rain in one afternoon.",
    "Can you make it a bit shorter and translate the second line?",
    "Danke, das war genau das Richtige!",
    "What's a good film for a rainy evening?",
]


def rule(text: str) -> float:
    return max((worth.rule for worth in judge_clauses(text, clauses(text))), default=0.0)


@pytest.mark.requirement("PERSON-6")
@pytest.mark.parametrize("text", RULES)
def test_a_standing_instruction_is_told_in_any_language(text: str) -> None:
    assert rule(text) >= 0.2
    assert telling_clauses(text)


@pytest.mark.requirement("PERSON-6")
@pytest.mark.parametrize("text", NARRATED)
def test_what_is_told_or_asked_of_the_moment_is_no_instruction(text: str) -> None:
    assert rule(text) < 0.2


@pytest.mark.requirement("PERSON-6")
def test_a_few_quoted_words_dont_hide_an_instruction_and_a_quoted_instruction_is_none() -> None:
    own = 'in mails for work always skip phrases like "dear all" please'
    assert [own[line.start : line.end] for line in telling_clauses(own)] == [own]
    assert telling_clauses('My boss wrote: "From now on always answer in French and copy me in."') == ()


@given(st.text(max_size=500))
def test_lines_stand_in_order_and_apart(text: str) -> None:
    last = 0
    for line in telling_clauses(text):
        assert last <= line.start < line.end <= len(text)
        assert 0 <= line.rule <= 1
        assert 0 <= line.matters <= 1
        last = line.end


@pytest.mark.requirement("PERSON-1")
def test_that_it_always_holds_is_no_line_alone() -> None:
    """It belongs to what was said before it; with nothing before it, it says nothing."""
    text = "Give me prices in forints. Every single time."
    assert [text[line.start : line.end] for line in telling_clauses(text)] == [text]
    assert telling_clauses("Every single time.") == ()
    assert telling_clauses("以后都要") == ()


@pytest.mark.requirement("PERSON-1")
def test_what_matters_is_told_from_what_is_so_today() -> None:
    """And from what is said of things."""
    matters = ["I can't eat gluten, a crumb puts me in bed for two days", "we've no car so it has to be near a bus stop"]
    others = ["what's the capital of Mongolia", "the printer is out of paper again", "danke, das reicht mir schon"]
    told, other = ([judge_clauses(text, clauses(text))[0].matters for text in texts] for texts in (matters, others))
    assert min(told) > 2 * max(other)
