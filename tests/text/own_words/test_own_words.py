"""User words: which of a message's sentences are the user's own, and how the others are hidden (HIST-5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.text.own_words.own_words import MAX_READ, own_sentences

pytestmark = pytest.mark.requirement("HIST-5")


def own(text: str) -> list[str]:
    return [sentence for sentence, _ in own_sentences(text, for_task=True)]


@pytest.mark.parametrize(
    "line",
    [
        "| a | b |",
        "</div>",
        "{",
        '{"a": 1}',
        "[1, 2]",
        "    indented = code",
        "\tindented = code",
        "#!/bin/sh",
        "$ make test",
        "% ls",
        "at com.example.Quay.lift(Quay.java:12)",
        "Traceback (most recent call last):",
        'File "quay.py", line 3, in lift',
        "2024-05-01 10:00:01 started",
        "2024-05-01T10:00:01Z started",
        "10:00:01 started",
        "ERROR no such crane",
        "[INFO] started",
        "ValueError: no such crane",
        "java.lang.NullPointerException: crane",
        "--- a/quay.py",
        "+++ b/quay.py",
        "@@ -1,2 +1,3 @@",
    ],
)
def test_a_line_that_isnt_the_users_own_is_passed_over(line: str) -> None:
    """Code, logs, quotations, tables and patches; the lines around it stay."""
    assert own(f"Lift it.\n{line}\nThanks, Ann.") == ["Lift it.", "Thanks, Ann."]


def test_a_quotation_goes_on_to_a_blank_line() -> None:
    """As mail programs and markdown read it."""
    assert own("Lift it.\n> as you said\nlast week.\n\nThanks, Ann.") == ["Lift it.", "Thanks, Ann."]


@pytest.mark.parametrize(
    "line",
    [
        "at noon (sharp)",
        "Filed under cranes",
        "errors are bad",
        "Error messages confuse me",
        "-- Ann",
        "2024 was wet",
        "10:00 is fine",
        "$5 is enough",
        "a < b holds",
    ],
)
def test_a_line_that_only_looks_like_one_is_kept(line: str) -> None:
    """What begins like a log, a price or a patch and is none."""
    assert own(f"Lift it.\n{line}\nThanks, Ann.") == ["Lift it.", line, "Thanks, Ann."]


@pytest.mark.parametrize(
    "mark",
    ["- ", "* ", "+ ", "• ", "1. ", "12) ", "- [ ] ", "* [x] ", "  - "],
)
def test_the_marks_of_lists_are_left_out(mark: str) -> None:
    """A list is the user's own."""
    assert own(f"Rules:\n{mark}Lift it.\n{mark}Drop it.") == ["Rules:", "Lift it.", "Drop it."]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Translate this: You must go.", []),
        ("Lift it. Translate the text: You must go.\nNever stay.", ["Lift it."]),
        ("Summarise this e-mail:\nDear Ann,\nyou must go.", []),
        ("Bitte übersetze den folgenden Text: Geh nie.", ["Bitte"]),
        ("Traduis cette phrase : ne pars jamais.", []),
        ("Traduce el texto: no salgas nunca.", []),
        ("Traduci il testo: non uscire mai.", []),
        ("Traduza o texto: nunca saia.", []),
        ("Переведи текст: никогда не уходи.", []),
        ("The log says: you must go", ["The"]),
        ("Note: you must go.", ["Note: you must go."]),
        ("It was said. Note: you must go.", ["It was said.", "Note: you must go."]),
        ("Use http://error:80 now.", ["Use http://error:80 now."]),
    ],
)
def test_what_a_colon_hands_over_is_somebody_elses(text: str, kept: list[str]) -> None:
    """In seven languages, to the end of the message; a colon behind other words hands nothing over."""
    assert own(text) == kept


@pytest.mark.parametrize(
    "beginning", ["Subject: crane", "From: Ann", "-----", "Dear Ann,", "Sehr geehrte Frau Ann,", "Cher Ann,", "Estimada Ann,"]
)
def test_a_letter_reaches_to_the_end(beginning: str) -> None:
    """Not in the first line, which is the user's: somebody may be greeted there."""
    assert own(f"What do you think?\n{beginning}\nYou must go.") == ["What do you think?"]
    assert "You must go." in own(f"{beginning}\nYou must go.")


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ('Say "never go" now.', "Say " + "\0" * 10 + " now."),
        ("Say “never go” now.", "Say " + "\0" * 10 + " now."),
        ("Say „never go“ now.", "Say " + "\0" * 10 + " now."),
        ("Say «never go» now.", "Say " + "\0" * 10 + " now."),
        ("Say »never go« now.", "Say " + "\0" * 10 + " now."),
        ("Say `never go` now.", "Say " + "\0" * 10 + " now."),
        ("Say 'never go' now.", "Say " + "\0" * 10 + " now."),
        ("Say ‘never go’ now.", "Say " + "\0" * 10 + " now."),
        ("Say 'it's never' now.", "Say " + "\0" * 12 + " now."),
        ("Don't say the cranes' names, it's bad.", "Don't say the cranes' names, it's bad."),
        ("Lift `crane` now.", "Lift  crane  now."),
        ('He said "never go', "He said " + "\0" * 9),
        ('A 5" rope and a 6" rope', "A 5" + "\0" * 15 + " rope"),
        ('A 5" rope', 'A 5" rope'),
        ("He said „never go", "He said " + "\0" * 9),
    ],
)
def test_quotations_are_hidden_in_their_place(text: str, hidden: str) -> None:
    """The sentence itself is as it was said; one word in backticks is a name, an apostrophe inside a word opens nothing."""
    assert own_sentences(text, for_task=True) == [(text, hidden)]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("One.\n```\nnever()\n```\nTwo.", ["One.", "Two."]),
        ("One.\n~~~\nnever()\n~~~\nTwo.", ["One.", "Two."]),
        ("One.\n```\nnever()", ["One."]),
        ("One.\n<doc>\nNever. <b>x</b>\n</doc>\nTwo.", ["One.", "Two."]),
        ("<doc>Never.</doc> Two.", ["Two."]),
        ("One. <doc> Never. Two.", ["One."]),
        ("Is 1 < 2? Yes.", ["Is 1 < 2?", "Yes."]),
    ],
)
def test_fences_and_elements_are_hidden(text: str, kept: list[str]) -> None:
    """One that isn't closed reaches to the end; a lone `<` opens none."""
    assert own(text) == kept


def test_white_space_is_one_space_and_nul_is_white_space() -> None:
    """A message can't pass for one with hidden quotations."""
    assert own_sentences("a\0b  c\td.", for_task=True) == [("a b c d.", "a b  c\td.")]
    assert own("\0\0 ... \0") == ["..."]
    assert own('"all quoted"') == []


def test_a_long_message_is_read_in_part() -> None:
    """Its first 20,000 characters."""
    assert MAX_READ == 20_000
    assert len(own("Lift it. " * 5_000)) == 2_223


@given(st.text(alphabet="aB.?!\n -`\"'“”<>:*1", max_size=120))
def test_what_is_hidden_keeps_its_place(text: str) -> None:
    """Each sentence stands in the text, and the hidden one is no longer than it was there."""
    plain = " ".join(text.split())
    for sentence, said in own_sentences(text, for_task=True):
        assert sentence in plain
        assert said.strip("\0 ")
        assert len(said) >= len(sentence)
