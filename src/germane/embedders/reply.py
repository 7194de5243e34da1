"""Reply: strict parsing of the response of an embeddings endpoint; error messages quote nothing of the response."""

from __future__ import annotations

import base64
import json

import numpy as np
from numpy.typing import NDArray

__all__ = ["read_vectors"]


def read_vectors(body: bytes, count: int) -> NDArray[np.float32]:
    """Returns unit-length vectors in the order of the inputs, shape (count, dimension); a zero vector stays zero.

    Entries are ordered by their `index` where they have one. Each `embedding` is a list of numbers, or base64 of little-endian
    float32. Raises `ValueError` for any other shape, for another number of entries, and for numbers that aren't finite.
    """
    try:
        data = json.loads(body)["data"]
        found = len(data)
        entries = enumerate(data[:count])  # reads no more entries than were requested
        by_index = {int(entry.get("index", position)): _vector(entry["embedding"]) for position, entry in entries}
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError) as error:
        raise ValueError(f"not the shape of the protocol ({type(error).__name__})") from None
    if found != count or by_index.keys() != set(range(count)):
        raise ValueError(f"{found} entries for {count} texts")
    if len({vector.size for vector in by_index.values()}) != 1 or not by_index[0].size:
        raise ValueError("vectors of different or no length")
    vectors = np.stack([by_index[index] for index in range(count)])
    with np.errstate(all="ignore"):
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise ValueError("numbers that aren't finite")
    unit = np.zeros(vectors.shape, dtype=np.float32)
    np.divide(vectors, lengths, out=unit, where=lengths > 0, casting="same_kind")
    return unit


def _vector(embedding: object) -> NDArray[np.float64]:
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").astype(np.float64)
    vector = np.array(embedding, dtype=np.float64)
    if vector.ndim != 1:
        raise ValueError("not a flat list")
    return vector
