"""Feedback: marks on shown items, and a model that is moved by them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from germane.errors import InvalidInput
from germane.types.candidate import Breakdown, Chosen, Scored
from germane.types.evidence import Evidence
from germane.types.trace import Trace
from germane_eval.fit.feedback import Marked, MarkedItem, adapt, label, line, marked_lines
from germane_eval.fit.fitting import shipped_tables
from germane_testing.builders import candidate


def trace(*evidence: Evidence, required: bool = False) -> Trace:
    """A trace that shows c0 as a1, c1 as a2 and so on."""
    parts = Breakdown(relevance=0.1, recency=0, usefulness=0.5, confidence=0.8, frequency=0)
    chosen = [
        Chosen(
            scored=Scored(
                candidate=candidate(f"text {number}", id=f"c{number}", evidence=one, required=required),
                score=0.1,
                log_odds=-2.0,
                breakdown=parts,
            ),
            text="text",
            tokens=5,
            handle=f"a{number + 1}",
        )
        for number, one in enumerate(evidence)
    ]
    return Trace(strategy="default", model="any", tokenizer="o200k", chosen=tuple(chosen))


def marked(*rows: tuple[float, str]) -> Marked:
    """Items with these window scores and marks, each with a vector."""
    shown = [
        MarkedItem(id=str(number), evidence=Evidence(window=window, cos_window=0.2), mark=mark)  # type: ignore[arg-type]
        for number, (window, mark) in enumerate(rows)
    ]
    return Marked(shown=tuple(shown))


def test_items_are_marked_by_id_or_by_handle() -> None:
    found = label(trace(Evidence(own=1), Evidence(), Evidence(own=0.5)), helpful=["c0"], harmful=["a3"])
    assert [one.mark for one in found.shown] == ["helpful", "", "harmful"]
    assert found.marks == 2


@pytest.mark.parametrize(("helpful", "harmful", "said"), [(["zz"], [], "zz"), (["c0"], ["c0"], "both|as helpful and")])
def test_marks_that_cannot_be_are_refused_by_name(helpful: list[str], harmful: list[str], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        label(trace(Evidence()), helpful=helpful, harmful=harmful)


def test_what_was_shown_for_another_reason_teaches_nothing_of_likeness() -> None:
    """Pinned, running-session and recent items are left out."""
    reasons = trace(Evidence(history=0.5), Evidence(recent=1.0), Evidence(structured=1.0), Evidence(own=1.0))
    assert [one.id for one in label(reasons, helpful=["c0"]).shown] == ["c3"]
    assert label(trace(Evidence(own=1), required=True), helpful=["c0"]).shown == ()


def test_a_line_holds_numbers_and_no_text() -> None:
    """A line can be read back unchanged, with missing cosines."""
    found = label(trace(Evidence(own=0.5, cos_window=0.0), Evidence(speaker=1)), helpful=["c1"])
    written = line(found)
    assert "text" not in written
    assert "\n" not in written
    assert marked_lines(f"{written}\n\n{written}\n") == [found, found]


@pytest.mark.parametrize(
    "broken",
    ["{", "[]", '{"type": "other"}', '{"type": "germane-feedback", "shown": [{"id": 1}]}',
     '{"type": "germane-feedback", "shown": [{"id": "1", "evidence": {"own": "x"}}]}',
     '{"type": "germane-feedback", "shown": [{"id": "1", "mark": "fine", "evidence": {}}]}',
     '{"type": "germane-feedback", "shown": [{"id": "1", "evidence": {"own": NaN}}]}'],
)  # fmt: skip
def test_a_line_that_is_none_is_refused_by_number(broken: str) -> None:
    with pytest.raises(InvalidInput, match="line 2"):
        marked_lines(f"{line(marked((0.5, 'helpful')))}\n{broken}")


def test_evidence_of_another_version_is_refused_by_name() -> None:
    text = json.dumps({"type": "germane-feedback", "shown": [{"id": "1", "evidence": {"charm": 1.0}}]})
    with pytest.raises(InvalidInput, match="charm"):
        marked_lines(text)


@pytest.mark.requirement("SCORE-2")
def test_a_handful_of_marks_changes_next_to_nothing_and_many_have_the_last_word() -> None:
    """In this feedback the items with the fewest common words are always the helpful ones."""
    old = shipped_tables()
    wrong = marked((0.1, "helpful"), (0.5, ""), (0.9, ""))
    few, _ = adapt([wrong] * 3, old)
    many, learnt = adapt([wrong] * 2000, old)
    assert few["people"]["window"] == pytest.approx(old["people"]["window"], rel=0.15)
    assert many["people"]["window"] < 0
    assert learnt == {"people": 2000}


def test_only_what_was_learnt_from_moves() -> None:
    """Intercepts, other columns and weights set by hand stay as they are."""
    old = shipped_tables()
    new, _ = adapt([marked((0.9, ""), (0.1, "helpful"))] * 500, old)
    assert {name for name in old if new[name] != old[name]} == {"people"}
    assert {key for key in old["people"] if new["people"][key] != old["people"][key]} == {"window"}


def test_the_harmful_goes_below_the_unmarked() -> None:
    """Harmful marks move weights as helpful ones do, in the other direction."""
    old = shipped_tables()
    new, learnt = adapt([marked((0.9, "harmful"), (0.1, ""))] * 500, old)
    assert new["people"]["window"] < old["people"]["window"]
    assert learnt == {"people": 500}


def test_a_feature_that_hardly_varies_among_what_was_shown_hardly_moves() -> None:
    """A difference of a thousandth in a few helpful items doesn't change a weight."""
    old = shipped_tables()
    new, _ = adapt([marked((0.501, "helpful"), (0.5, ""))] * 20, old)
    assert new["people"]["window"] == pytest.approx(old["people"]["window"], abs=0.05)


@pytest.mark.parametrize("marks", [("", ""), ("helpful", "helpful"), ("harmful", "harmful")])
def test_where_all_are_marked_alike_there_is_nothing_to_compare(marks: tuple[str, str]) -> None:
    assert adapt([marked((0.1, marks[0]), (0.9, marks[1]))], shipped_tables())[1] == {}


def test_evidence_that_never_varies_moves_nothing() -> None:
    old = shipped_tables()
    assert adapt([marked((0.5, "helpful"), (0.5, ""))] * 50, old)[0] == {name: dict(table) for name, table in old.items()}
    assert np.isfinite(list(old["people"].values())).all()
