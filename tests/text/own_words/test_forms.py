"""Forms: what is told by words, in each language (PERSON-6)."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from importlib.resources import files

import pytest

from germane.text.own_words.forms import forms
from germane.text.own_words.quotations import kind_of
from support.expressions import faults

pytestmark = pytest.mark.requirement("PERSON-6")

SEARCHED = {
    "handed", "works", "given", "asks", "persons", "bots", "pointed", "sent", "reworks", "others", "firsts", "shows", "states",
    "printed",
}  # fmt: skip


def test_expressions_take_linear_time() -> None:
    """Those that are searched from any place, and those that are matched at the beginning of a line."""
    patterns = {field.name: getattr(forms(), field.name) for field in fields(forms())}
    found = {
        name: wrong
        for name, pattern in patterns.items()
        if isinstance(pattern, re.Pattern) and (wrong := faults(pattern.pattern, searched=name in SEARCHED))
    }
    assert found == {}


def test_forms_are_written_in_lower_case() -> None:
    """As the lines are read."""
    tables = tomllib.loads(files("germane.text.own_words").joinpath("forms.toml").read_text("utf-8"))
    texts = [text for table in tables.values() for text in table.values() if isinstance(text, str)]
    unescaped = [re.sub(r"\\[A-Za-z]", "", text) for text in texts]
    assert [text for text in unescaped if text != text.lower()] == []


@pytest.mark.parametrize(
    ("text", "handed"),
    [
        ("translate this: go", True),
        ("übersetze den text: geh", True),
        ("resume el texto: ve", True),
        ("переведи текст: иди", True),
        ("翻译：去", True),
        ("次の文章：行け", True),
        ("my client wants: go", True),
        ("note: go", False),
        ("my rules: go", False),
    ],
)
def test_a_colon_hands_over(text: str, handed: bool) -> None:
    """With the words before it."""
    assert (forms().handed.search(text) is not None) == handed


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("Dear Ann,", "greeting"),
        ("Hi Claude!", "bare greeting"),
        ("Sehr geehrte Damen und Herren,", "greeting"),
        ("尊敬的高女士：", "greeting"),
        ("Mit freundlichen Grüßen", "closing"),
        ("Cordialement,", "closing"),
        ("С уважением,", "closing"),
        ("Subject: crane", "header"),
        ("Date: 4 May", "small header"),
        ("On Monday Ann wrote:", "letter"),
        ("Am Montag schrieb Ann:", "letter"),
        ("Ingredients", "section"),
        ("Zutaten:", "section"),
        ("# Lathe", "heading"),
        ("# My rules", "own heading"),
        ("Ann: hello", "label"),
        ("ann: hello", "small label"),
        ("Note: hello", "plain"),
        ("[10:00] Ann: hello", "stamp"),
        ("00:00:01,000 --> 00:00:02,000", "stamp"),
        ("Ann Berg  10:02 AM", "stamp"),
        ("200 g flour", "amount"),
        ("§ 2 Liability", "clause"),
        ("- hello", "item"),
        ("---", "rule"),
        ("> hello", "quoted"),
        ("make sure it works", "plain"),
        ("The Weekly Bun", "title"),
        ("\0\0\0", "hidden"),
        ("  ", "blank"),
    ],
)
def test_a_line_has_a_kind(line: str, kind: str) -> None:
    """By its marks, in any language."""
    assert kind_of(line, line.lower()) == kind
