"""Speakers: the names under which a partition's messages were recorded, found by the words of a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set

from germane.text.normal import fold

__all__ = ["Speakers", "name_words", "named_in", "words_said"]

_PUNCTUATION = str.maketrans(dict.fromkeys(".,;:!?\"'()[]{}«»“”‘’…-", " "))
_WORD = re.compile(r"\w+")
_NAME_BYTES, _WORD_BYTES = 130, 180
"""What a short name and a word that no other name has take."""


def words_said(text: str) -> Set[str]:
    """Returns the folded words of a text, without possessives and punctuation."""
    return set(fold(text).replace("'s", " ").replace("’s", " ").translate(_PUNCTUATION).split())


def named_in(text: str, speakers: Mapping[int, str]) -> int | None:
    """Returns the hash of the one speaker whose name, or a word of it, stands in the text; None for no or several such.
    `speakers` maps hashes to names."""
    words = words_said(text)
    named = [code for code, name in speakers.items() if words & set(fold(name).split())]
    return named[0] if len(named) == 1 else None


def name_words(text: str) -> Set[str]:
    """Returns the words of a text by which a name may be found in it: folded, and as they are but for their case."""
    return {*words_said(text), *_WORD.findall(text.casefold())}


class Speakers:
    """The speakers of one partition. A name is found by its words, so that a text is compared with a few names and not with
    all: where thousands of people speak to one agent, comparing took longer than the rest of an assembly."""

    __slots__ = ("_by_word", "_codes")

    def __init__(self, names: Iterable[tuple[int, str]] = ()) -> None:
        """`names` are hashes of the speaker column, and names."""
        self._codes: dict[str, int] = {}
        self._by_word: dict[str, list[str]] = {}
        self.add(names)

    def __len__(self) -> int:
        return len(self._codes)

    @property
    def nbytes(self) -> int:
        """Bytes in memory, estimated."""
        return _NAME_BYTES * len(self._codes) + _WORD_BYTES * len(self._by_word)

    def add(self, names: Iterable[tuple[int, str]]) -> None:
        """Adds names; those that are known stay."""
        for code, name in names:
            if name not in self._codes:
                self._codes[name] = code
                for word in {*fold(name).split(), *_WORD.findall(name.casefold())}:
                    self._by_word.setdefault(word, []).append(name)

    def said_in(self, text: Set[str]) -> dict[str, int]:
        """Returns the names that have a word in common with a text (`name_words`), and their hashes: all that `named_in` can
        name, and that the text is embedded without."""
        return {name: self._codes[name] for word in text & self._by_word.keys() for name in self._by_word[word]}
