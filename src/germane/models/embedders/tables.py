"""Tables: what the embedders that sum vectors of a table share: loading, long texts, unit length, single words.

For single words, it has the vectors of the stems of a table's vocabulary, and the n-grams of words that a vocabulary doesn't
cover.
"""

from __future__ import annotations

import asyncio
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar
from weakref import WeakValueDictionary
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from germane.search.quantised import dot_matrix, quantise
from germane.text.terms import stem, term_hash
from germane.types.caches import FifoCache

# Vectors of the stems of a static table's vocabulary, found by the stems' hashes. A stored text keeps only hashes of
# its stems, and these are enough to compare its words with those of a question. The vector of a stem is the mean of
# those of the whole words that have it. All word vectors share a direction, which makes unrelated words look similar,
# so the mean over the vocabulary is subtracted from each.


Floats = NDArray[np.float32]
_LOW_BITS = np.uint32((1 << 19) - 1)
"""Bits of a hash that are its slot: so many that two of fourteen thousand stems seldom share one."""
_SHARED = -1
_MAX_KEPT_WORDS, _MAX_KEPT_CHARS = 4096, 64
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
        self._words: FifoCache[str, _Word] = FifoCache(_MAX_KEPT_WORDS)

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
                if len(word) <= _MAX_KEPT_CHARS:
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


# Hashes of the parts of a word, for words of scripts that a WordPiece vocabulary doesn't cover. Texts in these scripts
# are alike where they share parts of words, as in feature hashing (Weinberger et al. 2009). Nothing is known of their
# meaning, but inflected forms are found, and all scripts are treated alike.


GRAMS = 8_192
"""The number of hashes."""

FOREIGN = re.compile(
    "[\u0370-\u1cff\u1f00-\u1fff\u2c00-\u2c5f\u2c80-\u2dff\u2e80-\u2fff\u3005-\u3007\u3031-\ua6ff\ua800-\uab2f"
    "\uab70-\ufaff\ufb13-\ufdff\ufe70-\ufeff\uff66-\uffdc\U00010000-\U0001efff\U00020000-\U000323af]++"
)
"""A run of characters of scripts other than Latin; punctuation of these scripts may be among them."""

_WIDE = "\u2e80"
"""From here on a character is a syllable or a word of its own: Chinese, Japanese, Korean."""


def grams(run: str) -> Iterator[int]:
    """Yields the hashes, below `GRAMS`, of the pairs and triples of a run's letters, its ends included; where letters are
    syllables or words, of single letters and pairs. An empty run has none."""
    sizes, padded = ((1, 2), run) if not run or run[0] >= _WIDE else ((2, 3), f" {run} ")
    for size in sizes:
        for start in range(len(padded) - size + 1):
            yield crc32(padded[start : start + size].encode("utf-8", "surrogatepass")) % GRAMS


def gram_vectors(dimension: int, count: int = GRAMS) -> NDArray[np.int8]:
    """Returns vectors of random signs, shape (count, dimension), always the same. Two of them are nearly orthogonal."""
    raw = np.random.PCG64(0).random_raw(count * dimension // 64).astype("<u8")
    bits = np.unpackbits(raw.view(np.uint8)).reshape(count, dimension).view(np.int8)
    signs: NDArray[np.int8] = bits * np.int8(2) - np.int8(1)
    return signs


T = TypeVar("T")

_HEAD, _TAIL = 8_000, 2_000
_INLINE = 10_000
"""Characters that take about 2 ms to embed: up to so many are embedded on the event loop."""

_loading = threading.Lock()
_tables = WeakValueDictionary[type, Any]()
"""The tables that embedders of this process have loaded, by the embedders' class. A table is only read, so all of a class share
one, and it is released when the last of them is closed."""
_words = WeakValueDictionary[type, StaticWordVectors]()
"""The word vectors that are made from these tables, likewise."""


class TableEmbedder(ABC, Generic[T]):
    """Unit-length sums of vectors of a table. Thread-safe.

    The table is loaded at the first use, or by `warm` or `prepare`; embedders of one class share it. Of a text longer than
    10,000 characters the first 8,000 and the last 2,000 are read.
    """

    identity: str
    dimension: int
    quick = True

    def __init__(self) -> None:
        self._table: T | None = None
        self._words: StaticWordVectors | None = None

    @abstractmethod
    def _load(self) -> T:
        """Reads the table from its files: an object that can be weakly referenced. Raises `EmbedderError`."""

    @abstractmethod
    def _add(self, table: T, text: str, vector: NDArray[np.float32], between: Callable[[], None]) -> None:
        """Adds the vectors of the text's pieces to `vector`, which holds zeros. Calls `between` after each piece that isn't in
        its cache."""

    @abstractmethod
    def _whole_words(self, table: T) -> tuple[Sequence[str], NDArray[Any]]:
        """Returns the whole words of the vocabulary, and the vector of each, one per row, of any length."""

    def warm(self) -> None:
        """Loads the table now. Idempotent. Raises `EmbedderError` when its files can't be read."""
        self._loaded()

    async def prepare(self) -> None:
        """As `warm`, in a thread."""
        await asyncio.to_thread(self.warm)

    def word_vectors(self) -> StaticWordVectors:
        """Returns the vectors of single words from this table; the same ones for all who ask, as making them takes a third of a
        second."""
        words = self._words
        if words is None:
            with _loading:
                words = _words.get(type(self))
                if words is None:
                    words = _words[type(self)] = StaticWordVectors(self)
            self._words = words
        return words

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As `embed_now`. A large batch or the first load would block the event loop, so they run in a thread."""
        if self._table is None or sum(min(len(text), _HEAD + _TAIL) for text in texts) > _INLINE:
            return await asyncio.to_thread(self.embed_now, texts)
        return self.embed_now(texts)

    async def embed_in_background(self, texts: Sequence[str], between: Callable[[], None]) -> NDArray[np.float32]:
        """As `embed_now`, in a thread, with pauses; see `Pausing`."""
        return await asyncio.to_thread(self._embedded, texts, between)

    def embed_now(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._embedded(texts)

    def _embedded(self, texts: Sequence[str], between: Callable[[], None] = lambda: None) -> NDArray[np.float32]:
        table = self._loaded()
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            self._add(table, text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}", vector, between)
            between()
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, lengths, out=vectors, where=lengths > 0)  # the sum has the direction of the mean
        return vectors

    def whole_words(self) -> tuple[Sequence[str], NDArray[Any]]:
        """Returns the whole words of the vocabulary, and the vector of each, of any length."""
        return self._whole_words(self._loaded())

    async def close(self) -> None:
        """Lets go of the table, which is loaded again at the next use unless another embedder still has it. Idempotent."""
        self._table = self._words = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.identity}>"

    def _loaded(self) -> T:
        table = self._table
        if table is None:
            with _loading:
                table = _tables.get(type(self))
                if table is None:
                    table = _tables[type(self)] = self._load()
            self._table = table
        return table
