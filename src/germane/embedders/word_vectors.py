"""StaticWordVectors: vectors of the stems of a static table's vocabulary, found by the stems' hashes.

A stored text keeps only hashes of its stems, and these are enough to compare its words with those of a question. The vector of
a stem is the mean of those of the whole words that have it. All word vectors share a direction, which makes unrelated words
look similar, so the mean over the vocabulary is subtracted from each.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from germane.embedders.character_grams import FOREIGN
from germane.search.quantised import dot_matrix, quantise
from germane.text.analyse import stem, term_hash
from germane.text.fifo_cache import FifoCache

__all__ = ["StaticWordVectors", "TokenTable"]

Floats = NDArray[np.float32]
_LOW_BITS = np.uint32((1 << 19) - 1)
"""Bits of a hash that are its slot: so many that two of fourteen thousand stems seldom share one."""
_SHARED = -1
_KEPT_WORDS, _MAX_KEPT = 4096, 64
"""Words of questions whose vectors are kept, a megabyte of them, and the characters of the longest."""
_BLOCK = 512
"""Vectors that are worked on at a time: within the cache of the processor that takes a third of the time."""


class TokenTable(Protocol):
    """What `StaticWordVectors` needs of an embedder: unit vectors of words, and the whole words of its vocabulary."""

    def embed_now(self, texts: Sequence[str]) -> Floats: ...

    def whole_words(self) -> tuple[Sequence[str], NDArray[Any]]:
        """The vectors may be of any length, and of any number type."""


class _Stems(NamedTuple):
    """`hashes` are sorted; the vector of each is `values[i] * scales[i]`. `mean` is the direction that all words share.

    `slots` holds the place of a hash at the hash's lowest bits, so that four thousand hashes are found in 20 microseconds;
    where several hashes share these bits it holds `_SHARED`, and a binary search finds them."""

    hashes: NDArray[np.uint32]
    values: NDArray[np.int8]
    scales: Floats
    mean: Floats
    slots: NDArray[np.int32]

    @classmethod
    def of(cls, hashes: NDArray[np.uint32], values: NDArray[np.int8], scales: Floats, mean: Floats) -> _Stems:
        low = hashes & _LOW_BITS
        slots = np.zeros(int(_LOW_BITS) + 1, np.int32)
        slots[low] = np.arange(len(hashes))
        slots[np.bincount(low, minlength=len(slots)) > 1] = _SHARED
        return cls(hashes, values, scales, mean, slots)

    def places(self, stems: NDArray[np.uint32]) -> NDArray[np.int32]:
        """Returns the place of each stem's hash, −1 where it isn't there."""
        places: NDArray[np.int32] = self.slots.take(stems & _LOW_BITS)
        shared = (places == _SHARED).nonzero()[0]
        if len(shared):
            places[shared] = np.minimum(self.hashes.searchsorted(stems.take(shared)), len(self.hashes) - 1)
        places[self.hashes.take(places) != stems] = -1
        return places


class _Word(NamedTuple):
    """The vector of a question's word, `values * scale`; `unknown` tells that it has none."""

    values: NDArray[np.int8]
    scale: np.float32
    unknown: bool


class StaticWordVectors:
    """Implements `ports.word_vectors.WordVectors`. The table of stems is made at the first use and takes 256 bytes a stem."""

    def __init__(self, table: TokenTable) -> None:
        self._table = table
        self._making = threading.Lock()
        self._stems: _Stems | None = None
        self._words: FifoCache[str, _Word] = FifoCache(_KEPT_WORDS)

    def cosines(self, stems: NDArray[np.uint32], words: Sequence[str]) -> Floats:
        """Each stem is compared once, however often it occurs."""
        known = self._known()
        places = known.places(stems)
        needed = np.zeros(len(known.hashes) + 1, np.bool_)
        needed[places] = True
        distinct = needed[:-1].nonzero()[0]
        values, scales, unknown = self._asked(words, known)
        found = np.zeros((len(distinct) + 1, len(words)), np.float32)
        found[:-1] = dot_matrix(known.values.take(distinct, axis=0), known.scales.take(distinct), values, scales)
        if True in unknown:
            found[:, unknown] = np.nan
        index = np.empty(len(needed), np.int32)
        index[distinct] = np.arange(len(distinct))
        index[-1] = len(distinct)  # of all stems without a vector
        return found.take(index.take(places), axis=0)

    def _asked(self, words: Sequence[str], known: _Stems) -> tuple[NDArray[np.int8], Floats, list[bool]]:
        """The vectors of a question's words, shape (words, dimension), with their scales and which of them have none. Words
        repeat from question to question, and a question is asked of messages and memories in turn."""
        found = {word: self._words.get(word) for word in words}
        if missing := [word for word, vector in found.items() if vector is None]:
            values, scales = quantise(_centred(self._table.embed_now(missing), known.mean))
            for word, value, scale in zip(missing, values, scales, strict=True):
                made = found[word] = _Word(value.copy(), scale, not scale or FOREIGN.search(word) is not None)
                if len(word) <= _MAX_KEPT:
                    self._words.keep(word, made)
        vectors = [vector for word in words if (vector := found[word]) is not None]
        return (
            np.array([vector.values for vector in vectors]),
            np.array([vector.scale for vector in vectors], np.float32),
            [vector.unknown for vector in vectors],
        )

    def _known(self) -> _Stems:
        if self._stems is None:
            with self._making:
                self._stems = self._stems or _stems(self._table)
        return self._stems


def _stems(table: TokenTable) -> _Stems:
    words, vectors = table.whole_words()
    mean = np.zeros(vectors.shape[1], np.float32)
    for start in range(0, len(words), _BLOCK):
        mean += _unit(vectors[start : start + _BLOCK].astype(np.float32)).sum(axis=0)
    mean /= len(words)
    codes = np.fromiter((term_hash(stem(word, "english")) for word in words), np.uint32, len(words))
    order = np.argsort(codes, kind="stable")
    hashes, firsts = np.unique(codes[order], return_index=True)
    values, scales = np.empty((len(hashes), len(mean)), np.int8), np.empty(len(hashes), np.float32)
    ends = np.append(firsts, len(words))
    for start in range(0, len(hashes), _BLOCK):
        until = min(start + _BLOCK, len(hashes))
        first, end = ends[start], ends[until]
        units = _unit(vectors[order[first:end]].astype(np.float32))
        sums = np.add.reduceat(units, ends[start:until] - first, axis=0)
        sums -= mean * np.diff(ends[start : until + 1]).astype(np.float32)[:, None]
        values[start:until], scales[start:until] = quantise(_unit(sums))
    return _Stems.of(hashes, values, scales, mean)


def _centred(vectors: Floats, mean: Floats) -> Floats:
    """Returns the vectors without what all words share, of unit length; zeros stay zeros."""
    return _unit(vectors - mean * vectors.any(axis=1, keepdims=True))


def _unit(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Floats = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return unit
