"""Words: splits one token of text into the words that are stemmed (compounds, camelCase, CJK pairs, apostrophes)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import zip_longest

from germane.text.normal import bare
from germane.text.stopwords import CONTRACTED, FUNCTION_CHARACTERS, FUNCTION_PAIRS

__all__ = ["JOINT", "UNSPACED", "unspaced", "words"]

UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u318f\u31f0-\u31ff\u3400-\u4dbf"
    r"\u4e00-\u9fff\ua960-\ua97f\ua9e0-\ua9ff\uaa60-\uaa7f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""The body of a character class of scripts written without spaces: Thai, Lao, Burmese, Khmer, kana, Chinese characters; Korean
too, for its suffixes."""

JOINT = r"(?:_{1,3}|://|::|[-./'@:\\])"
"""A pattern of the characters that join the parts of a compound."""

# Combining marks that \w doesn't match but that belong to words: Indic, Tibetan, and a few smaller scripts.
_MARKS = r"\u0900-\u0963\u0966-\u0df3\u0f18-\u0fbc\u1b00-\u1b7f\u1c24-\u1c37\ua880-\ua8c5\ua8e0-\ua8ff"
_LETTER = rf"(?:[^\W_{_MARKS}]|[{_MARKS}])++"
_COMPOUND = re.compile(rf"{_LETTER}(?:{JOINT}{_LETTER}){{0,40}}+(?:\+\+|\#)?")
_JOINT = re.compile(JOINT)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_NOT = re.compile(r"[a-z]+n't|let's|o'clock")
_ELISION = re.compile(r"(?:[ldjmtsnc]|qu|dell|all|nell|un)'(?=\w{2})")
_MAX_COMPOUND_CHARS = 64


@cache
def unspaced() -> re.Pattern[str]:
    """Returns the pattern of a run of these scripts. Compiling it takes 10 ms, which most programs never need."""
    return re.compile(f"[{UNSPACED}]+")


@cache
def _han() -> re.Pattern[str]:
    return re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


def words(token: str) -> tuple[str, ...]:
    """Returns the casefolded words of one token (a run without spaces, or of one unspaced script), compounds before their
    parts.

    `parse_config` → parse_config, parse, config; `Caroline's` → caroline; 自転車 → 自 自転 転 転車 車.
    """
    if token.isascii() and token.isalpha():
        if token.islower() or token[1:].islower() or len(token) == 1:
            return (token.lower(),)
        return tuple(_humps(token))
    if not token.isascii() and unspaced().match(token):
        return tuple(_pairs(token))
    return tuple(word for compound in _COMPOUND.findall(token) for word in _parts(compound))


def _pairs(run: str) -> Iterator[str]:
    """Yields pairs of neighbouring characters, and each Chinese character by itself, since many are words (猫)."""
    if len(run) == 1:
        yield run
        return
    for char, following in zip_longest(run, run[1:], fillvalue=""):
        function = char in FUNCTION_CHARACTERS
        if not function and _han().match(char):
            yield char
        pair = char + following
        if following and pair not in FUNCTION_PAIRS and not (function and following in FUNCTION_CHARACTERS):
            yield pair


def _humps(word: str) -> Iterator[str]:
    """Splits camelCase: `JavaScript` → javascript, java, script."""
    yield word.casefold()
    if word.isascii():
        humps = _HUMP.split(word)
        if len(humps) > 1:
            yield from (hump.lower() for hump in humps if len(hump) > 1)


def _parts(compound: str) -> Iterator[str]:
    if compound[-1] in "+#":
        if len(compound.rstrip("+#")) == 1:
            yield compound.lower()
            return
        compound = compound.rstrip("+#")
    folded = compound.casefold()
    pieces = _JOINT.split(compound)
    if len(pieces) == 1:
        ordinal = _ORDINAL.fullmatch(folded)
        yield from (ordinal[1],) if ordinal else _humps(compound)
    elif "'" in compound:
        yield from _apostrophe(compound, folded, pieces)
    elif folded.replace(".", "").replace("-", "").replace(":", "").replace("/", "").isdigit():
        yield folded[:_MAX_COMPOUND_CHARS]
        yield from (piece for piece in pieces if len(piece) == 4)
    else:
        whole = _whole(folded, pieces)
        if whole:
            yield whole
        for piece in pieces:
            yield from _parts(piece)


def _apostrophe(compound: str, folded: str, pieces: list[str]) -> Iterator[str]:
    if _NOT.fullmatch(folded):
        yield bare(folded).replace("'", "")
    elif len(pieces) == 2 and pieces[1].lower() in CONTRACTED:
        yield from _parts(pieces[0])
    elif _ELISION.match(folded):
        yield from _parts(compound.partition("'")[2])
    elif len(pieces) == 2 and len(pieces[0]) <= 2:
        yield folded.replace("'", "")
    else:
        for piece in pieces:
            yield from _parts(piece)


def _whole(folded: str, pieces: list[str]) -> str | None:
    """Returns the compound as one term if people search for it as one: identifiers, paths, addresses, `e-mail`; else None."""
    if len(folded) > _MAX_COMPOUND_CHARS:
        return None
    if "-" in folded and all(piece.isalpha() for piece in pieces):
        return "".join(pieces).casefold() if len(pieces) == 2 and len(pieces[0]) <= 2 else None
    if len(pieces) == 2 and "/" in folded and all(piece.isalpha() for piece in pieces):
        return None
    return folded
