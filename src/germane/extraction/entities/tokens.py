"""Tokens: the words and code of one text in their places, and how each place is written."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from germane.text.normal import fold

HIDDEN = "\0"
"""Stands for each character that was understood already."""
_TOKEN = re.compile(
    r"(?:[^\s\0\"`,;<>{}|()\[\]“”„«»¿¡…–—―「」『』（）【】、。，：；！？·"
    r"\u2010\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uff00-\uffef]|\[(?=\.{3}))++(?:\(\))?"
)
_HEAD, _TAIL = "*_~'‘’#:.!?-/=", "*~'‘’:.!?-=+&"
_ELISION = re.compile(r"(?:[ldnmstcj]|qu|dall|dell|nell|all|sull|un)['’](?=\w\w)", re.IGNORECASE)
_POSSESSIVE = re.compile(r"(?:['’][sS]|(?<=s)['’])$")
_DOTTED = (".", "/", "-", "_")


class Token(NamedTuple):
    """`word` is `text[start:end]`, without punctuation around it, an elided article and a possessive ending. `tail` is what
    was removed behind it."""

    word: str
    start: int
    end: int
    tail: str

    @property
    def possessive(self) -> bool:
        return self.tail[:1] in ("'", "’") and self.tail[1:2] in ("s", "S", "")


class Tokens:
    """The tokens of a text by number. `text` may have hidden parts. Takes linear time."""

    __slots__ = ("_folded", "_found", "_made", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._found = list(_TOKEN.finditer(text))
        self._made = dict[int, Token]()
        self._folded = dict[int, str]()

    def __len__(self) -> int:
        return len(self._found)

    def notable(self) -> Iterator[int]:
        """Yields the numbers of the tokens that aren't plain words in lower case."""
        for number, found in enumerate(self._found):
            word = found[0]
            if not (word.islower() and word.isalpha()):
                yield number

    def raw(self) -> list[str]:
        """Returns all tokens as they stand."""
        return [found[0] for found in self._found]

    def whole(self, number: int) -> tuple[str, int]:
        """Returns a token as it stands, and where it begins."""
        found = self._found[number]
        return found[0], found.start()

    def __getitem__(self, number: int) -> Token:
        made = self._made.get(number)
        if made is None:
            made = self._made[number] = self._token(number)
        return made

    def _token(self, number: int) -> Token:
        found = self._found[number]
        start, raw = found.start(), found[0]
        if raw.isalpha():
            return Token(raw, start, found.end(), "")
        word = raw.lstrip(_HEAD)
        start += len(raw) - len(word)
        cut = word.rstrip(_TAIL)
        if "'" in cut or "’" in cut:
            elided = _ELISION.match(cut)
            if elided:
                cut, start = cut[elided.end() :], start + elided.end()
                word = word[elided.end() :]
            owner = _POSSESSIVE.search(cut)
            if owner:
                cut = cut[: owner.start()]
        return Token(cut, start, start + len(cut), word[len(cut) :])

    def folded(self, number: int) -> str:
        """Returns the folded word of a token; '' outside the text."""
        word = self._folded.get(number)
        if word is None:
            word = fold(self[number].word[:60]) if 0 <= number < len(self._found) else ""
            self._folded[number] = word
        return word

    def gap(self, number: int) -> str:
        """Returns what stands between a token and the one before it, with the punctuation that belongs to neither."""
        if not 0 < number < len(self._found):
            return "\n"
        return self.text[self[number - 1].end : self[number].start]


# How the place of a word is written: in a block of code, in a heading, in bold, or in a line of capitalised words.
# Models write headings and lists in Title Case, where a capital says nothing, and code names a hundred things by the
# way.


_FENCE = re.compile(r"^[ \t]{0,8}(?:```|~~~)", re.MULTILINE)
_WORD = re.compile(r"[^\W\d_]{2,}+")
_DEFINES = re.compile(r"\b(?:def|class|function|fn|func|fun|struct|enum|trait|interface|type|module|in) $")
_MAX_AROUND = 200
"""Characters on either side of a word that are read of its line."""
_MARKS = ("#", "=", "|")


