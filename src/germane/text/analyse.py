"""The analyser: the one way from text to index terms, for what is stored and for what is asked (SEARCH-2).

Words are folded and stemmed (Snowball) by the language of the text or of their script; scripts without spaces become
character pairs; identifiers are kept whole and in parts. It keeps no positions and knows nothing of any index.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from functools import lru_cache
from itertools import chain
from typing import TypeVar

import Stemmer

from germane.text.fifo_cache import FifoCache
from germane.text.language import detect, of_script
from germane.text.normal import bare, wide
from germane.text.stopwords import STOP
from germane.text.words import JOINT, UNSPACED, words
from germane.types.query import Term

__all__ = ["VERSION", "analyse", "query_terms", "stem", "term_hash", "worded"]

VERSION = 1
"""Rises whenever the same text gives other stems: an index made by another version is to be made again."""

_LONGEST, _MOST = 64, 1 << 17
_ELSEWHERE = re.compile(r"[\u0300-\u1fff\u2c00-\ud7ff\uf900-\ufdff\ufe10-\uffff\U00010000-\U0001efff\U00020000-\U0003ffff]")
_LATIN_TOKEN = re.compile(rf"[^\W_]++(?:{JOINT}[^\W_]++){{0,40}}+(?:\+\+|#)?")
_TOKEN = re.compile(rf"[{UNSPACED}]+|[^\s{UNSPACED}]+")
T = TypeVar("T")
_OTHER_LATIN = ("spanish", "french", "german", "italian")


def analyse(text: str, language: str | None = None) -> list[str]:
    """The stems of a text, in its order, stop words out. Any string works, lone surrogates included. `language` is the one it
    is in, by Snowball's name; by default it is guessed."""
    return list(chain.from_iterable(map(_stems_in(language or detect(text) or "english").__getitem__, _chunks(text))))


def worded(text: str) -> list[tuple[str, int]]:
    """The words of a text that aren't stop words, each with the hash of its stem, in its order; what is too long to be a word
    is left out."""
    return list(chain.from_iterable(map(_words_in(detect(text) or "english").__getitem__, _chunks(text))))


def query_terms(text: str) -> tuple[Term, ...]:
    """The distinct terms of a question, in its order. `stems` are alternatives: the stem in the question's language
    first, the English one, and for names and texts of no evident language those of the commonest others."""
    found = detect(text)
    language = found or "english"
    terms: dict[str, Term] = {}
    for token in _tokens(text):
        everywhere = found is None or token[:1].isupper()
        for word in words(token):
            plain = bare(word)
            if plain not in terms and (stems := _alternatives(word[:_LONGEST], language, everywhere)):
                terms[plain] = Term(plain, stems)
    return tuple(terms.values())


@lru_cache(maxsize=1 << 17)
def term_hash(stem: str) -> int:
    """What an index holds instead of the stem: CRC-32, unsigned. A forgotten word leaves no vocabulary behind."""
    return zlib.crc32(stem.encode("utf-8", "surrogatepass"))


def _tokens(text: str) -> list[str]:
    text = wide(text)
    return (_TOKEN if not text.isascii() and _ELSEWHERE.search(text) else _LATIN_TOKEN).findall(text)


def _chunks(text: str) -> list[str]:
    """What tokens are found in one by one. None of plain text reaches across a space, and looking up what stands between two
    is quicker than finding the tokens first."""
    return text.split() if text.isascii() else _tokens(text)


class _Memory(FifoCache[str, tuple[T, ...]]):
    """What `make` makes of a chunk, remembered where it may come again. Quicker than an LRU cache: most of
    the time goes into memory that isn't near."""

    def __init__(self, make: Callable[[str], tuple[T, ...]], most: int) -> None:
        super().__init__(most)
        self._make = make

    def __missing__(self, chunk: str) -> tuple[T, ...]:
        made = self._make(chunk)
        if len(chunk) <= _LONGEST:  # else it is no word
            self.keep(chunk, made)
        return made


@lru_cache(maxsize=64)
def _stems_in(language: str) -> _Memory[str]:
    """The stems of a chunk."""

    def stems(chunk: str) -> tuple[str, ...]:
        tokens = _tokens(chunk) if chunk.isascii() else (chunk,)
        return tuple(filter(None, (_kept(word[:_LONGEST], language) for token in tokens for word in words(token))))

    return _Memory(stems, _MOST if language == "english" else _MOST // 8)


@lru_cache(maxsize=64)
def _words_in(language: str) -> _Memory[tuple[str, int]]:
    """The words of a chunk, with the hashes of their stems."""

    def pairs(chunk: str) -> tuple[tuple[str, int], ...]:
        tokens = (token for token in (_tokens(chunk) if chunk.isascii() else (chunk,)) if len(token) <= _LONGEST)
        return tuple(
            (word, term_hash(kept)) for token in tokens for word in words(token) if (kept := _kept(word[:_LONGEST], language))
        )

    return _Memory(pairs, _MOST if language == "english" else _MOST // 8)


def stem(word: str, language: str) -> str:
    """The stem of a casefolded word; `language` counts only where the script leaves it open."""
    word = word[:_LONGEST]
    if word.isascii() and not word.isalpha():
        return word
    name = of_script(word)
    if name is None:
        name = language
    if name in ("english", "greek"):
        word = bare(word)
    snowball = _stemmer(name)
    return bare(snowball.stemWord(word)) if snowball else word


@lru_cache(maxsize=1 << 16)
def _kept(word: str, language: str) -> str | None:
    """The stem, None for a stop word."""
    return None if _stop(word, language) else stem(word, language)


@lru_cache(maxsize=64)
def _stemmer(language: str) -> Stemmer.Stemmer | None:
    """None where Snowball has no algorithm. Its own cache is off: ours holds more, and that one isn't safe across threads."""
    return Stemmer.Stemmer(language, 0) if language in Stemmer.algorithms() else None


def _stop(word: str, language: str) -> bool:
    return word in STOP.get(of_script(word) or language, ())


@lru_cache(maxsize=1 << 14)
def _alternatives(word: str, language: str, everywhere: bool) -> tuple[str, ...]:
    """Nothing for a stop word."""
    if _stop(word, language):
        return ()
    if of_script(word) is not None:
        return (stem(word, language),)
    names = (language, "english", *(_OTHER_LATIN if everywhere else ()))
    return tuple(dict.fromkeys(stem(word, name) for name in names))
