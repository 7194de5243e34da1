"""Request compare: pairs two reports over the same requests of the same people."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

import numpy as np
from numpy.typing import NDArray

from germane.errors import InvalidInput
from germane.evaluate.comparison import Changed, Comparison, Difference, paired
from germane.evaluate.everyday.talk import RequestAnswer
from germane.evaluate.interval import resampling_groups
from germane.evaluate.metric import REQUEST
from germane.evaluate.report import Report

__all__ = ["compare_requests"]

_Pair = tuple[RequestAnswer, RequestAnswer]


def compare_requests(a: Report, b: Report, seed: int = 0) -> Comparison:
    """Compares b with a over the requests that both were asked, without a budget and within those that both have. What changed
    is told without a budget, where both measured that, the requests that are lost first. Raises `InvalidInput` where they have
    no request in common, or differ in how many share a conversation."""
    if a.run.talk != b.run.talk:
        raise InvalidInput("in one of the two reports more requests share a conversation: measure both with the same --talk")
    of_b = {(answer.conversation, answer.id, answer.budget): answer for answer in b.asked_requests}
    pairs = [
        (answer, of_b[key]) for answer in a.asked_requests if (key := (answer.conversation, answer.id, answer.budget)) in of_b
    ]
    if not pairs:
        raise InvalidInput("the two reports have no question in common: measure both on the same data")
    budgets = sorted({one.budget for one, _ in pairs})
    first = [pair for pair in pairs if pair[0].budget == budgets[0]]
    differences: list[Difference] = []
    for budget in budgets:
        within = [pair for pair in pairs if pair[0].budget == budget]
        for category in ["", *sorted({one.category for one, _ in within if one.category})]:
            chosen = [pair for pair in within if category in ("", pair[0].category)]
            differences += _differences(chosen, a.run.clocks[0], category, budget, seed)
    changed = [_changed(one, two) for one, two in first if one.found != two.found]
    everyone = {(answer.conversation, answer.id) for report in (a, b) for answer in report.asked_requests}
    return Comparison(
        a=a,
        b=b,
        differences=tuple(differences),
        changed=tuple(sorted(changed, key=lambda change: change.b - change.a)),
        budget=budgets[0],
        matched=len(first),
        unmatched=len(everyone) - len(first),
        resampled="questions",
    )


def _differences(pairs: Sequence[_Pair], clock: str, category: str, budget: int, seed: int) -> list[Difference]:
    of_a, of_b = (_values([pair[side] for pair in pairs]) for side in (0, 1))
    columns = [(metric.name, budget) for metric in REQUEST]
    drawn = resampling_groups([""] * len(pairs), whole=False)
    return paired(of_a, of_b, columns, drawn, clock=clock, category=category, seed=seed)


def _values(answers: Sequence[RequestAnswer]) -> NDArray[np.float64]:
    """A row for each answer, a column for each metric of `REQUEST`."""
    return np.array([_row(answer) for answer in answers], dtype=np.float64)


def _row(answer: RequestAnswer) -> list[float]:
    needless = float(answer.searched_items > 0) if answer.found is None else nan
    found, alone = (nan, nan) if answer.found is None else (float(answer.found), float(answer.alone))
    return [found, alone, needless, answer.standing, answer.new]


def _changed(a: RequestAnswer, b: RequestAnswer) -> Changed:
    return Changed(
        conversation=a.conversation,
        id=a.id,
        question=a.question,
        category=a.category,
        a=float(bool(a.found)),
        b=float(bool(b.found)),
    )
