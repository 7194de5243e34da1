"""Without time to score, the sources' own order stands."""

from __future__ import annotations

import pytest

from germane.stages.score.score import in_source_order
from germane_testing.builders import candidate


@pytest.mark.requirement("ENGINE-12")
def test_sources_take_turns_each_in_its_own_order_and_what_is_required_goes_first() -> None:
    found = [candidate(text, source=text[0]) for text in ("a1", "a2", "a3", "b1", "b2")]
    found.append(candidate("p", source="p", required=True))
    ordered = in_source_order(found)
    assert [one.candidate.text for one in ordered] == ["p", "a1", "b1", "a2", "b2", "a3"]
    assert [one.rank for one in ordered] == [1, 2, 3, 4, 5, 6]
    assert {one.score for one in ordered} == {0.0}


@pytest.mark.requirement("ENGINE-12")
def test_nothing_found_is_nothing_ordered() -> None:
    assert in_source_order(()) == ()
