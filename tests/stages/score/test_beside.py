"""Beside: the clause that makes an earlier one outdated stands beside it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from germane import Germane
from germane.api.strategies import DEFAULT
from germane.stages.score.links import LinkedClause, newer_clauses_beside
from germane.text.terms import stem_set
from germane.types.candidate import Candidate

pytestmark = pytest.mark.requirement("PERSON-4")
MOMENT = datetime(2026, 5, 1, 12, tzinfo=UTC)


def clauses(
    id: str, *texts: str, days: int = 0, by: tuple[tuple[str, bool], ...] = (), changes: int = -1
) -> list[LinkedClause]:
    message = Candidate(
        id=id, source="messages", category="conversation", text=" ".join(texts), created_at=MOMENT + timedelta(days=days)
    )._replace(replaced_by=by)
    return [LinkedClause(message, stem_set(text), place == changes) for place, text in enumerate(texts)]


def test_of_what_may_be_about_the_same_the_clause_with_a_word_in_common_is_raised() -> None:
    old = clauses("old", "The choir meets on Mondays.", "I bought new shoes.", by=(("new", False),))
    new = clauses("new", "What a week.", "Choir practice moved to the annex on Tuesdays.", "Any soup ideas?", days=9)
    raised = newer_clauses_beside(np.array([-1.0, -4.0, -6.0, -6.0, -6.0]), [*old, *new], {"old"})
    assert raised.tolist() == pytest.approx([-1.0, -4.0, -6.0, -1.2, -6.0])


def test_where_no_clauses_share_a_word_only_a_certain_ending_is_raised() -> None:
    """By the clause that speaks of a change."""
    for ends in (False, True):
        old = clauses("old", "The choir meets on Mondays.", by=(("new", ends),))
        new = clauses("new", "What a week.", "I quit, it got too loud.", days=9, changes=1)
        raised = newer_clauses_beside(np.array([-1.0, -6.0, -6.0]), [*old, *new], {"old"})
        assert raised.tolist() == pytest.approx([-1.0, -6.0, -0.5 if ends else -6.0])


def test_through_several_changes_the_newest_stands_with_the_first() -> None:
    first = clauses("a", "Bin day is Monday.", by=(("b", False),))
    second = clauses("b", "Bin day is Tuesday now.", days=5, by=(("c", False),))
    third = clauses("c", "They moved bin day again, Friday.", days=9)
    raised = newer_clauses_beside(np.array([-1.0, -7.0, -9.0]), [*first, *second, *third], {"a"})
    assert raised.tolist() == pytest.approx([-1.0, -1.2, -1.4])


async def test_a_later_value_that_the_request_has_no_word_of_is_shown_with_the_first(germane: Germane) -> None:
    """The newer message shares nothing with the request, so that no search ranks it."""
    agent = germane.agent("assistant", org="o", user="u")
    said = [
        "My physio is Mr Okafor, he sees me at the Harbour Street clinic every other Wednesday.",
        "Could you turn this into a haiku about herons?",
        "Okafor isn't in Harbour Street any more, since Wednesday he sees people in the old post office.",
    ]
    for place in range(60):
        asked = {"role": "user", "content": f"Write card {place} of the leaflet for our clinic fair, please"}
        await agent.record(
            [asked, {"role": "assistant", "content": f"Card {place} of the leaflet: walk-in clinic on day {place}."}],
            session=f"t{place}",
        )
    for place, text in enumerate(said):
        await agent.record([{"role": "user", "content": text}, {"role": "assistant", "content": "Noted."}], session=f"s{place}")
    strategy = replace(DEFAULT, name="plain", profile=0)  # which might show it for another reason
    ask = [{"role": "user", "content": "Where is my physio clinic?"}]
    context = await agent.assemble(ask, model="gpt-4o", session="ask", deadline=None, strategy=strategy)
    assert "Harbour Street" in context.added
    assert "old post office" in context.added
