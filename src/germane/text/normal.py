"""Normal forms: one spelling for what readers take to be the same text. For comparing and indexing, never for showing."""

from __future__ import annotations

import re
import unicodedata
from hashlib import blake2b
from itertools import chain
from typing import Literal

from germane.text.blocks import blocks

__all__ = ["bare", "composed", "content_hash", "fold", "wide"]

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
_PILE = re.compile(r"[^\w\x00-\x7f]{31,}")
_HIGHEST_PILE = 30


def composed(text: str, form: Literal["NFC", "NFKC"] = "NFC") -> str:
    """`text` in a Unicode normal form. Piles of more than 30 marks are cut first: sorting them takes quadratic time."""
    if text.isascii():
        return text
    return unicodedata.normalize(form, _PILE.sub(_cut_pile, text))


def wide(text: str) -> str:
    """`text` in NFKC without invisible joints and optional vowel points; case and the accents of letters are kept."""
    return text if text.isascii() else composed(text, "NFKC").translate(_TIDY)


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
        data = [composed(block).encode("utf-8", "surrogatepass") for block in blocks(part)]
        digest.update(sum(map(len, data)).to_bytes(8, "big"))
        for each in data:
            digest.update(each)
    return int.from_bytes(digest.digest(), "big", signed=True)


def _cut_pile(run: re.Match[str]) -> str:
    kept: list[str] = []
    height = 0
    for char in run[0]:
        height = height + 1 if unicodedata.combining(char) else 0
        if height <= _HIGHEST_PILE:
            kept.append(char)
    return "".join(kept)
