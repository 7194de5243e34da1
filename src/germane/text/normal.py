"""Normal forms: one spelling for what readers take to be the same text.

`normalised` and `is_normalised` are the only way to Unicode's normal forms: they take linear time, which `unicodedata` by
itself doesn't. Sorting a pile of n combining marks takes it n² steps, so a pile is cut before it is sorted.
"""

from __future__ import annotations

import re
import unicodedata
from hashlib import blake2b
from itertools import chain
from typing import Literal

from germane.text.blocks import blocks

__all__ = ["Form", "bare", "content_hash", "fold", "is_normalised", "normalised", "unpiled", "wide"]

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
_BARE = {code: unicodedata.normalize("NFD", chr(code))[0] for code in _ACCENTED if unicodedata.decomposition(chr(code))} | {
    ord(odd): plain for odd, plain in _ODD.items()
}
_AS_MARKS = dict.fromkeys((0xF73, 0xF75, 0xF81, 0xFF9E, 0xFF9F), "\u0301")
"""Characters that aren't sorted as marks by themselves, and whose normal forms are marks."""
_PILE = re.compile(r"[^\w\x00-\x7f]{31,}")
"""Where a pile may be: no character that is or becomes a mark is left out, but for two."""
_HALF_WIDTH_PILE = re.compile(r"[\W\uff9e\uff9f]{31,}")
"""The same where one of these two is."""
_TOO_HIGH = re.compile(rb"([^\0]{30})[^\0]+")


def normalised(text: str, form: Form = "NFC") -> str:
    """`text` in a Unicode normal form, in linear time. Of more than 30 combining marks in a row the first 30 are kept."""
    return text if text.isascii() else unicodedata.normalize(form, unpiled(text))


def is_normalised(text: str, form: Form = "NFC") -> bool:
    """Whether `normalised(text, form)` is `text` itself, in linear time."""
    return text.isascii() or (unpiled(text) == text and unicodedata.is_normalized(form, text))


def unpiled(text: str) -> str:
    """`text` with the first 30 of more combining marks in a row: any normal form of it takes linear time."""
    if text.isascii():
        return text
    return (_HALF_WIDTH_PILE if "\uff9e" in text or "\uff9f" in text else _PILE).sub(_cut, text)


def wide(text: str) -> str:
    """`text` in NFKC without invisible joints and optional vowel points; case and the accents of letters are kept."""
    return text if text.isascii() else normalised(text, "NFKC").translate(_TIDY)


def bare(word: str) -> str:
    """A casefolded word without the accents of its Latin and Greek letters; other scripts keep their marks."""
    return word if word.isascii() else word.translate(_BARE)


def fold(text: str) -> str:
    """What two spellings of one word share: NFKC, casefolded, no Latin or Greek accents, Indic marks kept. For any string."""
    if text.isascii():
        return text.lower()
    return bare(wide(text).casefold().translate(_TIDY))


def content_hash(*parts: str) -> int:
    """64 bits, signed, of the parts in NFC: equal for texts that differ only in how their accents are composed.

    BLAKE2b over each part's length and UTF-8; lone surrogates count as themselves.
    """
    digest = blake2b(digest_size=8)
    for part in parts:
        data = [normalised(block).encode("utf-8", "surrogatepass") for block in blocks(part)]
        digest.update(sum(map(len, data)).to_bytes(8, "big"))
        for each in data:
            digest.update(each)
    return int.from_bytes(digest.digest(), "big", signed=True)


def _cut(run: re.Match[str]) -> str:
    """A run with its piles cut. A byte a character tells the class of a mark, 0 where there is none."""
    classes = b"" if run[0].isascii() else bytes(map(unicodedata.combining, run[0].translate(_AS_MARKS)))
    kept, at = list[str](), 0
    for pile in _TOO_HIGH.finditer(classes):
        kept.append(run[0][at : pile.end(1)])
        at = pile.end()
    return "".join((*kept, run[0][at:])) if kept else run[0]
