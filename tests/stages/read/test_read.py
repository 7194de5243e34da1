"""How a request becomes a query."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.stages.read import read
from germane.types.message import Message, ToolResult
from germane.types.query import Filters
from germane.types.request import Request
from germane.types.scope import Scope
from support.examples import examples

AT = datetime(2023, 5, 9, 23, 30, tzinfo=UTC)


def request(
    *messages: Message, query: str | None = None, scope: Scope | None = None, filters: Filters | None = None
) -> Request:
    return Request(
        scope=scope or Scope(),
        messages=messages,
        raw=messages,
        model="m",
        provider="openai",
        at=AT,
        query=query,
        filters=filters or Filters(),
    )


def user(text: str) -> Message:
    return Message.of("user", text)


def words(*messages: Message) -> list[str]:
    return [term.word for term in read(request(*messages)).terms]


@pytest.mark.requirement("SIG-0", "SIG-1")
def test_a_question_is_read_into_everything_it_says() -> None:
    """Terms, names, phrases, identifiers, days, intent; the vector is left to gathering."""
    query = read(request(user('When did Caroline\'s team fix "the old mill" in src/mill.py, in May?')))
    assert [term.word for term in query.terms[:3]] == ["caroline", "team", "fix"]
    assert query.names == ("Caroline",)
    assert query.phrases == ("the old mill",)
    assert query.identifiers == ("src/mill.py",)
    assert query.days[0].first == date(2023, 5, 1)
    assert (query.intent, query.event_types[0], query.asks_when, query.vector) == ("fix", "error", True, None)
    assert query.at == AT


@pytest.mark.requirement("SIG-1")
def test_the_query_is_the_last_user_message_that_says_something_unless_one_is_given() -> None:
    """Tool results and images ask nothing; `query=` goes first."""
    tool = Message(role="user", parts=(ToolResult(call_id="1", text="42 rows"),))
    turns = (user("What is my dog called?"), Message.of("assistant", "Let me look."), tool)
    assert read(request(*turns)).text == "What is my dog called?"
    assert read(request(*turns, query="favourite colour")).text == "favourite colour"
    assert read(request(Message.of("system", "Be kind."))).blank


@pytest.mark.requirement("SIG-1")
def test_a_short_follow_up_borrows_terms_and_puts_them_after_its_own() -> None:
    """`text` stays the question itself."""
    turns = (user("I adopted a beagle called Biscuit"), Message.of("assistant", "Lovely!"), user("And how old is he?"))
    assert words(*turns)[0] == "old"
    assert {"beagle", "biscuit"} <= set(words(*turns))
    assert read(request(*turns)).text == "And how old is he?"


@pytest.mark.requirement("SIG-1")
def test_a_question_that_stands_by_itself_borrows_nothing() -> None:
    """Recent turns never dilute a clear question."""
    assert words(user("I adopted a beagle"), user("Which instruments does Melanie play?")) == ["instruments", "melanie", "play"]


@pytest.mark.requirement("SCOPE-4")
def test_days_are_those_of_the_scopes_zone() -> None:
    """At 23:30 UTC on Tuesday it is Wednesday in Tokyo."""
    tokyo = read(request(user("What did I do last Tuesday?"), scope=Scope(zone="Asia/Tokyo")))
    here = read(request(user("What did I do last Tuesday?")))
    assert (tokyo.days[0].first, here.days[0].first) == (date(2023, 5, 9), date(2023, 5, 2))


@pytest.mark.requirement("GATHER-4")
def test_filters_travel_with_the_query() -> None:
    """Every source sees the caller's own."""
    filters = Filters(tags=("work",), session="s1")
    assert read(request(user("hello"), filters=filters)).filters is filters


@pytest.mark.requirement("SIG-2")
def test_the_event_types_of_an_intent_can_be_set() -> None:
    """Archetypes bring a mapping of their own."""
    assert read(request(user("Fix it")), event_types={"fix": ("incident",)}).event_types == ("incident",)


@pytest.mark.requirement("SIG-3")
def test_a_huge_message_is_condensed_to_its_most_telling_terms() -> None:
    """One megabyte of paste between two sentences leaves what they ask."""
    paste = " ".join(f"{letter}{other}orem 12 34" for letter in "abcdefghij" for other in "klmnopqrst") * 900
    query = read(request(user(f"Here is the log of Melanie's kiln.\n{paste}\nWhy does parse_config raise E1234?")))
    found = {term.word for term in query.terms}
    assert len(query.terms) <= 32
    assert {"melanie", "kiln", "parse_config", "e1234"} <= found
    assert len(query.text) <= 2_500
    assert "E1234" in query.identifiers


@pytest.mark.requirement("SIG-3")
@given(text=st.text(st.characters(), max_size=400), times=st.integers(1, 40))
@examples(100)
def test_any_message_of_any_length_is_read(text: str, times: int) -> None:
    """Never rejected; bounded, and writable as UTF-8 whatever came in."""
    query = read(request(user("before " + text), user(text * times)))
    assert len(query.terms) <= 40
    query.text.encode()
