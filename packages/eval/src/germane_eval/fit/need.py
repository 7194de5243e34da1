"""Need: fits P(need) to questions that need memory and to requests that don't, cross-validated by conversation (NEED-1).

Requests that don't are the turns that come with germane, and in everyday data those without evidence. The questions of each
data set weigh together as much as both, so P(need) assumes that every second request needs memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.search.relevance import NEED_FEATURES, NEED_ROWS, Asked, Relevance, need_features, sigmoid
from germane_eval.fit.candidates import Candidates, rescore
from germane_eval.fit.loss import minimise

Floats = NDArray[np.float64]
_L2 = 5.0
NEED_THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5)


class GroupReach(NamedTuple):
    """A group of requests: the percentage that reaches each threshold, by the old model (`before`) and, held out, by the new
    one. `group` is `questions`, `turns` (those that come with germane), or a category of the data set."""

    dataset: str
    group: str
    needed: bool
    requests: int
    before: Sequence[float]
    held_out: Sequence[float]

    @property
    def label(self) -> str:
        """The group, with a mark at a category of requests that need nothing."""
        return self.group if self.needed or self.group == "turns" else f"{self.group}, no need"


class NeedFit(NamedTuple):
    """Coefficients of one column, and for several thresholds, held out: the percentage of requests without need that reach it,
    and of questions that don't."""

    table: Mapping[str, float]
    questions: int
    turns: int
    thresholds: Sequence[tuple[float, float, float]]
    groups: Sequence[GroupReach]
    """By data set: its questions, its categories, and the turns."""


def fit_need(lists: Sequence[Candidates], relevance: Relevance, *, lexical: bool, old: Relevance) -> NeedFit | None:
    """Fits the column with vectors or (`lexical`) without. Returns None where there are no questions or no turns for it. The
    probabilities of `relevance` are those that the fitted model will see; `old` is compared with."""
    chosen = [one for one in lists if one.keywords == lexical and len(one)]
    needed = np.array([one.needed for one in chosen], np.bool_)
    if not needed.any() or needed.all():
        return None
    tables = [_best(one, relevance) for one in chosen]
    asked = [Asked(one.terms, one.words, one.asks, one.personal) for one in chosen]
    rows = np.array([need_features(*best, about) for best, about in zip(tables, asked, strict=True)])
    weights = _weights(chosen)
    names = [(one.dataset, one.conversation) for one in chosen]
    odds = np.zeros(len(chosen))
    for name in dict.fromkeys(names):
        held = np.array([other == name for other in names])
        learnt = held if held.all() else ~held
        coefficients, intercept = _fit(rows[learnt], needed[learnt], weights[learnt])
        odds[held] = rows[held] @ coefficients + intercept
    best = np.array([found[0] for _, found in tables])
    probability = 1 - 1 / (1 + np.exp(odds)) / (1 + np.exp(best))
    coefficients, intercept = _fit(rows, needed, weights)
    table = {"intercept": intercept} | dict(zip(NEED_FEATURES, coefficients.tolist(), strict=True))
    without, needing = probability[~needed], probability[needed]
    reached = [(at, 100 * float((without >= at).mean()), 100 * float((needing < at).mean())) for at in NEED_THRESHOLDS]
    before = np.array([old.need.probability(*_best(one, old), about) for one, about in zip(chosen, asked, strict=True)])
    return NeedFit(table, int(needed.sum()), int((~needed).sum()), reached, _groups(chosen, before, probability))


def _groups(lists: Sequence[Candidates], before: Floats, after: Floats) -> list[GroupReach]:
    members: dict[tuple[str, str, bool], list[int]] = {}
    for row, one in enumerate(lists):
        whole = "questions" if one.needed else "turns" if one.shipped else ""
        own = "" if one.shipped else one.category
        for group in dict.fromkeys(filter(None, (whole, own))):
            members.setdefault((one.dataset, group, one.needed), []).append(row)
    return [
        GroupReach(*key, len(rows), _reaching(before[rows]), _reaching(after[rows]))
        for key, rows in sorted(members.items(), key=lambda entry: (entry[0][0], not entry[0][2]))
    ]


def _reaching(probability: Floats) -> list[float]:
    return [100 * float((probability >= at).mean()) for at in NEED_THRESHOLDS]


def _best(one: Candidates, relevance: Relevance) -> tuple[Floats, Floats]:
    one = rescore(one, relevance)
    odds = relevance.log_odds(one.table)
    order = np.argsort(-odds, kind="stable")[:NEED_ROWS]
    return one.table[order], odds[order]


def _weights(lists: Sequence[Candidates]) -> Floats:
    """1 for each request without need; the questions of a data set weigh together as much as these."""
    counts = Counter((one.dataset, one.needed) for one in lists)
    share = {name: max(1, counts[name, False]) / max(1, counts[name, True]) for name, _ in counts}
    return np.array([share[one.dataset] if one.needed else 1.0 for one in lists])


def _fit(rows: Floats, needed: NDArray[np.bool_], weights: Floats) -> tuple[Floats, float]:
    """A weighted logistic regression on standardised features: the coefficients of the plain features, and the intercept."""
    middle, spread = rows.mean(axis=0), rows.std(axis=0)
    spread[spread < 1e-9] = 1.0
    features = np.column_stack(((rows - middle) / spread, np.ones(len(rows))))
    stiffness = np.full(features.shape[1], _L2)
    stiffness[-1] = 1e-6

    def loss(point: Floats) -> tuple[float, Floats, Floats]:
        scores = features @ point
        likely = sigmoid(scores)
        value = float(weights @ (np.logaddexp(0.0, scores) - needed * scores) + stiffness @ point**2 / 2)
        slope = features.T @ (weights * (likely - needed)) + stiffness * point
        curve = (features * (weights * likely * (1 - likely))[:, None]).T @ features + np.diag(stiffness)
        return value, slope, curve

    found = minimise(loss, np.zeros(features.shape[1]))
    coefficients = found[:-1] / spread
    return coefficients, float(found[-1] - coefficients @ middle)
