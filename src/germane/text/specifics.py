"""Specifics: the numbers, paths, addresses and identifiers of texts, in forms that can be compared.

They are what a summary must copy and can't reword: a summary that drops them is of little use, and one that holds others than
its source has made them up.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from germane.text.normal import wide
from germane.text.terms import unspaced

_RUN = re.compile(r"[A-Za-z0-9_./\\:@#~%&=?+$-]{1,400}")
"""A run of the characters that paths, addresses and identifiers are written in; a longer one is read in pieces."""
_NUMBER = re.compile(r"(?<![A-Za-z0-9_])\d{1,40}(?:[.,]\d{1,40}){0,20}")
_BEFORE_UNIT = re.compile(r"(?<![A-Za-z0-9_.,])(\d{1,40}(?:[.,]\d{1,40}){0,20})[^\S\n]([A-Za-z]{1,12})")
_DATE = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)")
_VERSION = re.compile(r"v(\d{1,40}(?:\.\d{1,40}){0,20})")
_GROUPED = re.compile(r"\d{1,3}(?:[.,]\d{3}){1,12}")
_LIST_MARK = re.compile(r"^[^\S\n]{0,16}(?:[-*•][^\S\n]{0,4})?\(?\d{1,3}[.)](?=\s)", re.MULTILINE)
_DIVIDED = re.compile(r"[/\\:=@?&#,+]{1,8}")
_ENDS, _BEGINS = ".:,-/\\?#&=+%~$", ":,-\\?&=+%#"
_ORDINALS = ("st", "nd", "rd", "th")
_HUMP = re.compile(r"[a-z][A-Z]")
_EXTENSION = re.compile(r"\w\.[a-z][a-z0-9]{0,7}$")
_MAX_PARTS = 8
"""Parts of a path from which its beginnings and ends are made."""
_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve",
    "null eins zwei drei vier - sechs sieben acht neun zehn elf",
    "zero un deux trois quatre cinq six sept huit neuf dix onze douze",
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez",
    "zero first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth",
)
_NUMERALS = {word: str(number) for words in _WORDS for number, word in enumerate(words.split())}


def specifics(text: str) -> tuple[str, ...]:
    """Returns the numbers and names of a text, each once and in its order, as `KnownSpecifics` compares them. Numbers of a list
    are left out. Linear."""
    text = _LIST_MARK.sub("", wide(text))
    found = dict.fromkeys(name.casefold() for name in _names(text))
    found |= dict.fromkeys(_number(match[0]) for match in _NUMBER.finditer(text))
    return tuple(found)


class KnownSpecifics:
    """The numbers, names and words of the texts that were added. Adding and asking take time linear in the text."""

    __slots__ = ("_names", "_numbers", "_words")

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._numbers, self._names, self._words = set[str](), set[str](), set[str]()
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        text = wide(text)
        for run in _runs(text):
            if run.isalpha():
                self._words.add(word := run.lower())
                if word in _NUMERALS:
                    self._numbers.add(_NUMERALS[word])
            else:
                self._names.update(_forms(run))
        self._numbers.update(_number(match[0]) for match in _NUMBER.finditer(text))
        self._names.update(_DATE.findall(text))
        for match in _BEFORE_UNIT.finditer(text):
            unit = match[2].casefold()
            self._names.update(f"{match[1]}{short}" for short in {unit[:1], unit[:2], unit[:3]})

    def knows(self, one: str) -> bool:
        """Whether `one`, as `specifics` returns it, is among them."""
        if one in self._numbers or one in self._names or one in self._words:
            return True
        if one[-2:] in _ORDINALS and one[:-2].isdigit():
            return one[:-2] in self._numbers
        if version := _VERSION.fullmatch(one):
            return version[1] in self._numbers
        return self._is_made_of_words(one)

    def _is_made_of_words(self, one: str) -> bool:
        """Whether it is two known words that only look like a name: `and/or`, `3-step`, `done.Next`."""
        if one[0] in "/.~@-" or _EXTENSION.search(one) or "_" in one:
            return False
        parts = re.split(r"[/-]", one)
        return len(parts) > 1 and all(part in self._words or part in self._numbers for part in parts)


def _runs(text: str) -> Iterator[str]:
    for match in _RUN.finditer(text):
        run = match[0].rstrip(_ENDS).lstrip(_BEGINS)
        if run:
            yield run


def _names(text: str) -> Iterator[str]:
    for run in _runs(text):
        if _HUMP.search(run) if run.isalpha() else _is_name(run):
            yield run
    yield from _DATE.findall(text)


def _is_name(run: str) -> bool:
    """Whether this is written as only paths, addresses, identifiers and options are."""
    letters, digits = any(map(str.isalpha, run)), any(map(str.isdigit, run))
    if not letters:
        return False
    if digits or "_" in run or "@" in run or "\\" in run or "::" in run or "://" in run:
        return True
    if "/" in run:
        return run[0] in "/.~" or run.count("/") > 1 or _EXTENSION.search(run) is not None
    before, dot, after = run.rpartition(".")
    return bool(dot) and len(before) > 1 and len(after) > 1 and "." not in before[1:2] and after.islower()


def _forms(run: str) -> Iterator[str]:
    """A name as it stands, and the parts by which it may be named: each part, beginnings and ends of its path."""
    run = run.casefold()
    yield run
    yield run.strip("/.~$#@")
    parts = [part for part in _DIVIDED.split(run) if part]
    if len(parts) > 1:
        yield from (part.strip(_ENDS) for part in parts)
        for mark in "/\\":
            if mark in run:
                pieces = run.split(mark)
                for number in range(1, min(len(pieces), _MAX_PARTS)):
                    yield mark.join(pieces[-number:])
                    yield mark.join(pieces[:number])
    if "." in run:
        dotted = run.rsplit("/", 1)[-1].split(".")
        for number in range(1, min(len(dotted), _MAX_PARTS)):
            yield ".".join(dotted[-number:])
            yield ".".join(dotted[:-number])


def _number(written: str) -> str:
    """A number without the marks between thousands, in the digits 0 to 9."""
    if not written.isascii():
        written = "".join(str(unicodedata.digit(char, 0)) if char.isdigit() else char for char in written)
    if _GROUPED.fullmatch(written):
        return written.replace(",", "").replace(".", "")
    return written


# Traits: facts about a text that are stored as evidence (question, time words, names, length).


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
_TRAIT_WORDS = """yesterday today tonight tomorrow ago recently lately earlier later soon since until weekend weekends
    anniversary birthday monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays
    saturdays sundays january february april june july august september october november december jan feb apr jun jul aug sep
    sept oct nov dec gestern heute vorgestern hier aujourd demain ayer hoy mañana ieri oggi domani ontem hoje amanhã gisteren
    vandaag вчера сегодня завтра أمس اليوم غدا कल आज"""
_TEMPORAL_WORDS = frozenset(_TRAIT_WORDS.split())
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
