"""P(need) of a request: from what was searched for, not from what is there anyway."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.api.strategies import DEFAULT
from germane.search.relevance import shipped
from germane.stages.score.score import assess_need, score
from germane.types.budget import Need
from germane.types.candidate import Candidate
from germane.types.evidence import Evidence, Unread
from germane_testing.builders import MOMENT, candidate
from support.gather_stubs import asking

pytestmark = pytest.mark.requirement("NEED-1")
SIGNAL = st.floats(0, 1)
FOUND = st.lists(st.tuples(SIGNAL, SIGNAL, st.none() | SIGNAL), max_size=12)


def made(found: list[tuple[float, float, float | None]], **fields: Any) -> list[Candidate]:
    return [
        candidate(f"text {at}", evidence=Evidence(own=own, window=window, cos_own=cosine, cos_window=cosine), **fields)
        for at, (own, window, cosine) in enumerate(found)
    ]


def need(*candidates: Candidate, threshold: float = 0.15, **fields: Any) -> Need:
    ranked = score(candidates, DEFAULT, MOMENT, shipped())
    return assess_need(ranked, asking(**fields), shipped(), threshold).need


@given(FOUND, st.integers(0, 5), st.sampled_from(["structured", "continuity", "history", "recent", "outline"]))
def test_what_no_search_found_does_not_raise_it(found: Any, count: int, source: str) -> None:
    """Pinned memories, the session's own messages and an outline are there whatever is asked."""
    evidence = Evidence() if source == "continuity" else Evidence()._replace(**{source: 1.0})
    required = source in ("structured", "continuity")
    given_anyway = [candidate(f"there {at}", source=source, required=required, evidence=evidence) for at in range(count)]
    assert need(*made(found), *given_anyway) == need(*made(found))
    assert need(*given_anyway) == Need(0.0, 0.15)


@given(FOUND, st.integers(0, 5))
def test_what_is_only_brought_beside_another_item_says_nothing(found: Any, count: int) -> None:
    """What makes a message outdated is offered with it, whatever the request. No search compared it with anything: it has no
    cosine, and would be judged as in a store without vectors."""
    beside = [candidate(f"newer {number}", evidence=Evidence(assistant=number % 2)) for number in range(count)]
    assert need(*made(found), *beside) == need(*made(found))


@given(FOUND, FOUND)
def test_what_is_pinned_and_was_found_too_does_not_raise_it(found: Any, there: Any) -> None:
    """It goes in anyway: what the request needs besides is another question."""
    pinned = [
        one._replace(source="structured", also=("memories",), required=True, evidence=one.evidence._replace(structured=1.0))
        for one in made(there)
    ]
    assert need(*made(found), *pinned) == need(*made(found))


@given(FOUND, st.floats(-20, 20))
def test_where_all_that_was_read_goes_in_anyway_the_best_unread_result_tells(there: Any, log_odds: float) -> None:
    pinned = made(there, source="structured", required=True)
    ranked = score(pinned, DEFAULT, MOMENT, shipped())
    unread = [Unread("m1", "memories", log_odds - step, 20) for step in range(3)]
    found = assess_need(ranked, asking(), shipped(), 0.15, unread).need
    assert found.probability == pytest.approx(unread[0].probability)


@given(FOUND, SIGNAL, SIGNAL)
def test_that_a_message_is_recent_does_not_raise_it(found: Any, history: float, recent: float) -> None:
    """Every request has messages before it."""
    late = [candidate(one.text, evidence=Evidence(own=one.evidence.own, history=history, recent=recent)) for one in made(found)]
    plain = [candidate(one.text, evidence=Evidence(own=one.evidence.own)) for one in made(found)]
    assert need(*late).probability == pytest.approx(need(*plain).probability)


@given(FOUND)
def test_it_is_at_least_the_relevance_of_the_best(found: Any) -> None:
    """What is relevant is needed."""
    ranked = score(made(found), DEFAULT, MOMENT, shipped())
    best = max((one.breakdown.relevance for one in ranked if one.candidate.evidence.searched), default=0.0)
    assert best - 1e-9 <= assess_need(ranked, asking(), shipped(), 0.15).need.probability <= 1


@given(FOUND)
def test_a_threshold_of_zero_is_always_met(found: Any) -> None:
    assert need(*made(found), threshold=0.0) == Need(1.0, 0.0)


def test_terms_borrowed_from_earlier_turns_are_not_the_requests_own() -> None:
    """A short reply says little, whatever was talked about before."""
    found = made([(0.2, 0.2, 0.1)])
    text = "kayak garden winter river boat"
    assert need(*found, text=text, borrowed=5).probability < need(*found, text=text).probability
