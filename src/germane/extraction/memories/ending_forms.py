"""Ending forms: how each language says that something has ended or changed (`languages/endings.toml`), and their match.

A form is a row of steps over the words of a clause, so that a language without rules of its own needs no more than a list of
its phrases. Matching is linear in the clause: a gap spans at most eight words, or twelve characters of a script without blanks.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple

from germane.text.terms import UNSPACED

FORM_KINDS = ("dropped", "lifted", "resumed", "acts", "states", "changed")
_GAP, _GAP_UNSPACED = 8, 12
_UNSPACED_FROM = "\u3000"
_ENGLISH_ENDS = frozenset({"s", "m", "re", "ve", "ll", "d", "t"})
_TOKEN = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+(?:['’][^\W_{UNSPACED}]+)?['’]?")


class SaidWord(NamedTuple):
    """A word, in lower case, and where it stands in its text."""

    word: str
    start: int
    end: int


class _Step(NamedTuple):
    """One of several phrases, behind a gap of up to `gap` words. A phrase's words may begin or end with `*`."""

    phrases: tuple[tuple[str, ...], ...]
    gap: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EndingLanguage:
    """The small words of one language, by what they tell of a clause; see the head of the file. In an `unspaced` script they
    are looked for anywhere."""

    name: str
    unspaced: bool
    first: frozenset[str]
    others: frozenset[str]
    small: frozenset[str]
    unreal: frozenset[str]
    joins: frozenset[str]
    ands: frozenset[str]
    plain: frozenset[str]

    def holds(self, wanted: frozenset[str], words: Sequence[str]) -> bool:
        """Whether any of the `wanted` is among the words."""
        if not self.unspaced:
            return not wanted.isdisjoint(words)
        said = "".join(words)
        return any(one in said for one in wanted)

    def is_personal(self, words: Sequence[str]) -> bool:
        """Whether nothing but the person and small words stands there."""
        return not self.without(self.first | self.small, " ".join(words)).strip()

    def without(self, unwanted: frozenset[str], text: str) -> str:
        """The text without the `unwanted` words."""
        if not self.unspaced:
            return " ".join(word for word in text.split(" ") if word.lower() not in unwanted)
        text = text.replace(" ", "")
        for one in sorted(unwanted, key=len, reverse=True):
            text = text.replace(one, " ")
        return text


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EndingForm:
    """`asked` says that it counts in a question too."""

    kind: str
    language: EndingLanguage
    steps: tuple[_Step, ...]
    asked: bool

    def match(self, words: Sequence[str], place: int) -> tuple[int, ...] | None:
        """Returns the places of the words that the form itself takes, where it begins at `place`; None where it doesn't. A word
        of which it only knows the ending isn't its own."""
        return _matched(self.steps, words, place)


class WordList(NamedTuple):
    """Words of all languages, folded: whole ones, and beginnings."""

    whole: frozenset[str]
    beginnings: tuple[str, ...]

    @classmethod
    def of(cls, words: Sequence[str]) -> WordList:
        beginnings = tuple(word[:-1] for word in words if word[-1] == "*")
        return cls(frozenset(word for word in words if word[-1] != "*"), beginnings)

    def has(self, word: str) -> bool:
        return word in self.whole or word.startswith(self.beginnings)


class _Forms(NamedTuple):
    by_word: Mapping[str, tuple[EndingForm, ...]]
    """The forms by the word that they begin with."""
    loose: Mapping[str, tuple[EndingForm, ...]]
    """Those that begin with a part of a word, by their language."""
    languages: tuple[EndingLanguage, ...]

    def beginning(self, word: str, language: str) -> Iterator[EndingForm]:
        """The forms that may begin with this word of a text in this language; of those that begin with a part of a word only
        the language's own."""
        yield from self.by_word.get(word, ())
        for form in self.loose.get(language, ()):
            if any(_is(phrase[0], word) for phrase in form.steps[0].phrases):
                yield form


def said_words(text: str) -> list[SaidWord]:
    """Returns the words of a text in lower case: an English contraction, a French elision and a character of a script without
    blanks are words of their own. Linear."""
    found: list[SaidWord] = []
    for token in _TOKEN.finditer(text):
        word, start = token[0].lower().replace("’", "'"), token.start()
        cut = _joint(word)
        if 0 < cut < len(word):
            found.append(SaidWord(word[:cut], start, start + cut))
            found.append(SaidWord(word[cut:], start + cut, token.end()))
        else:
            found.append(SaidWord(word, start, token.end()))
    return found


