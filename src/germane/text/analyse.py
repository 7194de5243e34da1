"""Analyse: from text to index terms, in the same way for stored texts and for queries (SEARCH-2).

Words are folded and stemmed (Snowball) in the language of the text, or of the word's script where that decides. Scripts without
spaces become pairs of characters; identifiers are kept whole and in parts. The analyser knows nothing of any index.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from itertools import chain
from typing import TypeVar

import Stemmer

from germane.text.fifo_cache import FifoCache
from germane.text.language import detect, of_script
from germane.text.normal import bare, wide
from germane.text.stopwords import STOP
from germane.text.words import JOINT, UNSPACED, words
from germane.types.query import Term

__all__ = ["VERSION", "analyse", "hashed", "query_terms", "stem", "stem_set", "term_hash"]

VERSION = 1
"""Rises whenever the same text would give other stems: an index made by another version must be rebuilt."""

_MAX_WORD_CHARS, _MAX_CHUNKS = 64, 1 << 17
"""Characters of a word that are read, and chunks of English text that are cached (an eighth for other languages)."""
_LATIN_TOKEN = re.compile(rf"[^\W_]++(?:{JOINT}[^\W_]++){{0,40}}+(?:\+\+|#)?")
T = TypeVar("T")
_OTHER_LATIN = ("spanish", "french", "german", "italian")


def analyse(text: str, language: str | None = None) -> list[str]:
    """Returns the stems of a text, in its order, without stop words. Accepts any string, lone surrogates included. `language`
    is the text's, by Snowball's name; by default it is detected."""
    return list(chain.from_iterable(map(_stems_in(language or detect(text) or "english").__getitem__, _chunks(text))))


def hashed(text: str, language: str | None = None) -> bytes:
    """Returns the hashes of the stems that `analyse` returns, as little-endian uint32."""
    return b"".join(map(_hashes_in(language or detect(text) or "english").__getitem__, _chunks(text)))


def stem_set(text: str) -> frozenset[int]:
    """Returns the hashes of the distinct stems, to compare texts by without keeping them."""
    return frozenset(memoryview(hashed(text)).cast("I"))


def query_terms(text: str) -> tuple[Term, ...]:
    """Returns the distinct terms of a query, in its order. A term's `stems` are alternatives: the stem in the query's language,
    the English one, and, for names and for texts of no evident language, those of the commonest other languages."""
    detected = detect(text)
    language = detected or "english"
    terms: dict[str, Term] = {}
    for token in _tokens(text):
        everywhere = detected is None or token[:1].isupper()
        for word in words(token):
            plain = bare(word)
            if plain not in terms and (stems := _alternatives(word[:_MAX_WORD_CHARS], language, everywhere)):
                terms[plain] = Term(plain, stems)
    return tuple(terms.values())


@lru_cache(maxsize=1 << 17)
def term_hash(stem: str) -> int:
    """Returns CRC-32 of the stem, unsigned. The index holds it in place of the stem, so that a forgotten word leaves no
    vocabulary behind."""
    return zlib.crc32(stem.encode("utf-8", "surrogatepass"))


def _tokens(text: str) -> list[str]:
    text = wide(text)
    if not text.isascii():
        elsewhere, token = _elsewhere()
        if elsewhere.search(text):
            return token.findall(text)
    return _LATIN_TOKEN.findall(text)


@cache
def _elsewhere() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Returns the patterns of a character that isn't Latin, and of a token of a text with such characters. Compiling them takes
    10 ms."""
    elsewhere = r"[\u0300-\u1fff\u2c00-\ud7ff\uf900-\ufdff\ufe10-\uffff\U00010000-\U0001efff\U00020000-\U0003ffff]"
    return re.compile(elsewhere), re.compile(rf"[{UNSPACED}]+|[^\s{UNSPACED}]+")


def _chunks(text: str) -> list[str]:
    """Splits a text into chunks that are tokenised, and cached, one by one. No token of an ASCII text reaches across a space,
    and looking up what stands between two spaces is quicker than finding the tokens first."""
    return text.split() if text.isascii() else _tokens(text)


class _ChunkCache(FifoCache[str, T]):
    """Caches the results of `make` for chunks that are short enough to be words. A hit is one dict look-up and moves nothing:
    quicker than in an LRU cache, where most of the time goes into memory far from the processor."""

    def __init__(self, make: Callable[[str], T], language: str) -> None:
        super().__init__(_MAX_CHUNKS if language == "english" else _MAX_CHUNKS // 8)
        self._make = make

    def __missing__(self, chunk: str) -> T:
        made = self._make(chunk)
        if len(chunk) <= _MAX_WORD_CHARS:  # a longer chunk is no word
            self.keep(chunk, made)
        return made


@lru_cache(maxsize=64)
def _stems_in(language: str) -> _ChunkCache[tuple[str, ...]]:
    """Returns the cache from chunks to their stems in `language`."""
    return _ChunkCache(lambda chunk: tuple(_chunk_stems(chunk, language)), language)


@lru_cache(maxsize=64)
def _hashes_in(language: str) -> _ChunkCache[bytes]:
    """Returns the cache from chunks to the hashes of their stems in `language`."""
    return _ChunkCache(
        lambda chunk: b"".join(term_hash(stem).to_bytes(4, "little") for stem in _chunk_stems(chunk, language)), language
    )


def _chunk_stems(chunk: str, language: str) -> Iterator[str]:
    tokens = _tokens(chunk) if chunk.isascii() else (chunk,)
    return filter(None, (_stem_or_none(word[:_MAX_WORD_CHARS], language) for token in tokens for word in words(token)))


def stem(word: str, language: str) -> str:
    """Returns the stem of a casefolded word. `language` matters only where the word's script doesn't decide."""
    word = word[:_MAX_WORD_CHARS]
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
def _stem_or_none(word: str, language: str) -> str | None:
    """Returns the stem; None for a stop word."""
    return None if _stop(word, language) else stem(word, language)


@lru_cache(maxsize=64)
def _stemmer(language: str) -> Stemmer.Stemmer | None:
    """Returns the Snowball stemmer; None where there is no algorithm for the language. The stemmer's own cache is turned off:
    it isn't thread-safe, and the caches here hold more."""
    return Stemmer.Stemmer(language, 0) if language in Stemmer.algorithms() else None


def _stop(word: str, language: str) -> bool:
    return word in STOP.get(of_script(word) or language, ())


@lru_cache(maxsize=1 << 14)
def _alternatives(word: str, language: str, everywhere: bool) -> tuple[str, ...]:
    """Returns the alternative stems of a query's word; none for a stop word."""
    if _stop(word, language):
        return ()
    if of_script(word) is not None:
        return (stem(word, language),)
    names = (language, "english", *(_OTHER_LATIN if everywhere else ()))
    return tuple(dict.fromkeys(stem(word, name) for name in names))
