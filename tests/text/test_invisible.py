"""Invisible characters are removed."""

from __future__ import annotations

import unicodedata

import pytest

from germane.stages.write.escape import clean
from germane.text.normal import is_plain, visible
from support.rendering import NONCE

DRAWN = frozenset((*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD))
"""Filed under "format" but drawn."""
HIEROGLYPHIC = range(0x13430, 0x13440)
"""Controls of how hieroglyphs are joined; some are younger than Python 3.11's tables."""
FILLERS = frozenset((0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x2065, 0x3164, 0xFFA0))


def invisible(code: int) -> bool:
    """Told from Unicode's categories and its list of what is ignored when drawn, not from the code under test."""
    category = unicodedata.category(chr(code))
    ignored = (
        code in FILLERS
        or 0xFE00 <= code <= 0xFE0F
        or 0xFFF0 <= code <= 0xFFF8
        or 0xE0000 <= code <= 0xE0FFF
        or code in HIEROGLYPHIC
    )
    noncharacter = code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
    control = category in ("Cc", "Cs", "Zl", "Zp") and code not in (9, 10)
    return control or ignored or noncharacter or (category == "Cf" and code not in DRAWN)


@pytest.mark.requirement("FORMAT-3")
def test_no_invisible_code_point_of_all_gets_through() -> None:
    """All 1,114,112 of them, between two letters and at both ends."""
    hidden = [code for code in range(0x110000) if invisible(code)]
    assert len(hidden) > 6_000
    text = "".join(f"a{chr(code)}b" for code in hidden)
    assert not {ord(char) for char in clean(text, NONCE)} & set(hidden)
    alone = [code for code in hidden if set(clean(chr(code), NONCE)) - {"\n"}]
    assert alone == []


@pytest.mark.requirement("FORMAT-3")
def test_everything_else_gets_through_in_some_form() -> None:
    """No letter of any script is lost: what is dropped is only what can't be seen."""
    seen = [chr(code) for code in range(0x21, 0x110000) if not invisible(code) and code != 0x2D]
    for start in range(0, len(seen), 4096):
        chunk = seen[start : start + 4096]
        pieces = clean("-".join(chunk), NONCE).split("-")
        assert len(pieces) == len(chunk)
        assert all(pieces)


@pytest.mark.requirement("FORMAT-3")
@pytest.mark.parametrize("text", ["می‌خواهم", "क्‍ष", "শ্রী‌", "👩‍👩‍👧", "❤️‍🔥", "1️⃣", "☎︎", "ශ්‍රී"])
def test_joiners_stay_where_a_script_or_an_emoji_needs_them(text: str) -> None:
    """Persian, Indic conjuncts, families and keycaps."""
    kept = clean(text.rstrip("\u200c"), NONCE)
    assert kept == unicodedata.normalize("NFC", text.rstrip("\u200c"))


@pytest.mark.requirement("FORMAT-3")
@pytest.mark.parametrize("text", ["a\u200db", "a\u200cb", "a\ufe0fb", "\u200da", "👩\u200da", "1\ufe0f", "م\u200c\u200cم"])
def test_joiners_and_selectors_elsewhere_go(text: str) -> None:
    """They could carry a hidden message, or split a word that a filter looks for."""
    assert len(clean(text, NONCE)) < len(text)


@pytest.mark.requirement("FORMAT-3")
def test_plain_characters_are_those_that_cleaning_leaves_alone_whatever_stands_beside_them() -> None:
    """Text of them takes the short way: none is dropped, changed, a mark, or the later part of a composed character."""
    plain = [chr(code) for code in range(0x110000) if is_plain(chr(code))]
    assert len(plain) > 30_000
    later = {char for code in range(0x110000) for char in unicodedata.normalize("NFD", chr(code))[1:]}
    assert later.isdisjoint(plain)
    assert all(visible(char) == char == unicodedata.normalize("NFC", char) for char in plain)
    assert not any(unicodedata.category(unicodedata.normalize("NFKD", char)[0]).startswith("M") for char in plain)
