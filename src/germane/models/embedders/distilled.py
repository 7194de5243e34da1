"""Distilled: the default embedder, which sums static vectors of word pieces; no network, tens of microseconds per text.

The vectors are a file of this package, `distilled.npz`: 256 numbers of eight bits for each piece, with a scale that holds its
weight. `python -m bench distil` made it from the sentence model all-MiniLM-L6-v2 (Apache-2.0) alone, without any text; the file
says from which version, and how.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files

import numpy as np
from numpy.typing import NDArray

from germane.errors import EmbedderError
from germane.models.embedders.tables import FOREIGN, GRAMS, TableEmbedder, gram_vectors, grams
from germane.text.normal import normalised
from germane.types.caches import FifoCache

_NAME = "distilled.npz"
_DIMENSION = 256
_GRAM_SCALE = 0.02
"""Makes an n-gram about as long as the vector of a piece."""
_SHARED = 0.5
"""Words of other scripts have this much in common, as words of any sentence model have. Their n-grams alone are orthogonal, so
that P(relevant) and P(need), which are fitted to English, would come out too low. Measured by hand on questions and small talk
in Russian: at 0 questions fall below the threshold, at 0.8 small talk gets above it."""


class Distilled(TableEmbedder["_Table"]):
    """Unit-length weighted means of the vectors of a text's word pieces, 256 dimensions. The table has 8 MB and is loaded in
    about 0.03 s."""

    identity = f"distilled/minilm-1/{_DIMENSION}"
    dimension = _DIMENSION

    def _load(self) -> _Table:
        return _Table.load()

    def _add(self, table: _Table, text: str, vector: NDArray[np.float32], between: Callable[[], None]) -> None:
        rows = np.array(table.pieces.ids(text, between), np.intp)
        grams = rows[rows >= table.grams]
        vector += table.sum(rows[rows < table.grams] if len(grams) else rows)
        if len(grams):
            found = table.sum(grams)
            vector += found + _SHARED * np.linalg.norm(found) * table.shared

    def _whole_words(self, table: _Table) -> tuple[Sequence[str], NDArray[np.int8]]:
        words = {word: row for row, word in enumerate(table.pieces.vocabulary) if len(word) > 2 and word.isalpha()}
        return list(words), table.values[list(words.values())]


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True)
class _Table:
    """The vector of piece i is `values[i] * scales[i]`."""

    values: NDArray[np.int8]
    scales: NDArray[np.float32]
    pieces: WordPieces
    grams: int
    """The first row of the n-grams."""
    shared: NDArray[np.float32]
    """A unit vector, the direction that words of other scripts share."""

    def sum(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Returns the sum of these rows' vectors. `einsum` starts no threads, as a matrix product would for long texts."""
        summed: NDArray[np.float32] = np.einsum("i,ij->j", self.scales.take(rows), self.values.take(rows, axis=0))
        return summed

    @classmethod
    def load(cls) -> _Table:
        source = files("germane.models.embedders") / _NAME
        try:
            with as_file(source) as path, np.load(path, allow_pickle=False) as file:
                hashed = gram_vectors(_DIMENSION, GRAMS + 1)
                values = np.concatenate([file["values"], hashed[:-1]])
                scales = np.concatenate([file["scales"], np.full(GRAMS, _GRAM_SCALE, np.float32)])
                vocabulary = file["vocabulary"].tobytes().decode().split("\n")
        except Exception as error:  # zipfile, numpy and the decoder raise errors of their own
            raise EmbedderError(f"the vectors of the default embedder can't be read from {source}: {error}") from error
        shared = hashed[-1].astype(np.float32) / np.float32(_DIMENSION**0.5)
        return cls(
            values=values,
            scales=scales,
            pieces=WordPieces(vocabulary),
            grams=len(vocabulary),
            shared=shared,
        )


# Splits a text into the pieces of a WordPiece vocabulary, as BERT's uncased tokenizer does, in linear time. A text is
# lower-cased and loses its accents and control characters; white space ends a word, and each punctuation mark and each
# Chinese character stands alone. A word is split greedily into the longest pieces of the vocabulary (Schuster and
# Nakajima 2012). Where BERT gives up on a word, because it is too long or has a character without a piece, this reads
# on after it. Words of scripts other than Latin become character n-grams, as such a vocabulary knows little more of
# them than single letters.


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
