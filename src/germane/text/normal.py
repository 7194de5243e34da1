"""Normal forms: Unicode normalisation in linear time, folding, hashes, and invisible characters.

All code uses `normalised` and `is_normalised` in place of `unicodedata`, which takes n² steps to sort n combining marks in a
row. Here such a pile of marks is cut before it is sorted.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from hashlib import blake2b
from itertools import chain
from typing import Literal

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]

_ACCENTED = chain(range(0xC0, 0x250), range(0x386, 0x3CF), range(0x1E00, 0x2000))  # Latin and Greek
_ODD_LETTERS = {
    "ø": "o",
    "ł": "l",
    "đ": "d",
    "ð": "d",
    "þ": "th",
    "æ": "ae",
    "œ": "oe",
    "ı": "i",
    "ħ": "h",
    "ß": "ss",
    "ŋ": "n",
}
_FOLDED_AWAY = chain(
    range(0x300, 0x370),  # combining marks of Latin, Greek and Cyrillic
    range(0x591, 0x5BE), (0x5BF, 0x5C1, 0x5C2, 0x5C4, 0x5C5, 0x5C7),  # Hebrew points
    range(0x610, 0x61B), (0x640,), range(0x64B, 0x660), (0x670,), range(0x6D6, 0x6DD),  # Arabic vowels and the stretcher
    (0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF), range(0xFE00, 0xFE10),  # invisible joints
)  # fmt: skip
_QUOTES = {0x2018: "'", 0x2019: "'", 0x02BC: "'", 0xFF07: "'", 0x2010: "-", 0x2011: "-"}
_TIDY: dict[int, str | None] = dict.fromkeys(_FOLDED_AWAY) | _QUOTES | {ord("ё"): "е"}
_UNTIDY = re.compile(f"[{''.join(map(re.escape, map(chr, _TIDY)))}]")
"""A character of `_TIDY`. Most texts have none, and looking takes a quarter of the time of translating."""
_BARE_LETTERS = {
    code: unicodedata.normalize("NFD", chr(code))[0] for code in _ACCENTED if unicodedata.decomposition(chr(code))
} | {ord(odd): plain for odd, plain in _ODD_LETTERS.items()}
_AS_MARKS = dict.fromkeys((0xF73, 0xF75, 0xF81, 0xFF9E, 0xFF9F), "\u0301")
"""Characters that aren't combining marks themselves, but whose normal forms are."""
_PILE = re.compile(r"[^\w\x00-\x7f]{31,}")
"""Runs that may hold a pile: they include every character that is or becomes a mark, but for U+FF9E and U+FF9F."""
_HALF_WIDTH_PILE = re.compile(r"[\W\uff9e\uff9f]{31,}")
"""The same for texts that hold U+FF9E or U+FF9F."""
_MIN_PILE = 31
"""Characters of the shortest pile, none of which is ASCII."""
_TOO_HIGH = re.compile(rb"([^\0]{30})[^\0]+")
_SURROGATE = re.compile("[\ud800-\udfff]")


def normalised(text: str, form: Form = "NFC") -> str:
    """Returns `text` in a Unicode normal form, in linear time. Of more than 30 combining marks in a row the first 30 are
    kept."""
    return text if text.isascii() else unicodedata.normalize(form, unpiled(text))


def valid_unicode(text: str) -> str:
    """Returns `text` with each lone surrogate, which no JSON, file or database can hold, replaced by U+FFFD. Linear."""
    try:
        text.encode()  # ten times faster than searching for surrogates
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text)
    return text


def is_normalised(text: str, form: Form = "NFC") -> bool:
    """Returns whether `normalised(text, form)` equals `text`, in linear time."""
    return text.isascii() or (unpiled(text) == text and unicodedata.is_normalized(form, text))


def unpiled(text: str) -> str:
    """Returns `text` with no more than 30 combining marks in a row, so that normalising it takes linear time."""
    if text.isascii() or len(text.encode("utf-8", "surrogatepass")) - len(text) < _MIN_PILE:
        return text
    return (_HALF_WIDTH_PILE if "\uff9e" in text or "\uff9f" in text else _PILE).sub(_cut_piles, text)


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
    return word if word.isascii() else word.translate(_BARE_LETTERS)


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


def _cut_piles(run: re.Match[str]) -> str:
    """Returns a run of characters with its piles cut. `classes` holds each character's combining class, 0 for no mark."""
    classes = b"" if run[0].isascii() else bytes(map(unicodedata.combining, run[0].translate(_AS_MARKS)))
    kept, start = list[str](), 0
    for pile in _TOO_HIGH.finditer(classes):
        kept.append(run[0][start : pile.end(1)])
        start = pile.end()
    return "".join((*kept, run[0][start:])) if kept else run[0]


# Splits a long text into parts, so that no single step over it blocks other threads for long. A step implemented in C
# holds the interpreter lock until it is done: normalising a million characters takes some 40 ms, a block about a
# millisecond.


MAX_BLOCK = 16_384
"""Maximum characters of a block."""
_SEARCHED = 256
"""Characters before the end of a block that are searched for a good place to cut."""


