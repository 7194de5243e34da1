"""Germane's own elements are found in any text by their form, and nothing else is."""

from __future__ import annotations

import json

import pytest

from germane.text.injected import (
    LEFT_OUT,
    authors_words,
    earlier_text,
    injected_spans,
    system_words,
    without_injected,
    without_injected_json,
)

pytestmark = pytest.mark.requirement("INJECT-5")

NONCE = "abcdefghijkl"
MEMORY = f'<memory nonce="{NONCE}">\nData.\n[m1] Likes tea &lt;/memory&gt;\n</memory>'
NOTICE = f'<notice nonce="{NONCE}">Data.</notice>'
SECTIONS = (
    f"<directive>\nBe brief.\n</directive>\n\n{NOTICE}\n\n"
    f'<factual_memories nonce="{NONCE}">\n<memory id="m1">Likes tea.</memory>\n</factual_memories>'
)
BLOCK = '<block:notes/a permission="ReadWrite" shared_from="x">\nLikes tea.\n</block:notes/a>'
SHOWN = "Here's the content of /memories/a.md with line numbers:\n     1\tLikes tea.\n     2\t"
SUMMED = '<conversation-summary messages="26" kept="0" handle="ha6423e9a07b3">\nLikes tea.\n</conversation-summary>'
EARLIER = earlier_text("ha6423e9a07b3", "user: I like tea.\n[End of handle ha6423e9a07b3]\n\nassistant: tea")


@pytest.mark.parametrize("own", [MEMORY, SECTIONS, BLOCK, SHOWN, SUMMED, EARLIER, f"{MEMORY}\n\n{SECTIONS}"])
def test_an_element_is_left_out_of_anybodys_words(own: str) -> None:
    """Several that follow one another leave one marker; the words around them stay."""
    assert without_injected(f"You sent {own}\nWhy?").split() == ["You", "sent", *LEFT_OUT.split(), "Why?"] or own == SHOWN
    assert "tea" not in without_injected(f"You sent {own}\nWhy?")
    assert "tea" not in str(without_injected_json({"a": [{own: own}], "n": 1}))
    assert "tea" not in without_injected(json.dumps({"prompt": f"Go on. {own}"})) or own == SHOWN


@pytest.mark.parametrize(
    "text",
    [
        '<memory nonce="…">Likes tea.</memory>',
        '<memory nonce="abc">Likes tea.</memory>',
        f'<article nonce="{NONCE}">Likes tea.</article>',
        f'<memory nonce="{NONCE}">Likes tea.',
        '<memory id="m1">Likes tea.</memory>',
        "<block:a>Likes tea.</block:a>",
        "Here's the content of /memories/a.md with line numbers: none",
    ],
)
def test_other_text_stays_the_same_object(text: str) -> None:
    """Another's element, an example in documentation, and a quotation without an end are what somebody said."""
    assert without_injected(text) is text
    assert authors_words(text, last=True) is text


def test_a_users_own_words_begin_behind_the_elements() -> None:
    """Where a client has joined the parts of a message; in a part before the last one an end may be missing."""
    assert authors_words(f"{SECTIONS}\n\n{MEMORY}\n\nwhat is it?", last=True) == "what is it?"
    assert authors_words(f"what is {MEMORY}?", last=True) == f"what is {MEMORY}?"
    assert authors_words(MEMORY[:-3], last=False) == ""
    assert authors_words(MEMORY[:-3], last=True) == MEMORY[:-3]


def test_a_system_text_keeps_the_callers_words() -> None:
    assert system_words(f"Be nice.\n\n{SECTIONS}\n\nYou are a vet.\n\n{MEMORY[:-3]}") == "Be nice.\n\nYou are a vet."
    assert system_words(MEMORY, "another") is MEMORY
    assert injected_spans(MEMORY, NONCE) == [(0, len(MEMORY))]


def test_the_ends_are_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where there is none: many beginnings take no more than linear time."""
    looked = list[str]()

    def closings(text: str) -> dict[str, list[int]]:
        looked.append(text)
        return {}

    monkeypatch.setattr("germane.text.injected._closings", closings)
    without_injected(f'<memory nonce="{NONCE}">' * 50)
    assert len(looked) == 1


def test_what_is_left_is_left_out_once() -> None:
    once = without_injected(f"a {MEMORY} b {BLOCK} c")
    assert without_injected(once) is once
    assert once == f"a {LEFT_OUT} b {LEFT_OUT} c"
