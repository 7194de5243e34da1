"""WordPieces: splits a text into the pieces of a WordPiece vocabulary, as BERT's uncased tokenizer does, in linear time.

A text is lower-cased and loses its accents and control characters; white space ends a word, and each punctuation mark and each
Chinese character stands alone. A word is split greedily into the longest pieces of the vocabulary (Schuster and Nakajima 2012).
Where BERT gives up on a word, because it is too long or has a character without a piece, this reads on after it. Words of
scripts other than Latin become character n-grams, as such a vocabulary knows little more of them than single letters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

from germane.embedders.character_grams import FOREIGN, grams
from germane.text.fifo_cache import FifoCache
from germane.text.normal import normalised

__all__ = ["WordPieces"]

_PUNCTUATION = re.escape("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_CHUNK = re.compile(rf"[^\s{_PUNCTUATION}]{{1,100}}+|[{_PUNCTUATION}]")
"""A run without white space and ASCII punctuation, cut at 100 characters as BERT does. Chunks repeat, so their pieces can be
cached."""
_CACHED_CHUNKS, _MAX_CHUNK_CHARS = 65_536, 24
_MAX_COMPOSED = 200
"""Characters of a chunk's compatibility form that are read: one character may stand for eighteen (U+FDFA), and a message of
nothing else would keep a thread busy for half a minute."""


class WordPieces:
    """Splits texts by `vocabulary`, in which a piece that continues a word begins with `##`. Thread-safe.

    The pieces of at most 65,536 chunks of text are cached.
    """

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self.vocabulary = vocabulary
        self._ids = {piece: id for id, piece in enumerate(vocabulary)}
        by_length = sorted(vocabulary, key=len)  # so that the longest one of each beginning comes last, and stays
        self._longest = {piece[:1]: len(piece) for piece in by_length}
        self._longest |= {piece[:3]: len(piece) - 2 for piece in by_length if piece.startswith("##")}
        """The length of the longest piece that begins with a character; with `##` before it, of one that continues a word."""
        self._cached: FifoCache[str, tuple[int, ...]] = FifoCache(_CACHED_CHUNKS)

    def ids(self, text: str, between: Callable[[], None] = lambda: None) -> list[int]:
        """Returns the positions of the text's pieces in the vocabulary; n-grams follow at its end, see `grams`. `between` is
        called after each chunk that isn't in the cache."""
        ids: list[int] = []
        cached = self._cached
        for chunk in _CHUNK.findall(text):
            known = cached.get(chunk)
            if known is None:
                known = self._split(chunk)
                between()
            ids += known
        return ids

    def _split(self, chunk: str) -> tuple[int, ...]:
        ids = tuple(self._ascii(chunk) if chunk.isascii() else self._any(chunk))
        if len(chunk) <= _MAX_CHUNK_CHARS:
            self._cached.keep(chunk, ids)
        return ids

    def _ascii(self, chunk: str) -> Iterator[int]:
        return self._longest_pieces("".join(filter(str.isprintable, chunk)).lower())

    def _any(self, chunk: str) -> Iterator[int]:
        composed = normalised(chunk.lower(), "NFKC")[:_MAX_COMPOSED]
        for run in FOREIGN.findall(composed):
            yield from (len(self._ids) + gram for gram in grams("".join(filter(_is_lettering, run))))
        for word in _words(FOREIGN.sub(" ", composed)):
            yield from self._longest_pieces(word)

    def _longest_pieces(self, word: str) -> Iterator[int]:
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            longest = self._longest.get(prefix + word[start], 0)
            for end in range(min(len(word), start + longest), start, -1):
                if (id := self._ids.get(prefix + word[start:end])) is not None:
                    yield id
                    break
            else:
                end = start + 1
            start = end


def _words(text: str) -> list[str]:
    """Returns the words of a lower-case text, without accents and control characters; each punctuation mark is a word."""
    letters: list[str] = []
    for character in normalised(text, "NFD"):
        category = unicodedata.category(character)
        if category[0] == "P":
            letters += (" ", character, " ")
        elif category != "Mn" and category[0] != "C" and character != "\ufffd":
            letters.append(character)
    return "".join(letters).split()


def _is_lettering(character: str) -> bool:
    """Whether a character is a letter, a mark on one, or a digit."""
    return unicodedata.category(character)[0] in "LMN"
