"""Words: the static embedder's vectors of single words, and which of them stand in a text, remembered.

Every word's vector leans the same way, which makes strangers look alike: the mean over the vocabulary's whole words is taken
out of each. Remembered by digests, never as text: at most 65,536 words in eight bits a dimension (17 MB) and 32,768 texts as
numbers of words (about 12 MB); beyond that it begins anew.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from germane.embedders.static import Static
from germane.ports.words import SimilarWords
from germane.search.quantised import crossed, quantise, restored
from germane.text.analyse import worded

__all__ = ["Words"]

_MOST, _TEXTS = 65_536, 32_768
_READ, _WORDS = 2_000, 96
"""Of a text only so many characters, and so many words, are looked at."""
_NOTHING = [("", 0)]

T = TypeVar("T", np.int8, np.float32)


class _Kept(NamedTuple):
    """Where each word's vector stands, the vectors, and of each text its words' places and the hashes of their stems. Rows are
    written before they are spoken of, and never after."""

    places: dict[int, int]
    values: NDArray[np.int8]
    scales: NDArray[np.float32]
    texts: dict[int, NDArray[np.int64]]


class Words:
    def __init__(self, static: Static) -> None:
        self._static = static
        self._lock = threading.Lock()
        self._kept = _Kept({}, np.empty((0, static.dimension), np.int8), np.empty(0, np.float32), {})
        self._mean: NDArray[np.float32] | None = None

    def of(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Shape (len(words), dimension), unit length; zeros for what has none."""
        return restored(*self._rows(words))

    def kindred(self, texts: Sequence[str], words: Sequence[str]) -> SimilarWords:
        kept, keys = self._kept, list(map(hash, texts))
        if not kept.texts.keys() >= set(keys):
            kept = self._read(dict(zip(keys, texts, strict=True)), words)
        found = [kept.texts[key] for key in keys]
        places, stems = np.concatenate(found, axis=1)
        sizes = np.fromiter((one.shape[1] for one in found), np.intp, len(found))
        near = crossed(kept.values[places], kept.scales[places], *self._rows(words))
        return SimilarWords(near, stems, np.cumsum(sizes) - sizes)

    def _rows(self, words: Sequence[str]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        kept, keys = self._kept, list(map(hash, words))
        if not kept.places.keys() >= set(keys):
            with self._lock:
                kept = self._learn(dict(zip(keys, words, strict=True)))
        rows = np.array([kept.places[key] for key in keys], np.intp)
        return kept.values[rows], kept.scales[rows]

    def _read(self, texts: Mapping[int, str], words: Sequence[str]) -> _Kept:
        """What is kept, these texts among it; `words` are learnt beside theirs, as they are wanted next."""
        with self._lock:
            while True:
                kept = self._kept
                new = {key: worded(text[:_READ])[:_WORDS] or _NOTHING for key, text in texts.items() if key not in kept.texts}
                if len(kept.texts) + len(new) > max(_TEXTS, len(texts)):
                    self._kept = kept._replace(texts={})
                    continue
                said = {hash(word): word for pairs in new.values() for word, _ in pairs}
                learnt = self._learn(said | {hash(word): word for word in words})
                if learnt.texts is kept.texts:
                    break  # else the words have begun anew, and the texts with them
            for key, pairs in new.items():
                places = [learnt.places[hash(word)] for word, _ in pairs]
                learnt.texts[key] = np.array((places, [stem for _, stem in pairs]), np.int64)
            return learnt

    def _learn(self, words: Mapping[int, str]) -> _Kept:
        """Likewise, with the lock held."""
        kept = self._kept
        new = {key: word for key, word in words.items() if key not in kept.places}
        if not new:
            return kept
        places, values, scales, texts = kept
        if len(places) + len(new) > max(_MOST, len(new)):
            places, values, scales, texts, new = {}, values[:0], scales[:0], {}, dict(words)
        first, needed = len(places), len(places) + len(new)
        if len(values) < needed:
            spare = needed + needed // 2 + 1024
            values, scales = _grown(values, first, spare), _grown(scales, first, spare)
        values[first:needed], scales[first:needed] = quantise(self._made(list(new.values())))
        places.update(zip(new, range(first, needed), strict=True))
        self._kept = _Kept(places, values, scales, texts)
        return self._kept

    def _made(self, words: Sequence[str]) -> NDArray[np.float32]:
        if self._mean is None:
            self._mean = self._static.typical()
        vectors = self._static.embed_now(words)
        vectors -= self._mean * vectors.any(axis=1, keepdims=True)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        made: NDArray[np.float32] = np.divide(vectors, lengths, out=vectors, where=lengths > 0)
        return made


def _grown(array: NDArray[T], kept: int, size: int) -> NDArray[T]:
    grown = np.zeros((size, *array.shape[1:]), array.dtype)
    grown[:kept] = array[:kept]
    return grown
