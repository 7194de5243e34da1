"""Vectors in eight bits: their precision, and blobs that are no vectors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from germane.search import quantised
from germane.search.quantised import decode, dequantise, dot_matrix, dots, encode, quantise, row_dots


def unit_rows(seed: int, count: int = 20, dimension: int = 256) -> NDArray[np.float32]:
    rows = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


@given(st.integers(0, 2**32 - 1))
def test_a_component_is_kept_to_half_a_step(seed: int) -> None:
    """A step is the largest component over 127."""
    rows = unit_rows(seed)
    values, scales = decode(encode(rows), 256)
    assert (np.abs(dequantise(values, scales) - rows) <= scales[:, None] * 0.5001).all()


@given(st.integers(0, 2**32 - 1))
def test_a_cosine_is_kept_to_two_digits_and_more(seed: int) -> None:
    """Within 0.005 of the exact one, whichever of the two ways it is multiplied."""
    rows = unit_rows(seed)
    values, scales = decode(encode(rows), 256)
    assert dots(values, scales, rows[0]) == pytest.approx(rows @ rows[0], abs=0.005)


@pytest.mark.parametrize("dimension", [1, 3, 63, 100, 256, 384, 1536])
@pytest.mark.parametrize("count", [1, 17, 1000])
def test_without_kernels_numpy_gives_the_same(dimension: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A platform without a wheel is slower, not wrong; of any dimension, and of any number of vectors."""
    rows = unit_rows(1, count, dimension)
    values, scales = decode(encode(rows), dimension)
    quick = dots(values, scales, rows[0])
    monkeypatch.setattr(quantised, "_KERNELS", None)
    assert dots(values, scales, rows[0]) == pytest.approx(quick, abs=1e-6)


@pytest.mark.parametrize("dimension", [1, 3, 63, 100, 256, 384, 1536])
@pytest.mark.parametrize("count", [0, 1, 17, 1000])
def test_products_of_rows_are_exact_with_and_without_kernels(
    dimension: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Integers, so that no rounding and no overflow may show; also of the largest values."""
    generator = np.random.default_rng(dimension)
    values, others = generator.integers(-127, 128, (2, count, dimension), np.int8)
    values[:1], others[:1] = 127, -127
    wanted = (values.astype(np.int64) * others).sum(axis=1).tolist()
    assert row_dots(values, others).tolist() == wanted
    monkeypatch.setattr(quantised, "_KERNELS", None)
    assert row_dots(values, others).tolist() == wanted


def test_what_is_no_vector_of_this_dimension_has_no_scale() -> None:
    """None, zeros, and a vector of another model."""
    zero, other = encode(np.zeros((1, 4)))[0], encode(np.ones((1, 5)))[0]
    _, scales = decode([None, zero, other, encode(np.ones((1, 4)))[0]], 4)
    assert (scales > 0).tolist() == [False, False, False, True]


def test_a_query_of_nothing_is_near_nothing() -> None:
    values, scales = decode(encode(unit_rows(1)), 256)
    assert not dots(values, scales, np.zeros(256, np.float32)).any()


def test_each_is_multiplied_with_each() -> None:
    """As one by one; of none there is none."""
    rows, others = unit_rows(1, 50), unit_rows(2, 3)
    found = dot_matrix(*quantise(rows), *quantise(others))
    assert found == pytest.approx(rows @ others.T, abs=0.005)
    assert found[:, 1] == pytest.approx(dots(*quantise(rows), others[1]), abs=1e-6)
    assert dot_matrix(*quantise(rows[:0]), *quantise(others)).shape == (0, 3)
