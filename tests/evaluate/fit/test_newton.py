"""Newton: the minimum of a smooth convex function."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane_eval.fit.loss import minimise
from support.examples import examples


@examples(50)
@given(st.integers(0, 10_000), st.integers(1, 6))
def test_a_quadratic_takes_one_step_to_its_minimum(seed: int, size: int) -> None:
    """½ xᵀAx − bᵀx has its minimum where Ax = b."""
    random = np.random.default_rng(seed)
    root = random.normal(size=(size, size))
    curve, pull = root @ root.T + np.eye(size), random.normal(size=size)
    calls = 0

    def function(x: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        nonlocal calls
        calls += 1
        return float(0.5 * x @ curve @ x - pull @ x), curve @ x - pull, curve

    assert minimise(function, np.zeros(size)) == pytest.approx(np.linalg.solve(curve, pull), abs=1e-6)
    assert calls <= 4


def test_a_step_that_overshoots_is_shortened() -> None:
    """Full Newton steps on ln cosh diverge from 3."""

    def function(x: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        return float(np.logaddexp(x[0], -x[0])), np.tanh(x), np.diag(1 / np.cosh(x) ** 2)

    assert minimise(function, np.array([3.0])) == pytest.approx([0.0], abs=1e-4)


def test_a_flat_function_leaves_the_start_alone() -> None:
    """Without gradient and curvature no step gains anything."""

    def function(x: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        return 1.0, np.zeros(2), np.zeros((2, 2))

    assert minimise(function, np.array([1.0, 2.0])).tolist() == [1.0, 2.0]
