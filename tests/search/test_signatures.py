"""Signatures: what is near is found, what was dropped isn't."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from germane.search.quantised import Signatures, quantise

DIMENSION = 256


def unit_vectors(count: int, seed: int) -> NDArray[np.float32]:
    rows = np.random.default_rng(seed).standard_normal((count, DIMENSION)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def at_cosine(vectors: NDArray[np.float32], cosine: float) -> NDArray[np.float32]:
    """Vectors with this cosine to `vectors`, row by row."""
    noise = unit_vectors(len(vectors), 9)
    noise -= (noise * vectors).sum(1, keepdims=True) * vectors
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    return np.asarray(cosine * vectors + np.sqrt(1 - cosine**2) * noise, np.float32)


def test_of_a_thousand_near_vectors_all_but_a_few_are_found() -> None:
    """At the threshold itself; nearer ones are found more surely."""
    vectors, signatures = unit_vectors(1000, 1), Signatures(DIMENSION)
    signatures.add(np.arange(1000), signatures.sign(quantise(vectors)[0]))
    found = signatures.near(signatures.sign(quantise(at_cosine(vectors, 0.92))[0]), 8)
    assert sum(row in near for row, near in enumerate(found)) >= 995
    assert sum(map(len, found)) <= 1010


def test_the_nearest_come_first_and_no_more_than_asked_for() -> None:
    """However many are near."""
    (vector,), signatures = unit_vectors(1, 2), Signatures(DIMENSION)
    copies = np.stack([at_cosine(vector[None], cosine)[0] for cosine in (0.93, 0.99, 0.95, 1.0)])
    signatures.add(np.arange(4), signatures.sign(quantise(copies)[0]))
    (near,) = signatures.near(signatures.sign(quantise(vector[None])[0]), 2)
    assert near.tolist() == [3, 1]


def test_what_was_dropped_is_not_found() -> None:
    """Nothing of it is left; the others are found as before."""
    vectors, signatures = unit_vectors(3, 3), Signatures(DIMENSION)
    bits = signatures.sign(quantise(vectors)[0])
    signatures.add(np.array([5, 6, 7]), bits)
    signatures.drop([6, 99])
    assert [near.tolist() for near in signatures.near(bits, 8)] == [[5], [], [7]]
    assert len(signatures) == 2


def test_all_signatures_of_a_dimension_share_their_planes() -> None:
    """They are made once: each partition has signatures of its own, and each transaction too."""
    one, other = Signatures(DIMENSION)._planes, Signatures(DIMENSION)._planes
    assert one is other
    assert not any(array.flags.writeable for array in one)
    assert Signatures(64)._planes[0].shape == (256, 64)
