"""Levelled: a text as rules read it, each character in its place: straight apostrophes, plain spaces, no bullets or emoji in
front, capitals as small letters, the marks that were dictated, and a line end where one statement runs into the next."""

from __future__ import annotations

import re

from germane.text.normal import in_lower_case
from germane.text.own.forms import forms
from germane.text.stopwords import STOP

__all__ = ["levelled"]

_LEVEL = str.maketrans({"’": "'", "ʼ": "'", "＇": "'", "‛": "'", "´": "'", "\xa0": " ", "\u202f": " ", "\u2009": " "})
_ODD = re.compile("[’ʼ＇‛´\xa0\u202f\u2009]")
_APOSTROPHE = re.compile(r"(?<=\w)[’ʼ＇‛´](?=\w)|[\xa0\u202f\u2009](?=[:;!?»%€])")
"""An apostrophe inside a word, and a space that is printed before some marks."""
_BULLET = re.compile(r"^[ \t]*(?:[-*•+–—·▪◦‣●○➤→✓✔]|\d{1,3}[.)]|[a-z]\))(?=[ \t])[ \t]+(?:\[[ xX]\][ \t]+)?", re.MULTILINE)
_EMOJI = re.compile(
    "(?:(?<=[.!?\n])|^)[ \t]*+(?:[\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001f643\U0001f645-\U0001faff][\ufe0f\u200d \t]*+)++"
)
"""Emoji at the beginning of a sentence, but for rolling eyes, which say that a statement isn't meant."""
_ANY_EMOJI = re.compile("[\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]")
_FEW_SMALL = 0.1
"""Share of small letters up to which a line is in capitals."""
_LETTERS, _GLANCE = 12, 24
_LINE = re.compile(r"[^\n]{12,}")
_WORD = re.compile(r"[^\W\d_]++(?:'[^\W\d_]++)*+")
_FUNCTION = frozenset(word for words in STOP.values() for word in words)
_DICTATED = re.compile(
    r"(?<=\w) ?\b(?:(?P<stop>full stop|period(?=\s+[A-Z])|punkt und neue zeile|punto y seguido|punto y aparte|point à la ligne)"
    r"|(?P<comma>comma(?= \w))|(?P<line>new line|new paragraph|neue zeile|neuer absatz|nouvelle ligne|nueva línea))\b",
    re.IGNORECASE,
)
_DICTATES = ("full stop", " comma", "new line", "new paragraph", "period", "zeile", "absatz", "punto y", "ligne", "línea")
_BREATH = re.compile(
    r" (?=(?:I(?:'m|'ve|'d|'ll)?|my (?:\w{1,30} ){1,2}(?:is|are|was)"
    r"|ich (?:bin|habe|hab|wohne|arbeite|heiße|mag|esse|trinke|komme|lebe)"
    r"|j'(?:habite|ai|aime|adore)|je (?:suis|travaille|vis|m'appelle|préfère|mange|bois)"
    r"|ik (?:ben|heb|woon|werk|hou|eet|drink))(?: |$))"
)
_BEFORE = re.compile(r"(?<![\w'’-])([\w'’-]++) ?\Z")
_MAIN = re.compile(
    r"(?:[^.!?\n,;:]*\b(?:and|but|so|und|aber|et|mais|en|maar) )?"
    r"(?:i|my|we|our|ich|mein\w*|wir|je|j|mon|ma|nous|ik|mijn|wij)\b",
    re.IGNORECASE,
)
"""How a statement begins that another may follow."""
_RELATIVE = re.compile(
    r"\b(?:the|an?|all|every|any|some|no|only|that|those|these|this|what|everything|anything|things?)\b", re.IGNORECASE
)
"""What stands before a noun that a clause may describe: "the food I cook"."""
_MAX_SEGMENT = 160


def levelled(text: str) -> str:
    """Returns `text`, of the same length, in the form that rules are written for. Linear."""
    if not text.isascii() and _ODD.search(text):
        text = _APOSTROPHE.sub(lambda found: found[0].translate(_LEVEL), text)
    if not text.isascii() and _ANY_EMOJI.search(text):
        text = _EMOJI.sub(_blanks, text)
    text = _BULLET.sub(_blanks, text)
    low = text.lower()
    if any(word in low for word in _DICTATES):
        text = _DICTATED.sub(_mark, text)
    text = _LINE.sub(_calmed, text)
    return _in_breaths(text)


def _blanks(found: re.Match[str]) -> str:
    return "".join("\n" if char == "\n" else " " for char in found[0])


def _mark(found: re.Match[str]) -> str:
    mark = "." if found["stop"] else "," if found["comma"] else "\n"
    return mark + " " * (len(found[0]) - 1)


def _calmed(found: re.Match[str]) -> str:
    return _in_small_letters(found[0]) if _shouts(found[0]) else found[0]


def _shouts(line: str) -> bool:
    if sum(map(str.islower, line[:_GLANCE])) > _GLANCE / 4:
        return False
    letters = sum(map(str.isalpha, line))
    return (
        letters >= _LETTERS
        and sum(map(str.islower, line)) <= _FEW_SMALL * letters
        and sum(map(str.isupper, line)) > letters / 2
    )


def _in_small_letters(line: str) -> str:
    """The line in small letters, words that may be names with a capital, as is the pronoun."""
    small = in_lower_case(line)
    return _WORD.sub(
        lambda word: word[0] if word[0] in _FUNCTION and word[0] != "i" else word[0][0].upper() + word[0][1:], small
    )


def _in_breaths(text: str) -> str:
    """The text with a line end before a statement of the speaker's that follows another without a stop."""
    places, start = list[int](), 0
    for found in _BREATH.finditer(text):
        place = found.start()
        start = max(start, place - _MAX_SEGMENT, *(text.rfind(mark, start, place) + 1 for mark in ".!?\n;,:"))
        before = _BEFORE.search(text, max(start, place - 40), place)
        if before is None or before[1].lower() in forms().joints or before[1].lower() in _FUNCTION:
            continue
        segment = text[start:place].lstrip()
        if not _MAIN.match(segment) or len(segment.split()) < 3:
            continue
        if before[1][0].islower() and _RELATIVE.search(" ".join(segment.split()[-3:])):
            continue
        places.append(place)
        start = place + 1
    if not places:
        return text
    chars = list(text)
    for place in places:
        chars[place] = "\n"
    return "".join(chars)