def _joint(word: str) -> int:
    """Returns where a word with an apostrophe is two; 0 for none."""
    mark = word.find("'")
    if mark <= 0:
        return 0
    if word.endswith("n't"):
        return len(word) - 3
    return mark if word[mark + 1 :] in _ENGLISH_ENDS else mark + 1


def _matched(steps: Sequence[_Step], words: Sequence[str], place: int) -> tuple[int, ...] | None:
    """Returns the places that the steps take from `place` on, each gap as short as it can be."""
    step, rest = steps[0], steps[1:]
    for begin in range(place, min(place + step.gap, len(words) - 1) + 1):
        for phrase in step.phrases:
            end = begin + len(phrase)
            if end > len(words) or not all(map(_is, phrase, words[begin:end])):
                continue
            behind = _matched(rest, words, end) if rest else ()
            if behind is not None:
                own = [begin + index for index, word in enumerate(phrase) if word[0] != "*"]
                return (*own, *behind)
    return None


def _is(wanted: str, word: str) -> bool:
    if wanted[0] == "*":
        return word.endswith(wanted[1:])
    return word.startswith(wanted[:-1]) if wanted[-1] == "*" else word == wanted


@cache
def ending_forms() -> _Forms:
    """Returns the forms of all languages."""
    table = _table()
    languages: list[EndingLanguage] = []
    by_word: dict[str, tuple[EndingForm, ...]] = {}
    loose: dict[str, tuple[EndingForm, ...]] = {}
    for name, part in table.items():
        if "first" not in part:
            continue
        sets = {one: frozenset(part[one].split()) for one in ("first", "others", "small", "unreal", "joins", "plain")}
        unspaced = _TOKEN.match(part["first"]) is not None and part["first"][0] >= _UNSPACED_FROM
        language = EndingLanguage(name=name, unspaced=unspaced, ands=frozenset(part["and"].split()), **sets)
        languages.append(language)
        for kind in FORM_KINDS:
            for line in part[kind].strip().splitlines():
                form = EndingForm(kind=kind, language=language, steps=_steps(line.lstrip("?")), asked=line.startswith("?"))
                beginnings = {phrase[0] for phrase in form.steps[0].phrases}
                if any("*" in word for word in beginnings):
                    loose[name] = (*loose.get(name, ()), form)
                    continue
                for word in beginnings:
                    by_word[word] = (*by_word.get(word, ()), form)
    return _Forms(MappingProxyType(by_word), MappingProxyType(loose), tuple(languages))


@cache
def stances() -> tuple[WordList, WordList]:
    """Returns the words of liking, and those of disliking."""
    table = _table()["stances"]
    return WordList.of(table["likes"].split()), WordList.of(table["dislikes"].split())


@cache
def denying() -> WordList:
    """Returns the words by which a sentence denies something."""
    return WordList.of(_table()["stances"]["denies"].split())


def _table() -> dict[str, dict[str, str]]:
    return tomllib.loads(files("germane.extraction.memories").joinpath("languages/endings.toml").read_text("utf-8"))


def _steps(line: str) -> tuple[_Step, ...]:
    steps: list[_Step] = []
    gap = 0
    for part in line.replace("...", " ... ").split():
        if part == "...":
            gap = 1
            continue
        phrases = tuple(map(_phrase, part.split("/")))
        wide = _GAP_UNSPACED if part[0] >= _UNSPACED_FROM else _GAP
        steps.append(_Step(phrases, wide * gap))
        gap = 0
    return tuple(steps)


def _phrase(text: str) -> tuple[str, ...]:
    """The words of a phrase; those that begin or end with `*` are cut like any other."""
    words: list[str] = []
    for piece in text.split("_"):
        found = [piece] if piece[0] == "'" else [one.word for one in said_words(piece.strip("*"))]
        if piece.startswith("*"):
            found[0] = f"*{found[0]}"
        if piece.endswith("*"):
            found[-1] = f"{found[-1]}*"
        words += found
    return tuple(words)
