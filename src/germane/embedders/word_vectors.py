"""StaticWordVectors: vectors of single words from a static token table, and the cached words of each text.

All word vectors share a direction, which makes unrelated words look similar, so the mean over the vocabulary's whole words is
subtracted from each. The caches hold hashes, never text: at most 65,536 words in eight bits a dimension (17 MB) and the words
of 32,768 texts as numbers (about 12 MB). A full cache is emptied and starts anew.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from germane.ports.word_vectors import SimilarWords
from germane.search.quantised import dequantise, dot_matrix, quantise
from germane.text.analyse import worded

__all__ = ["StaticWordVectors", "TokenTable"]

_MAX_WORDS, _MAX_TEXTS = 65_536, 32_768
_CHARS_READ, _WORDS_READ = 6_200, 512
"""Of a text only so many characters from its beginning, and of these only so many words, are read."""
_NO_WORDS = [("", 0)]
"""Stands for the words of a text that has none: each text must have a row."""

T = TypeVar("T", np.int8, np.float32)


class TokenTable(Protocol):
    """What `StaticWordVectors` needs of an embedder: vectors of single words, and their mean."""

    dimension: int

    def embed_now(self, texts: Sequence[str]) -> NDArray[np.float32]: ...

    def typical(self) -> NDArray[np.float32]: ...


class _Cache(NamedTuple):
    """`rows` maps a word's hash to its row in `values` and `scales`. `texts` maps a text's hash to the rows and stem hashes of
    its words, shape (2, words). A row is written before it is entered in `rows` and never changes after, so readers need no
    lock."""

    rows: dict[int, int]
    values: NDArray[np.int8]
    scales: NDArray[np.float32]
    texts: dict[int, NDArray[np.int64]]


class StaticWordVectors:
    """Implements `ports.word_vectors.WordVectors`. Reading takes no lock; adding to the caches does."""

    def __init__(self, table: TokenTable) -> None:
        self._table = table
        self._lock = threading.Lock()
        self._cache = _Cache({}, np.empty((0, table.dimension), np.int8), np.empty(0, np.float32), {})
        self._mean: NDArray[np.float32] | None = None

    def of(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Returns the words' vectors, shape (len(words), dimension), of unit length; zeros for a word without a vector."""
        return dequantise(*self._vectors(words))

    def similar(self, texts: Sequence[str], words: Sequence[str]) -> SimilarWords:
        cache, keys = self._cache, list(map(hash, texts))
        if not cache.texts.keys() >= set(keys):
            cache = self._add_texts(dict(zip(keys, texts, strict=True)), words)
        read = [cache.texts[key] for key in keys]
        rows, stems = np.concatenate(read, axis=1)
        sizes = np.fromiter((text.shape[1] for text in read), np.intp, len(read))
        cosines = dot_matrix(cache.values[rows], cache.scales[rows], *self._vectors(words))
        return SimilarWords(cosines, stems, np.cumsum(sizes) - sizes)

    def _vectors(self, words: Sequence[str]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        cache, keys = self._cache, list(map(hash, words))
        if not cache.rows.keys() >= set(keys):
            with self._lock:
                cache = self._add_words(dict(zip(keys, words, strict=True)))
        rows = np.array([cache.rows[key] for key in keys], np.intp)
        return cache.values[rows], cache.scales[rows]

    def _add_texts(self, texts: Mapping[int, str], words: Sequence[str]) -> _Cache:
        """Returns a cache that holds these texts. `words`, which are needed next, are added with the texts' own."""
        with self._lock:
            while True:
                before = self._cache
                new = {
                    key: list(dict.fromkeys(worded(text[:_CHARS_READ])))[:_WORDS_READ] or _NO_WORDS
                    for key, text in texts.items()
                    if key not in before.texts
                }
                if len(before.texts) + len(new) > max(_MAX_TEXTS, len(texts)):
                    self._cache = before._replace(texts={})
                    continue
                needed = {hash(word): word for pairs in new.values() for word, _ in pairs}
                cache = self._add_words(needed | {hash(word): word for word in words})
                if cache.texts is before.texts:
                    break  # otherwise the words were full and have started anew, and the texts with them
            for key, pairs in new.items():
                rows = [cache.rows[hash(word)] for word, _ in pairs]
                cache.texts[key] = np.array((rows, [stem for _, stem in pairs]), np.int64)
            return cache

    def _add_words(self, words: Mapping[int, str]) -> _Cache:
        """Returns a cache that holds these words. The caller holds the lock."""
        cache = self._cache
        new = {key: word for key, word in words.items() if key not in cache.rows}
        if not new:
            return cache
        rows, values, scales, texts = cache
        if len(rows) + len(new) > max(_MAX_WORDS, len(new)):
            rows, values, scales, texts, new = {}, values[:0], scales[:0], {}, dict(words)
        first, needed = len(rows), len(rows) + len(new)
        if len(values) < needed:
            capacity = needed + needed // 2 + 1024
            values, scales = _grown(values, first, capacity), _grown(scales, first, capacity)
        values[first:needed], scales[first:needed] = quantise(self._embedded(list(new.values())))
        rows.update(zip(new, range(first, needed), strict=True))
        self._cache = _Cache(rows, values, scales, texts)
        return self._cache

    def _embedded(self, words: Sequence[str]) -> NDArray[np.float32]:
        if self._mean is None:
            self._mean = self._table.typical()
        vectors = self._table.embed_now(words)
        vectors -= self._mean * vectors.any(axis=1, keepdims=True)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: NDArray[np.float32] = np.divide(vectors, lengths, out=vectors, where=lengths > 0)
        return unit


def _grown(array: NDArray[T], rows: int, size: int) -> NDArray[T]:
    grown = np.zeros((size, *array.shape[1:]), array.dtype)
    grown[:rows] = array[:rows]
    return grown
