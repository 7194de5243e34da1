"""Traits: facts about a text that are stored as evidence (question, time words, names, length)."""

from __future__ import annotations

import re

from germane.text.words import unspaced

__all__ = ["capitals", "is_question", "letter_words", "temporal", "word_count"]

_LETTERS = re.compile(r"[^\W\d_]+")
_DIGIT = re.compile("[0-9]")
_TAIL = 240
"""Characters at the end of a text in which its last sentence is looked for."""
_ASKING_END = re.compile(r"(?<=[\u0370-\u03ff]);$|(?:吗|嗎|呢|ますか|ですか|でしょうか|ไหม|หรือ|까)[。.]?\s*$")
_SENTENCE_END = re.compile(r"[.!?。！？؟｡।]\s+(?=\S)")
_CLOSING = " \t\r\n\"'”’»)]*_:-(<3"
_ASKS = re.compile(
    r"\s*(?:(?:and|so|but|ok(?:ay)?|hey|well)[ ,]+)?(?:(?:what|who|where|when|why|how|which)"
    r"(?:['’]s| (?:is|are|was|were|do|does|did|can|could|would|will|should|have|has|many|much|long|often|far|old|about|kind"
    r"|time|day|year))|(?:do|does|did|is|are|was|were|can|could|would|will|should|have|has)"
    r" (?:i|you|he|she|it|we|they|there|anyone|somebody))\b",
    re.IGNORECASE,
)
_WORDS = """yesterday today tonight tomorrow ago recently lately earlier later soon since until weekend weekends anniversary
    birthday monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays
    sundays january february april june july august september october november december jan feb apr jun jul aug sep sept oct nov
    dec gestern heute vorgestern hier aujourd demain ayer hoy mañana ieri oggi domani ontem hoje amanhã gisteren vandaag вчера
    сегодня завтра أمس اليوم غدا कल आज"""
_TEMPORAL_WORDS = frozenset(_WORDS.split())
_ASCII_LETTERS = bytes(ord(chr(code).lower()) if chr(code).isascii() and chr(code).isalpha() else 32 for code in range(256))
"""Translates ASCII to its lower-case letters, and everything else to spaces."""
_UNIT_WORDS = "day night week month year morning evening hour minute summer winter spring fall autumn time"
_UNITS = frozenset(word + plural for word in _UNIT_WORDS.split() for plural in ("", "s"))
_UNIT = re.compile(" (?:" + "|".join(sorted(_UNITS)) + r")\b", re.IGNORECASE)
_MEASURES = re.compile(
    r"\b(?:last|next|this|past|every|each|first|second|few|couple of|\d{1,9}"
    r"|one|two|three|four|five|six|seven|eight|nine|ten)\Z",
    re.IGNORECASE,
)
"""What stands before a unit, and the characters that this takes at most, with one before."""
_BEFORE = 10
_NUMBERED = re.compile(r"\d(?<!\d\d)(?:(?<=1)9\d\ds?|(?<=2)0\d\ds?|\d?(?::\d\d|st|nd|rd|th))(?![\w])", re.IGNORECASE)
"""A year, a clock time or an ordinal. Like `_UNIT` and `_CAPITAL` it begins with a character that most of a text isn't, so that
the search passes over the rest."""
_MAY = re.compile(r"\b(?:in|on|of|since|until|last|next|this|by|from|early|late|mid|\d{1,2}(?:st|nd|rd|th)?) May\b|\bMay \d")
_TEMPORAL_UNSPACED = re.compile(
    r"昨天|今天|明天|前天|后天|去年|今年|明年|上周|下周|上个月|昨日|今日|明日|先週|来週|先月|来月|어제|오늘|내일|\d年|\d月|เมื่อวาน|วันนี้|พรุ่งนี้"
)
_CAPITAL = re.compile(r" (?<=[\w,;:)'’\"”] )[\"'(“]?(?!I\b)[A-Z\u00c0-\u00d6\u00d8-\u00de\u0391-\u03a9\u0410-\u042f]\w*")


def is_question(text: str) -> bool:
    """Returns whether the text ends in a question: its last sentence ends in a question mark of any script, or begins as
    questions do."""
    tail = text[-_TAIL:].rstrip(_CLOSING)
    if tail and tail[-1] in "?？؟⁇⁈፧\u037e":
        return True
    ends = [end.end() for end in _SENTENCE_END.finditer(tail)]
    last = tail[ends[-1] :] if ends else tail
    if not last.isascii() and _ASKING_END.search(last):
        return True
    return not text.rstrip().endswith((".", "!")) and _ASKS.match(last) is not None


def temporal(text: str) -> bool:
    """Returns whether the text names a time: yesterday, two weeks ago, last May, a weekday, a month, a year, a clock time."""
    words = letter_words(text)
    if not words.isdisjoint(_TEMPORAL_WORDS) or (_DIGIT.search(text) and _NUMBERED.search(text)):
        return True
    if ("may" in words and _MAY.search(text)) or (not words.isdisjoint(_UNITS) and _measured(text)):
        return True
    return not text.isascii() and _TEMPORAL_UNSPACED.search(text) is not None


def _measured(text: str) -> bool:
    """Returns whether a unit of time stands behind its number, or behind a word such as "last"."""
    ends = (unit.start() for unit in _UNIT.finditer(text))
    return any(_MEASURES.search(text, max(0, end - _BEFORE), end) for end in ends)


def letter_words(text: str) -> set[str]:
    """Returns the runs of letters of the text, in lower case."""
    if text.isascii():
        return set(text.encode().translate(_ASCII_LETTERS).decode().split())
    return set(_LETTERS.findall(text.lower()))


def capitals(text: str) -> int:
    """Returns the number of capitalised words inside sentences (not the first word, not "I"): a sign of names."""
    return len(_CAPITAL.findall(text))


def word_count(text: str) -> int:
    """Returns the number of words; in scripts without spaces two characters count as one word."""
    count = len(text.split())
    return count if text.isascii() else count + sum(len(run) // 2 for run in unspaced().findall(text))
