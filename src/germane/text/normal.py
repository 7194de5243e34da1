"""Normal forms: Unicode normalisation in linear time, folding of case and accents, and hashes of normalised text.

All code uses `normalised` and `is_normalised` in place of `unicodedata`, which takes n² steps to sort n combining marks in a
row. Here such a pile of marks is cut before it is sorted.
"""

from __future__ import annotations

import re
import unicodedata
from hashlib import blake2b
from itertools import chain
from typing import Literal

from germane.text.blocks import blocks

__all__ = ["Form", "bare", "content_hash", "fold", "in_lower_case", "is_normalised", "normalised", "unpiled", "wide"]

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]

_ACCENTED = chain(range(0xC0, 0x250), range(0x386, 0x3CF), range(0x1E00, 0x2000))  # Latin and Greek
_ODD = {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ß": "ss", "ŋ": "n"}
_DROPPED = chain(
    range(0x300, 0x370),  # combining marks of Latin, Greek and Cyrillic
    range(0x591, 0x5BE), (0x5BF, 0x5C1, 0x5C2, 0x5C4, 0x5C5, 0x5C7),  # Hebrew points
    range(0x610, 0x61B), (0x640,), range(0x64B, 0x660), (0x670,), range(0x6D6, 0x6DD),  # Arabic vowels and the stretcher
    (0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF), range(0xFE00, 0xFE10),  # invisible joints
)  # fmt: skip
_QUOTES = {0x2018: "'", 0x2019: "'", 0x02BC: "'", 0xFF07: "'", 0x2010: "-", 0x2011: "-"}
_TIDY: dict[int, str | None] = dict.fromkeys(_DROPPED) | _QUOTES | {ord("ё"): "е"}
_UNTIDY = re.compile(f"[{''.join(map(re.escape, map(chr, _TIDY)))}]")
"""A character of `_TIDY`. Most texts have none, and looking takes a quarter of the time of translating."""
_BARE = {code: unicodedata.normalize("NFD", chr(code))[0] for code in _ACCENTED if unicodedata.decomposition(chr(code))} | {
    ord(odd): plain for odd, plain in _ODD.items()
}
_AS_MARKS = dict.fromkeys((0xF73, 0xF75, 0xF81, 0xFF9E, 0xFF9F), "\u0301")
"""Characters that aren't combining marks themselves, but whose normal forms are."""
_PILE = re.compile(r"[^\w\x00-\x7f]{31,}")
"""Runs that may hold a pile: they include every character that is or becomes a mark, but for U+FF9E and U+FF9F."""
_HALF_WIDTH_PILE = re.compile(r"[\W\uff9e\uff9f]{31,}")
"""The same for texts that hold U+FF9E or U+FF9F."""
_MIN_PILE = 31
"""Characters of the shortest pile, none of which is ASCII."""
_TOO_HIGH = re.compile(rb"([^\0]{30})[^\0]+")


def normalised(text: str, form: Form = "NFC") -> str:
    """Returns `text` in a Unicode normal form, in linear time. Of more than 30 combining marks in a row the first 30 are
    kept."""
    return text if text.isascii() else unicodedata.normalize(form, unpiled(text))


def is_normalised(text: str, form: Form = "NFC") -> bool:
    """Returns whether `normalised(text, form)` equals `text`, in linear time."""
    return text.isascii() or (unpiled(text) == text and unicodedata.is_normalized(form, text))


def unpiled(text: str) -> str:
    """Returns `text` with no more than 30 combining marks in a row, so that normalising it takes linear time."""
    if text.isascii() or len(text.encode("utf-8", "surrogatepass")) - len(text) < _MIN_PILE:
        return text
    return (_HALF_WIDTH_PILE if "\uff9e" in text or "\uff9f" in text else _PILE).sub(_cut, text)


def in_lower_case(text: str) -> str:
    """Returns the text in lower case, each character in its place."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := each.lower()) == 1 else each for each in text)


def wide(text: str) -> str:
    """Returns `text` in NFKC without invisible joiners and optional vowel points. Case and accents are kept."""
    return text if text.isascii() else _tidied(normalised(text, "NFKC"))


def bare(word: str) -> str:
    """Returns a casefolded word without the accents of its Latin and Greek letters; other scripts keep their marks."""
    return word if word.isascii() else word.translate(_BARE)


def fold(text: str) -> str:
    """Returns `text` in NFKC, casefolded, without Latin and Greek accents: equal for different spellings of a word. Accepts any
    string."""
    if text.isascii():
        return text.lower()
    return bare(_tidied(wide(text).casefold()))


def content_hash(*parts: str) -> int:
    """Returns a signed 64-bit hash of the parts in NFC: equal for texts that differ only in how their accents are composed.

    The hash is BLAKE2b over each part's length and UTF-8; lone surrogates are encoded as they are.
    """
    digest = blake2b(digest_size=8)
    for part in parts:
        if part.isascii():
            data = [part.encode()]
        else:
            data = [normalised(block).encode("utf-8", "surrogatepass") for block in blocks(part)]
        digest.update(sum(map(len, data)).to_bytes(8, "big"))
        for block in data:
            digest.update(block)
    return int.from_bytes(digest.digest(), "big", signed=True)


def _tidied(text: str) -> str:
    return text.translate(_TIDY) if _UNTIDY.search(text) else text


def _cut(run: re.Match[str]) -> str:
    """Returns a run of characters with its piles cut. `classes` holds each character's combining class, 0 for no mark."""
    classes = b"" if run[0].isascii() else bytes(map(unicodedata.combining, run[0].translate(_AS_MARKS)))
    kept, start = list[str](), 0
    for pile in _TOO_HIGH.finditer(classes):
        kept.append(run[0][start : pile.end(1)])
        start = pile.end()
    return "".join((*kept, run[0][start:])) if kept else run[0]
