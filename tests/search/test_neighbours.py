"""The probabilities of the units around a unit."""

from __future__ import annotations

from math import log, log1p

import numpy as np
import pytest

from germane.search.features import STEPS
from germane.search.find import find
from germane.search.partition import Partition
from germane.search.relevance import Relevance, links, neighbours
from germane.search.snapshot import take_snapshot
from germane.types.evidence import FEATURES
from support.plain_units import Text, asking, held

_FAINT = 1e-3


def around(partition: Partition, rows: list[int], probability: list[float]) -> list[float]:
    odds = np.array([log(p / (1 - p)) for p in probability])
    wanted = np.array(rows, np.intp)
    near = links(take_snapshot(partition, partition.columns.rows).walk(wanted, STEPS), wanted)
    found: list[float] = (np.expm1(neighbours(near, odds)) * _FAINT).tolist()
    return found


def line(count: int, *, session: int = 1, first: int = 0) -> list[Text]:
    return [Text(key=first + n, session=session, at=float(first + n), words=("ash",)) for n in range(count)]


@pytest.mark.requirement("SCORE-2")
def test_a_unit_counts_less_with_every_step() -> None:
    """Up to four before and after; a unit doesn't count for itself. The order of the rows decides nothing."""
    rows, nothing = [5, 0, 1, 2, 3, 4, 6, 7, 8, 9, 10], 1e-12
    found = around(held([line(11)]), rows, [0.5, *[nothing] * 10])
    by_row = dict(zip(rows, found, strict=True))
    wanted = [0, 0.1, 0.2, 0.35, 0.5, 0, 0.5, 0.35, 0.2, 0.1, 0]
    assert [by_row[row] for row in range(11)] == pytest.approx(wanted, abs=1e-9)


def test_other_sessions_and_what_was_not_looked_at_count_nothing() -> None:
    """A row that the caller may not see is never looked at."""
    partition = held([[*line(3), *line(3, session=2, first=3)]])
    assert around(partition, [2, 3], [0.5, 0.5]) == [0, 0]
    assert around(partition, [0, 2], [0.5, 0.25]) == pytest.approx([0.7 * 0.25, 0.7 * 0.5])


@pytest.mark.requirement("SCORE-2")
def test_a_search_judges_by_the_neighbours_last() -> None:
    """The first pass's probability is the model's own, without this feature."""
    tables = {
        column: {"intercept": -2.0, "own": 3.0, "neighbours": 1.0}
        for column in ("people", "people_lexical", "assistant", "assistant_lexical")
    }
    model = Relevance.parse(tables)
    partition = held(
        [[Text(key=1, words=("ash",)), Text(key=2, at=1.0, words=("elm",)), Text(key=3, session=2, words=("oak",))]]
    )
    found = find(
        [partition], asking("ash"), 5, keywords=True, vector=None, speakers={}, at=0, stop=lambda: False, relevance=model
    ).found
    first, second = (match.features for match in found)
    at, own = FEATURES.index("neighbours"), FEATURES.index("own")
    assert second[at] == pytest.approx(log1p(1 / (1 + np.exp(2 - 3 * first[own])) / _FAINT))
    assert first[at] == pytest.approx(log1p(1 / (1 + np.exp(2.0)) / _FAINT))