class Written:
    """Says of a place in a text how it is written. Each question takes bounded time, apart from the first search for fences."""

    __slots__ = ("_fences", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._fences = [fence.start() for fence in _FENCE.finditer(text)] if "```" in text or "~~~" in text else []

    def in_code(self, place: int) -> bool:
        """Returns whether a fenced block of code holds the place."""
        return bool(self._fences) and bisect_right(self._fences, place) % 2 == 1

    def defined(self, place: int) -> bool:
        """Returns whether the name at the place is defined there, as behind `class`, or is where a traceback says it is."""
        return _DEFINES.search(self._text, max(0, place - 12), place) is not None

    def as_title(self, place: int) -> bool:
        """Returns whether a capital at the place says nothing: in code, a heading, bold, a placeholder, or a line in which
        most words have one."""
        if self.in_code(place):
            return True
        text = self._text
        start = max(text.rfind("\n", max(0, place - _MAX_AROUND), place) + 1, place - _MAX_AROUND)
        before = text[start:place]
        if before.lstrip().startswith(_MARKS) or before.count("**") % 2 or before[-1:] == "[":
            return True
        end = text.find("\n", place, place + _MAX_AROUND)
        words = _WORD.findall(text[start : end if end >= 0 else place + _MAX_AROUND])
        return len(words) > 4 and sum(word[0].isupper() for word in words) > 0.7 * len(words)


# Lexicon: the words and names that the rules know, read once from the files in `lexicon/`.


_ENDINGS = ("ами", "ями", "ого", "ему", "ом", "ем", "ой", "ей", "ах", "ях", "ов", "ью")
_VOWELS = "аяоеуюыиьйьё"


@cache
def _table(name: str) -> Mapping[str, Mapping[str, str]]:
    table: dict[str, dict[str, str]] = tomllib.loads(files(__package__).joinpath(f"lexicon/{name}.toml").read_text("utf-8"))
    return table


@cache
def words(file: str, table: str, *keys: str) -> frozenset[str]:
    """Returns the words of these lists (all lists of the table without `keys`) as they stand there, `_` read as a space.
    Raises `KeyError` for a list that isn't there."""
    lists = _table(file)[table]
    return frozenset(word.replace("_", " ") for key in keys or lists for word in lists[key].split())


@cache
def folded(file: str, table: str, *keys: str) -> frozenset[str]:
    """Returns the words of these lists without case and accents. Raises `KeyError` for a list that isn't there."""
    return frozenset(map(fold, words(file, table, *keys)))


@cache
def cue(name: str) -> frozenset[str]:
    """Returns the cue words of this list, folded. Raises `KeyError` where there is none."""
    return folded("cues", "cues", name)


@cache
def kin() -> Mapping[str, str]:
    """Returns what each word for a relative or companion says, such as `Schwester` → `sister`, by the folded word."""
    return {fold(word): name for name, text in _table("people")["kin"].items() for word in text.split()}


@cache
def stemmed(file: str, table: str, key: str) -> frozenset[str]:
    """Returns the Cyrillic words of a list without their endings."""
    return frozenset(stem for word in words(file, table, key) if len(stem := without_ending(word)) > 1)


def without_ending(word: str) -> str:
    """Returns a Cyrillic or Greek word, folded, without the ending of its case: Москве, Москвы → москв. Reads 40 characters."""
    word = fold(word[:40])
    for ending in _ENDINGS:
        if len(word) > len(ending) + 2 and word.endswith(ending):
            return word.removesuffix(ending)
    return word.rstrip(_VOWELS) if len(word) > 2 and word[-1] in _VOWELS else word


@cache
def tools() -> frozenset[str]:
    """Returns the names of tools that count in any case, folded."""
    return folded("tools", "tools", "names", "unambiguous_commands")


def is_tool(word: str) -> bool:
    """Returns whether this is the name of a tool, as it stands in prose."""
    return word.lower() in tools() or word in words("tools", "tools", "cased")


def all_of(names: Iterable[str]) -> frozenset[str]:
    """Returns the union of these cue lists."""
    return frozenset[str]().union(*map(cue, names))


@cache
def nicknames() -> Mapping[str, frozenset[str]]:
    """Returns the other forms of each first name, by the folded form: `bob` → {robert, bert, …}. Names that only share a short
    form aren't forms of each other. Cyrillic names stand without their endings."""
    forms: dict[str, set[str]] = {}
    for line in _table("people")["nicknames"]["lines"].strip().splitlines():
        full, *short = (_form(word) for word in line.split())
        for one in short:
            forms.setdefault(full, set()).add(one)
            forms.setdefault(one, set()).add(full)
    return {name: frozenset(others - {name}) for name, others in forms.items()}


def _form(word: str) -> str:
    return fold(word) if word.isascii() or word[0] < "\u0370" else without_ending(word)