def blocks(text: str, size: int = MAX_BLOCK) -> Iterator[str]:
    """Yields `text` in parts of at most `size` characters; a text of at most `BLOCK` characters is yielded whole.

    A part begins with white space if there is some nearby, else with an ASCII character, else with a character that isn't a
    combining mark. So the normal forms of the parts, joined, are the normal form of the text.
    """
    start, length = 0, len(text)
    if length <= MAX_BLOCK:
        yield text
        return
    while start < length:
        end = length if length - start <= size else _block_end(text, start + size)
        yield text[start:end]
        start = end


def _block_end(text: str, end: int) -> int:
    first = end - _SEARCHED
    space = max(text.rfind(" ", first, end), text.rfind("\n", first, end))
    if space > first:
        return space
    for index in range(end - 1, first, -1):
        if text[index].isascii():
            return index
    for index in range(end - 1, first, -1):
        if not unicodedata.category(text[index]).startswith("M") and not "\u1160" <= text[index] <= "\u11ff":
            return index
    return end


# Removes characters that a model reads but a person doesn't see (FORMAT-3): C0 controls except tab and newline, C1
# controls, soft hyphens, zero-width and bidi controls, invisible operators, fillers, tag characters, annotation and
# notation controls, variation selectors, noncharacters and lone surrogates. Joiners (U+200C, U+200D) are kept where a
# script or an emoji needs them, U+FE0E and U+FE0F where they select how an emoji is drawn. Signs of Unicode category
# "format" that are drawn, such as the Arabic number signs, are kept. Every line separator becomes a newline.


_EMOJI_SET = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u2300-\u23ff\u24c2\u25aa-\u25fe\u2600-\u27bf\u2934\u2935"
    "\u2b05-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
"""Characters that may be drawn as an emoji: whole blocks, a little wider than Unicode's own list."""

_PLANES = "".join(f"{chr(plane << 16 | 0xFFFE)}-{chr(plane << 16 | 0xFFFF)}" for plane in range(17))
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff\ufdd0-\ufdef" + _PLANES + "]"
)
_LINES = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_JOINERS = re.compile(
    f"[\u200c\u200d\ufe0e\ufe0f](?<![{_EMOJI_SET}][\ufe0e\ufe0f])"
    f"(?!(?<=[{_EMOJI_SET}]\u200d)[{_EMOJI_SET}])(?!(?<=[{_EMOJI_SET}]\ufe0f\u200d)[{_EMOJI_SET}])"
)
"""Joiners and selectors that `_working` must check: not a selector right after an emoji, nor a joiner between two emoji, as
these are always kept."""
_EMOJI = re.compile(f"[{_EMOJI_SET}]")
_JOINED = re.compile(
    "[\u0620-\u06ff\u0710-\u07fa\u0840-\u085b\u0860-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u17dd\u1807\u1820-\u18aa"
    "\u1900-\u194f\u1a20-\u1aad\u1b00-\u1bff\u1c00-\u1c4f\ua840-\ua87f\ua880-\ua8df\ua8e0-\ua8ff\ua980-\ua9df\uaa00-\uaa5f"
    "\uaae0-\uaaff\uabc0-\uabff\U00010a00-\U00010aff\U00010d00-\U00010d2f\U00011000-\U000114df\U0001e900-\U0001e943]"
)
_VISIBLE_TEXT = re.compile(
    "[ -~\n\t\u00a0-\u00ac\u00ae-\u02ff\u0391-\u03a1\u03a3-\u03ce\u0400-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u205e\u20ac"
    "\u2190-\u22ff\u3001-\u3029\u3041-\u3096\u30a1-\u30fe\u4e00-\u9fff\uac00-\ud7a3]*+"
)
_VIRAMA = 9


def is_plain(text: str) -> bool:
    """Whether `text` has only common characters, each of which is visible, composed and a grapheme by itself."""
    return _VISIBLE_TEXT.fullmatch(text) is not None


def visible(text: str) -> str:
    """`text` without invisible characters, and with a newline for each line separator."""
    if "\r" in text or not text.isprintable():
        text = _LINES.sub("\n", text)
    if text.isascii():
        return text if text.isprintable() else _INVISIBLE.sub("", text)
    text = _INVISIBLE.sub("", text)
    return _JOINERS.sub(_working, text)


def _working(found: re.Match[str]) -> str:
    """The joiner or selector if it changes how its neighbours are drawn, otherwise nothing."""
    text, index, char = found.string, found.start(), found[0]
    before, after = text[index - 1 : index], text[index + 1 : index + 2]
    if char in "\ufe0e\ufe0f":
        works = bool(_EMOJI.match(before)) or (before != "" and before in "0123456789#*" and after == "\u20e3")
    elif char == "\u200d" and _EMOJI.match(text[index - 2 : index - 1] if before == "\ufe0f" else before):
        works = bool(_EMOJI.match(after))
    else:
        works = bool(before) and (
            unicodedata.combining(before) == _VIRAMA or bool(_JOINED.match(before) and _JOINED.match(after))
        )
    return char if works else ""
