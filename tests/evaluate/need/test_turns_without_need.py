"""Turns without need: enough of them, of every kind in every language, and none in both halves."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from difflib import SequenceMatcher
from itertools import product

import pytest

from germane_eval.everyday import TurnWithoutNeed, turns

pytestmark = pytest.mark.requirement("EVAL-1")

FIT, REPORT = turns("fit"), turns("report")
KINDS = [
    *("greeting", "thanks", "acknowledgement", "farewell", "small talk", "continue", "rework", "choice", "knowledge"),
    *("arithmetic", "definition", "translation", "editing", "code", "formatting", "creative", "role play", "style"),
    *("assistant", "time", "paste", "nonsense", "test", "emoji", "word", "link", "command"),
]
LANGUAGES = ["ar", "de", "en", "es", "fr", "it", "ja", "nl", "pt", "ru", "tr", "zh"]
ABOUT_THE_USER = {"my", "mine", "our", "ours", "myself", "earlier"}
"""English words of turns that a memory could help with."""


def plain(turn: TurnWithoutNeed) -> str:
    """The letters and digits of a turn, or all of it where it has none."""
    folded = unicodedata.normalize("NFKC", turn.text).casefold()
    return "".join(filter(str.isalnum, folded)) or "".join(folded.split())


def test_there_are_more_than_720_in_all_these_languages() -> None:
    """English most of all, and 55 or more in each of ten others."""
    counts = Counter(turn.language for turn in FIT + REPORT)
    assert sorted(counts) == LANGUAGES
    assert counts["en"] >= 200
    assert min(counts.values()) >= 55
    assert counts.total() >= 720


def test_both_halves_have_every_kind_in_every_language() -> None:
    """The halves are of one size in each, so what is fitted on one half holds for the other."""
    of_each = {half: Counter((turn.language, turn.kind) for turn in half) for half in (FIT, REPORT)}
    assert set(of_each[FIT]) == set(product(LANGUAGES, KINDS))
    assert of_each[FIT] == of_each[REPORT]


def test_no_turn_occurs_twice() -> None:
    """Case, spaces and punctuation don't make another turn; neither does another half."""
    seen = Counter(plain(turn) for turn in FIT + REPORT)
    assert [text for text, count in seen.items() if count > 1] == []


def test_no_turn_of_one_half_nearly_repeats_one_of_the_other() -> None:
    """Turns of twelve characters and more, in one language."""
    near = []
    for one, two in product(FIT, REPORT):
        a, b = plain(one), plain(two)
        if one.language == two.language and 12 <= len(a) < 300 and 12 <= len(b) < 300:
            alike = SequenceMatcher(None, a, b, autojunk=False)
            if alike.real_quick_ratio() > 0.85 and alike.quick_ratio() > 0.85 and alike.ratio() > 0.85:
                near.append((one.text, two.text))
    assert near == []


def test_ids_are_unique_and_the_texts_are_of_bearable_length() -> None:
    """Pasted texts are long, though."""
    both = FIT + REPORT
    assert sorted(turn.id for turn in both) == list(range(1, len(both) + 1))
    assert all(turn.text.strip() for turn in both)
    assert max(len(turn.text) for turn in both) <= 4000
    assert min(len(turn.text) for turn in both if turn.kind == "paste") > 400


def test_no_english_turn_asks_about_its_speaker() -> None:
    """A memory would help there. Texts that are pasted with a task may hold anything."""
    asked = [turn for turn in FIT + REPORT if turn.language == "en" and turn.kind not in ("paste", "editing")]
    assert [turn.text for turn in asked if ABOUT_THE_USER & set(re.findall(r"\w+", turn.text.casefold()))] == []


def test_a_turn_is_a_request_with_what_it_follows() -> None:
    """The assistant's message comes first, where the turn makes no sense without it."""
    alone = next(turn for turn in FIT if not turn.after)
    follows = next(turn for turn in FIT if turn.after)
    assert alone.messages == [{"role": "user", "content": alone.text}]
    assert [message["role"] for message in follows.messages] == ["assistant", "user"]
