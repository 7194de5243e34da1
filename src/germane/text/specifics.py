"""Specifics: the numbers, paths, addresses and identifiers of texts, in forms that can be compared.

They are what a summary must copy and can't reword: a summary that drops them is of little use, and one that holds others than
its source has made them up.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from germane.text.normal import wide

__all__ = ["KnownSpecifics", "specifics"]

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
