"""Request figures: means by category and person, and what they are means over."""

from __future__ import annotations

import pytest

from germane_eval.everyday import OPEN, RequestAnswer, request_figures

pytestmark = pytest.mark.requirement("EVAL-1")


def answer(
    category: str,
    found: bool | None,
    *,
    person: str = "nuno",
    budget: int = OPEN,
    standing: int = 100,
    new: int = 50,
    more: int = 0,
) -> RequestAnswer:
    return RequestAnswer(
        conversation=person,
        id=category,
        question="?",
        category=category,
        budget=budget,
        found=found,
        alone=found is False,
        standing=standing,
        new=new,
        profile=20,
        searched=new - 20,
        items=1 + more,
        searched_items=more,
    )


def test_found_and_what_stands_are_of_requests_that_need_something_and_new_tokens_of_every_turn() -> None:
    """Over all, and over a person; a category has means over its own requests."""
    asked = [
        answer("self", True),
        answer("self", False, standing=300),
        answer("none", None, standing=700, new=20, person="rosa"),
        answer("none", None, standing=700, new=200, more=2),
    ]
    by = {(one.by, one.name): one for one in request_figures(asked)}
    whole = by["all", ""]
    assert (whole.count, whole.found, whole.alone, whole.standing, whole.profile) == (2, 0.5, 0.5, 200, 20)
    assert (whole.new, whole.searched, whole.items, whole.searched_items) == (80, 60, 1.0, 0.25)
    none = by["category", "none"]
    assert (none.count, none.found, none.standing, none.new, none.searched_items) == (2, None, 700, 110, 0.5)
    assert (by["person", "nuno"].count, by["person", "nuno"].standing) == (2, 200)
    assert (by["person", "rosa"].found, by["person", "rosa"].standing) == (None, 700)


def test_each_budget_has_figures_of_its_own_and_none_comes_first() -> None:
    """Without a budget, then the smaller one."""
    asked = [answer("self", at == 500, budget=at) for at in (500, OPEN, 250)]
    found = request_figures(asked)
    assert [(one.budget, one.found) for one in found if one.by == "all"] == [(OPEN, 0.0), (250, 0.0), (500, 1.0)]


def test_few_requests_get_no_interval_and_no_requests_no_figures() -> None:
    """Five are enough."""
    assert request_figures([]) == ()
    assert request_figures([answer("self", True)] * 4)[0].low is None
    few = request_figures([*[answer("self", True)] * 4, answer("self", False)])[0]
    assert few.low is not None
    assert few.high is not None
    assert few.low < 0.8 < few.high
