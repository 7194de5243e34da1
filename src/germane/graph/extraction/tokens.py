"""Tokens: the words and code of one text in their places, as the rules read them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from germane.text.normal import fold

__all__ = ["HIDDEN", "Token", "Tokens"]

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
