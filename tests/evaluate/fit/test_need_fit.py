"""Need fit: P(need) fitted to made lists, and what each threshold lets through of each group."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from germane.search.relevance import shipped
from germane_eval.fit.candidates import Candidates
from germane_eval.fit.need import NEED_THRESHOLDS, NeedFit, fit_need
from support.made_lists import candidates, columns_of

pytestmark = pytest.mark.requirement("NEED-1")


def request(number: int, person: str, *, needed: bool, **given: Any) -> Candidates:
    """Three candidates; those of a request that needs memory are closer to it. Cosines exist, so vectors found them."""
    random = np.random.default_rng(number)
    near = random.normal(0.5 if needed else 0.1, 0.05, 3)
    table = columns_of(cos_own=near, cos_window=near, own=10 * near, window=10 * near)
    relevant = [needed, False, False]
    return candidates(table, relevant, conversation=person, question=f"q{number}", needed=needed, **given)


def everyday() -> list[Candidates]:
    """Of each of four people six requests that need memory, two that need none, and four of the turns that come along."""
    found = []
    for at, person in enumerate(("ana", "ben", "cai", "dot")):
        found += [request(100 * at + n, person, needed=True, category=("self", "day")[n % 2]) for n in range(6)]
        found += [request(100 * at + 10 + n, person, needed=False, category="none") for n in range(2)]
        found += [request(100 * at + 20 + n, person, needed=False, category="thanks", shipped=True) for n in range(4)]
    return found


def fitted(lists: list[Candidates]) -> NeedFit:
    fit = fit_need(lists, shipped(), lexical=False, old=shipped())
    assert fit is not None
    return fit


def test_requests_without_evidence_teach_as_the_turns_that_come_along_do() -> None:
    """Both count as requests without need; who is held out is told apart from who is learnt from."""
    fit = fitted(everyday())
    assert (fit.questions, fit.turns) == (24, 24)
    at, turns, lost = fit.thresholds[-1]
    assert (at, lost) == (0.5, 0.0)
    assert turns < 10


def test_each_group_is_told_before_and_held_out() -> None:
    """A data set's questions, its categories, those of them that need nothing, and the turns; not the kinds of turns."""
    groups = {one.label: one for one in fitted(everyday()).groups}
    assert list(groups) == ["questions", "self", "day", "none, no need", "turns"]
    assert {one.dataset for one in groups.values()} == {"made"}
    assert [one.requests for one in groups.values()] == [24, 12, 12, 8, 16]
    questions, none = groups["questions"], groups["none, no need"]
    assert len(questions.before) == len(questions.held_out) == len(NEED_THRESHOLDS)
    assert questions.held_out[-1] == 100.0
    assert none.held_out[-1] < 20
    assert list(none.held_out) == sorted(none.held_out, reverse=True)


def test_a_fit_needs_questions_and_requests_without_need() -> None:
    """And lists that were found with vectors, for the column with vectors."""
    lists = everyday()
    assert fit_need([one for one in lists if one.needed], shipped(), lexical=False, old=shipped()) is None
    assert fit_need([one for one in lists if not one.needed], shipped(), lexical=False, old=shipped()) is None
    assert fit_need(lists, shipped(), lexical=True, old=shipped()) is None


def test_nobody_is_judged_by_a_model_that_knew_them() -> None:
    """One person's requests look like the others' turns: held out, they are all taken for such."""
    odd = [request(n, "eve", needed=False, category="none") for n in range(900, 912)]
    strange = [
        candidates(one.table, [True, False, False], conversation="eve", question=one.question, needed=True, category="odd")
        for one in odd
    ]
    groups = {one.label: one for one in fitted([*everyday(), *strange]).groups}
    assert groups["odd"].held_out[-1] < 50
