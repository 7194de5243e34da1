"""Losses: their derivatives are right, and they have the properties that they document."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane_eval.fit.loss import Function, Problem, logistic, minimise, softmax
from support.examples import examples

LOSSES = [softmax, logistic]
_LITTLE = 1e-5


def problem(seed: int, *, lists: int = 3, size: int = 3) -> Problem:
    """Lists of 2 to 6 rows, with one or two relevant ones."""
    random = np.random.default_rng(seed)
    counts = random.integers(2, 7, lists)
    relevant = np.concatenate([random.permutation(count) < random.integers(1, 2 + (count > 2)) for count in counts])
    rows = len(relevant)
    return Problem(
        features=random.normal(size=(rows, size)),
        relevant=relevant,
        starts=np.cumsum(counts) - counts,
        offset=random.normal(size=rows),
        centre=random.normal(size=size),
        stiffness=random.random(size),
    )


@pytest.mark.parametrize("loss", LOSSES)
@examples(40)
@given(seed=st.integers(0, 10_000))
def test_gradient_and_hessian_are_those_of_the_value(loss: Callable[[Problem], Function], seed: int) -> None:
    """The expected values are central differences."""
    function = loss(problem(seed))
    point = np.random.default_rng(seed + 1).normal(size=3)
    _, gradient, hessian = function(point)
    for axis in range(3):
        step = np.eye(3)[axis] * _LITTLE
        ahead, behind = function(point + step), function(point - step)
        assert (ahead[0] - behind[0]) / (2 * _LITTLE) == pytest.approx(gradient[axis], rel=1e-4, abs=1e-5)
        assert (ahead[1] - behind[1]) / (2 * _LITTLE) == pytest.approx(hessian[axis], rel=1e-3, abs=1e-4)


def test_the_softmax_loss_doesnt_know_what_a_lists_candidates_have_in_common() -> None:
    """A constant added to every row of a list changes nothing: only the order is learnt."""
    given = problem(1)
    more = np.repeat([5.0, -3.0, 1.0], given.counts)
    point = np.ones(3)
    assert softmax(replace(given, offset=given.offset + more))(point)[0] == pytest.approx(softmax(given)(point)[0])


def test_a_list_counts_once_however_many_are_relevant() -> None:
    """Two lists of four equal scores, with one and with two relevant rows, have the same loss, ln 4."""
    one = Problem(
        features=np.zeros((8, 1)),
        relevant=np.array([1, 0, 0, 0, 1, 1, 0, 0], bool),
        starts=np.array([0, 4]),
        offset=np.zeros(8),
        centre=np.zeros(1),
        stiffness=np.zeros(1),
    )
    assert softmax(one)(np.zeros(1))[0] == pytest.approx(2 * np.log(4))


@pytest.mark.parametrize("loss", LOSSES)
def test_scores_of_any_size_overflow_nothing(loss: Callable[[Problem], Function]) -> None:
    """A numpy warning fails the test."""
    huge = replace(problem(2), offset=np.linspace(-5000, 5000, len(problem(2).relevant)))
    value, gradient, hessian = loss(huge)(np.ones(3))
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
    assert np.isfinite(hessian).all()


def test_the_penalty_pulls_towards_its_centre() -> None:
    """With almost no data the weights stay at the centre."""
    stiff = replace(problem(3), stiffness=np.full(3, 1e9))
    assert minimise(softmax(stiff), np.zeros(3)) == pytest.approx(stiff.centre, abs=1e-6)
