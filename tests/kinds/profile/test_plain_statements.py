"""What people say plainly about themselves becomes a line of the profile, and what sounds alike and lasts for nothing doesn't.

None of these sentences is among those that the models are fitted on. Not all are told right: the numbers are what the fitted
models reach, so that the next fit isn't worse.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from germane.kinds.profile.lines import clause_line
from germane.kinds.profile.reads import ToldClause
from germane.kinds.profile.telling import telling_clauses
from support.session_operations import NOW

PLAIN = (
    *(
        "I never eat mussels.",
        "I never eat leeks",
        "nothing fried for me, ever",
        "My car is a Skoda Octavia",
        "my mum's called Ruth",
    ),
    *(
        "I get seasick",
        "I only fly from Leeds",
        "I've only got one kidney",
        "We rent a flat in Ghent",
        "I prefer trains to planes",
    ),
    *("I teach maths at a primary school", "I do yoga on Thursdays", "I've got a peanut allergy", "my husband is vegan"),
    *(
        "I hate olives",
        "I use Fedora at home",
        "I speak Hungarian and a bit of Czech",
        "I go to bed at nine",
        "I gave up sugar",
    ),
    *("I'm scared of heights", "my son starts school in September", "I take size 44 shoes", "our dog is called Bruno"),
    *("no cilantro for me, ever", "I work from home on Fridays", "answer in German please, always"),
    *("never use semicolons in my code", "Ich trinke keinen Alkohol", "Ich habe drei Kinder", "Je suis allergique au lait"),
    *("vivo en Sevilla", "non mangio carne", "mam dwa koty", "我不吃香菜", "私は夜勤です"),
)
PASSING = (
    *("I never saw that message", "I can't see the menu", "I don't understand this bit", "I'm at line 20"),
    *("I have a typo in there", "I hate waiting for builds", "we lost the game lol", "I think so", "I'd take the blue one"),
    *("I'm done for today", "please add a comma", "I just got in", "I have no idea", "make it blue", "I'm reading it now"),
    *("I liked the first draft", "I see", "not this one", "Ich verstehe das nicht", "Ich bin gleich wieder da"),
    *("je ne trouve pas le fichier", "no entiendo nada", "nie widzę tego", "我没看懂", "Hm, let me see."),
    "does a cat eat mussels?",
)

ASKED = (
    *("can you keep your answers under five lines? I read on my phone between batches", "Could you stop using bullet points?"),
    *(
        "could you always give me prices without VAT please?",
        "would you mind skipping the apologies?",
        "can we stick to metric?",
    ),
    *("Can you please answer in Dutch from now on?", "can you write shorter? that was a wall of text"),
    *("could you call me Mo instead of Maurice?", "please can you not use emojis", "kannst du bitte kürzer antworten?"),
    *("is it possible that you answer without tables?", "könntest du mich duzen?", "peux-tu éviter les listes ?"),
    *("¿puedes contestar más corto?", "puoi darmi del tu?"),
)
"""Standing instructions that are asked as questions."""
ONCE = (
    *("can you look up the train to Ghent?", "can you write a letter to my landlord?", "could you fix this sentence?"),
    *("can you explain quantum tunnelling?", "could you make it shorter?", "can you give me three options?"),
    *("would you translate this into French?", "kannst du mir einen Zug heraussuchen?", "can you check my spelling?"),
    "could you add a line about the deposit?",
)


def lines(texts: Sequence[str]) -> list[str]:
    """Those of which at least one clause becomes a line."""
    return [text for text in texts if any(clause_line(one, None, NOW) for one in told(text))]


def told(text: str) -> list[ToldClause]:
    return [
        ToldClause("id", one.start, one.end, text[one.start : one.end], one.rule, one.matters, "s", NOW)
        for one in telling_clauses(text)
    ]


@pytest.mark.requirement("PERSON-1", "PERSON-6")
def test_plain_statements_become_lines() -> None:
    """Names, cars and sizes needn't: a search finds them when they are asked for."""
    found = lines(PLAIN)
    assert len(found) >= 22
    assert {"I never eat mussels.", "I've got a peanut allergy", "my husband is vegan", "Ich trinke keinen Alkohol"} <= set(
        found
    )


@pytest.mark.requirement("PERSON-3")
def test_what_is_said_in_passing_rarely_does() -> None:
    assert len(lines(PASSING)) <= 6


@pytest.mark.requirement("PERSON-6")
def test_standing_instructions_that_are_asked_as_questions_become_lines() -> None:
    """And what is asked for once rarely does."""
    assert len(lines(ASKED)) >= 10
    assert len(lines(ONCE)) <= 1
