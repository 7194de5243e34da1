"""The feature `neighbours` of kept candidates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from germane.search.relevance import COEFFICIENTS, shipped
from germane_eval.fit.candidates import NEIGHBOURS, neighbour_rows, rescore
from germane_eval.fit.fitting import Options, fit_column
from support.made_lists import candidates, columns_of, made


def test_neighbours_are_what_stands_next_in_the_session() -> None:
    """In whatever order it was found; what has no session has none."""
    one = candidates(np.zeros((5, 1)), [False] * 5, session=np.array([3, 3, 4, 3, -1]), position=np.array([7, 5, 6, 6, 5]))
    before, after = neighbour_rows(one)
    assert before[0].tolist() == [3, -1, -1, 1, -1]
    assert before[1].tolist() == [1, -1, -1, -1, -1]
    assert after[0].tolist() == [-1, 3, -1, 0, -1]


@pytest.mark.requirement("SCORE-2")
def test_each_model_gets_neighbours_by_its_own_probabilities() -> None:
    one = replace(made(1)[0], session=np.zeros(40, np.int64), position=np.arange(40))
    sure = replace(shipped(), intercepts=shipped().intercepts + 5)
    few, many = (rescore(one, model).table[:, NEIGHBOURS] for model in (shipped(), sure))
    assert (few < many).all()
    assert (rescore(rescore(one, sure), shipped()).table[:, NEIGHBOURS] == few).all()


def test_a_fit_learns_what_neighbours_tell() -> None:
    """Of each list one message has the words of the question, and the answer stands beside it, mostly."""
    lists, random = [], np.random.default_rng(1)
    for number in range(90):
        at, numbers = number % 19, np.arange(20)
        window = random.random(20) * 0.5 + (numbers == at)
        relevant = (numbers == at) | (numbers == (at + 1 if random.random() < 0.6 else random.integers(20)))
        places = {"session": np.zeros(20, np.int64), "position": numbers}
        lists.append(candidates(columns_of(window=window), relevant, conversation=f"c{number % 3}", **places))
    fitted = fit_column(lists, np.zeros(len(COEFFICIENTS)), Options())
    assert "neighbours" in fitted.fitted
    assert fitted.weights[NEIGHBOURS] > 0.1
    without = fit_column(lists, np.zeros(len(COEFFICIENTS)), Options(l2=1.0, without=frozenset({"neighbours"})))
    assert without.weights[NEIGHBOURS] == 0
