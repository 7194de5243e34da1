"""Terms: from text to index terms, in the same way for stored texts and for queries (SEARCH-2).

Words are folded and stemmed (Snowball) in the language of the text, or of the word's script where that decides. Scripts
without spaces become pairs of characters; identifiers are kept whole and in parts. The analyser knows nothing of any index.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from itertools import chain, zip_longest
from typing import TypeVar

import Stemmer

from germane.text.language import CONTRACTED, FUNCTION_CHARACTERS, FUNCTION_PAIRS, STOP, detect, of_script
from germane.text.normal import bare, wide
from germane.types.caches import FifoCache
from germane.types.query import Term

# Splits one token of text into the words that are stemmed: compounds, camelCase, pairs of CJK characters, apostrophes.


UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u318f\u31f0-\u31ff\u3400-\u4dbf"
    r"\u4e00-\u9fff\ua960-\ua97f\ua9e0-\ua9ff\uaa60-\uaa7f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""The body of a character class of scripts written without spaces: Thai, Lao, Burmese, Khmer, kana, Chinese characters; Korean
too, for its suffixes."""

JOINT = r"(?:_{1,3}|://|::|[-./'@:\\])"
"""A pattern of the characters that join the parts of a compound."""

# Combining marks that \w doesn't match but that belong to words: Indic, Tibetan, and a few smaller scripts.
_MARKS = r"\u0900-\u0963\u0966-\u0df3\u0f18-\u0fbc\u1b00-\u1b7f\u1c24-\u1c37\ua880-\ua8c5\ua8e0-\ua8ff"
_LETTER = rf"(?:[^\W_{_MARKS}]|[{_MARKS}])++"
_COMPOUND = re.compile(rf"{_LETTER}(?:{JOINT}{_LETTER}){{0,40}}+(?:\+\+|\#)?")
_JOINT = re.compile(JOINT)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_NOT = re.compile(r"[a-z]+n't|let's|o'clock")
_ELISION = re.compile(r"(?:[ldjmtsnc]|qu|dell|all|nell|un)'(?=\w{2})")
_MAX_COMPOUND_CHARS = 64


@cache
def unspaced() -> re.Pattern[str]:
    """Returns the pattern of a run of these scripts. Compiling it takes 10 ms, which most programs never need."""
    return re.compile(f"[{UNSPACED}]+")


@cache
def _han() -> re.Pattern[str]:
    return re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


def words(token: str) -> tuple[str, ...]:
    """Returns the casefolded words of one token (a run without spaces, or of one unspaced script), compounds before their
    parts.

    `parse_config` → parse_config, parse, config; `Caroline's` → caroline; 自転車 → 自 自転 転 転車 車.
    """
    if token.isascii() and token.isalpha():
        if token.islower() or token[1:].islower() or len(token) == 1:
            return (token.lower(),)
        return tuple(_humps(token))
    if not token.isascii() and unspaced().match(token):
        return tuple(_pairs(token))
    return tuple(word for compound in _COMPOUND.findall(token) for word in _parts(compound))


def _pairs(run: str) -> Iterator[str]:
    """Yields pairs of neighbouring characters, and each Chinese character by itself, since many are words (猫)."""
    if len(run) == 1:
        yield run
        return
    for char, following in zip_longest(run, run[1:], fillvalue=""):
        function = char in FUNCTION_CHARACTERS
        if not function and _han().match(char):
            yield char
        pair = char + following
        if following and pair not in FUNCTION_PAIRS and not (function and following in FUNCTION_CHARACTERS):
            yield pair


def _humps(word: str) -> Iterator[str]:
    """Splits camelCase: `JavaScript` → javascript, java, script."""
    yield word.casefold()
    if word.isascii():
        humps = _HUMP.split(word)
        if len(humps) > 1:
            yield from (hump.lower() for hump in humps if len(hump) > 1)


def _parts(compound: str) -> Iterator[str]:
    if compound[-1] in "+#":
        if len(compound.rstrip("+#")) == 1:
            yield compound.lower()
            return
        compound = compound.rstrip("+#")
    folded = compound.casefold()
    pieces = _JOINT.split(compound)
    if len(pieces) == 1:
        ordinal = _ORDINAL.fullmatch(folded)
        yield from (ordinal[1],) if ordinal else _humps(compound)
    elif "'" in compound:
        yield from _apostrophe(compound, folded, pieces)
    elif folded.replace(".", "").replace("-", "").replace(":", "").replace("/", "").isdigit():
        yield folded[:_MAX_COMPOUND_CHARS]
        yield from (piece for piece in pieces if len(piece) == 4)
    else:
        whole = _whole(folded, pieces)
        if whole:
            yield whole
        for piece in pieces:
            yield from _parts(piece)


def _apostrophe(compound: str, folded: str, pieces: list[str]) -> Iterator[str]:
    if _NOT.fullmatch(folded):
        yield bare(folded).replace("'", "")
    elif len(pieces) == 2 and pieces[1].lower() in CONTRACTED:
        yield from _parts(pieces[0])
    elif _ELISION.match(folded):
        yield from _parts(compound.partition("'")[2])
    elif len(pieces) == 2 and len(pieces[0]) <= 2:
        yield folded.replace("'", "")
    else:
        for piece in pieces:
            yield from _parts(piece)


def _whole(folded: str, pieces: list[str]) -> str | None:
    """Returns the compound as one term if people search for it as one: identifiers, paths, addresses, `e-mail`; else None."""
    if len(folded) > _MAX_COMPOUND_CHARS:
        return None
    if "-" in folded and all(piece.isalpha() for piece in pieces):
        return "".join(pieces).casefold() if len(pieces) == 2 and len(pieces[0]) <= 2 else None
    if len(pieces) == 2 and "/" in folded and all(piece.isalpha() for piece in pieces):
        return None
    return folded


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
