"""Divide: clauses in the place of messages, each with a probability of its own."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from germane.kinds.profile.reads import parse_clause_name
from germane.stages.score.clauses import ClauseReader, divide
from germane.text.terms import query_terms
from germane.types.candidate import Breakdown, Candidate, Scored
from germane.types.evidence import Evidence
from germane.types.query import Query

MOMENT = datetime(2026, 5, 1, 12, tzinfo=UTC)
TALK = (
    "Morning! The bakery on Mill Lane only takes cash now. Got it. My locker code changed to 4471 and Nadia has the spare key, "
    "so ask her if you get stuck. lol"
)


def said(id: str, text: str, odds: float, *, assistant: float = 1.0, **fields: Any) -> Scored:
    candidate = Candidate(
        id=id,
        source="messages",
        category="conversation",
        text=text,
        created_at=MOMENT,
        role="user",
        content_hash=7,
        evidence=Evidence(assistant=assistant),
    )._replace(**fields)
    chance = 1 / (1 + 2.718 ** (-odds))
    return Scored(candidate, chance, odds, Breakdown(chance, 0.5, 0.5, 0.8, 0.0), 1)


def asking(text: str) -> Query:
    return Query(text=text, at=MOMENT, terms=query_terms(text))


def parts(items: tuple[Scored, ...]) -> list[str]:
    return [item.candidate.text for item in items]


@pytest.mark.requirement("PERSON-3")
def test_the_clause_that_the_request_needs_comes_first_and_empty_words_take_no_line() -> None:
    divided = divide([said("m", TALK, -2.0)], asking("what is my locker code"), ClauseReader(), None)
    assert divided is not None
    texts = parts(divided.items)
    assert "4471" in texts[0]
    assert not {"Got it.", "lol", "Morning!"} & set(texts)


def test_a_clause_is_named_by_its_place_and_keeps_its_messages_origin() -> None:
    divided = divide([said("m", TALK, -2.0)], asking("locker"), ClauseReader(), None)
    assert divided is not None
    for item in divided.items:
        found = parse_clause_name(item.id)
        assert found is not None
        assert found[0] == "m"
        assert TALK[found[1] : found[2]] == item.candidate.text
        assert item.candidate.provenance.refs == ("m",)
        assert 0 < item.score < 1


def test_messages_between_people_and_required_ones_stay_whole() -> None:
    people = said("p", TALK, -2.0, assistant=0.0)
    pinned = said("q", TALK, -2.0, required=True)
    assert divide([people, pinned], asking("locker"), ClauseReader(), None) is None


@pytest.mark.requirement("PERSON-4")
def test_what_made_a_message_outdated_stands_above_it() -> None:
    """The clause of the newer message that says what changed."""
    older = said("old", "The choir meets on Mondays in the annex. Bring the blue folder.", -1.0, replaced_by=(("new", True),))
    newer = said("new", "Busy week. I quit the choir, it got too loud. What rhymes with orange?", -6.0)
    divided = divide([older, newer], asking("when does the choir meet"), ClauseReader(), None)
    assert divided is not None
    texts = parts(divided.items)
    assert texts.index("I quit the choir, it got too loud.") < texts.index("The choir meets on Mondays in the annex.")


def test_the_same_items_give_the_same_order() -> None:
    items = [said(f"m{n}", f"{TALK} Number {n}.", -2.0 - n / 10) for n in range(5)]
    first, second = (divide(items, asking("spare key"), ClauseReader(), None) for _ in range(2))
    assert first is not None
    assert second is not None
    assert [one.id for one in first.items] == [one.id for one in second.items]
    assert [one.rank for one in first.items] == list(range(1, len(first.items) + 1))


def test_more_messages_than_are_divided_stay_behind_whole() -> None:
    items = [said(f"m{n:02}", TALK, -2.0 - n / 10) for n in range(50)]
    divided = divide(items, asking("spare key"), ClauseReader(), None)
    assert divided is not None
    assert sum(parse_clause_name(item.id) is None for item in divided.items) == 26


@pytest.mark.requirement("PERSON-3", "PACK-5")
def test_at_a_price_only_what_may_pay_is_made_and_each_messages_best_clause() -> None:
    """So that the explanation names every message that was looked at."""
    items = [said(f"m{n}", TALK, -2.0 - n) for n in range(8)]
    every, priced = (divide(items, asking("spare key"), ClauseReader(), None, price) for price in (None, 2e-3))
    assert every is not None
    assert priced is not None
    assert len(priced.items) < len(every.items)
    assert {parse_clause_name(item.id)[0] for item in priced.items} == {item.id for item in items}  # type: ignore[index]
    assert set(parts(priced.items[:2])) == set(parts(every.items[:2]))
