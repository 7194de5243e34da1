"""Choose: which lines stand in so many tokens, and which say the same (PERSON-1)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.kinds.profile.lines import choose_lines, lines_said_by, worth_order
from germane.types.candidate import ABOUT, INSTRUCTION, ProfileLine
from germane_testing.builders import MOMENT

pytestmark = pytest.mark.requirement("PERSON-1")

WORDS = [
    *("amber", "basil", "cedar", "delta", "ember", "fjord", "garnet", "heron"),
    *("iris", "juniper", "kelp", "lotus", "maple", "nettle", "olive", "poplar"),
]


def a_line(text: str, *, id: str = "", days: int = 0, **fields: Any) -> ProfileLine:
    given: dict[str, Any] = {"kind": INSTRUCTION, "worth": 0.9, "said_at": MOMENT + timedelta(days=days)}
    return ProfileLine(id=id or text, text=text, **given | fields)


def costs(line: ProfileLine) -> int:
    return 2 + len(line.text.split())


def chosen(*lines: ProfileLine, budget: int = 500) -> list[str]:
    return [line.text for line, _ in choose_lines(lines, budget, costs).lines]


def test_instructions_come_before_what_holds_and_pinned_lines_before_both() -> None:
    """Whatever they are worth."""
    rule, about = a_line("keep amber answers short", worth=0.4), a_line("basil grows at home", kind=ABOUT, worth=0.99)
    pinned = a_line("the cedar is old", kind=ABOUT, worth=0.1, pinned=True)
    assert chosen(about, rule, pinned) == [pinned.text, rule.text, about.text]
    assert chosen(about, rule, pinned, budget=6) == [pinned.text]


def test_of_one_kind_more_worth_per_token_comes_first() -> None:
    """A short line is taken before a long one that is worth no more."""
    long = a_line("amber basil cedar delta ember fjord garnet heron")
    assert chosen(long, a_line("juniper kelp lotus"), a_line("maple nettle olive", worth=0.2)) == [
        *("juniper kelp lotus", long.text, "maple nettle olive")
    ]


def test_of_two_lines_that_are_worth_the_same_the_newer_one_comes_first() -> None:
    """Statements a microsecond apart are worth the same up to rounding: their order mustn't depend on when they are read."""
    older, newer = a_line("amber grows at home", id="a"), a_line("cedar stands in yards", id="b", days=1)
    assert chosen(older, newer) == [newer.text, older.text]
    assert worth_order([older, newer]) == [newer, older]


def test_two_lines_never_say_the_same() -> None:
    """The newer one stands, or the pinned one; a fact isn't repeated beside the sentence that it was found in."""
    old, new = a_line("Keep answers to five lines", id="1"), a_line("keep the answers to five lines!", id="2", days=1)
    assert chosen(old, new) == [new.text]
    assert chosen(old._replace(pinned=True), new) == [old.text]
    said = a_line("Since we moved to Graz the commute is long", kind=ABOUT, origin="m1", core="moved to Graz")
    fact = a_line("user.home: Graz", kind=ABOUT, origin="m1", core="Graz")
    assert chosen(said, fact) == [said.text]
    assert chosen(said, fact._replace(origin="m2")) == [fact.text, said.text]


def test_what_is_found_in_messages_has_a_share_and_what_is_stated_has_none() -> None:
    """Six tenths for rules and four for what holds; a search finds the rest."""
    groups = [" ".join(WORDS[place : place + 3]) for place in range(0, 15, 3)]
    rules = [a_line(text) for text in groups]
    assert len(chosen(*rules, budget=25)) == 3
    assert len(chosen(*(line._replace(stated=True) for line in rules), budget=25)) == 5
    assert len(chosen(*(line._replace(kind=ABOUT) for line in rules), budget=25)) == 2


def test_the_others_have_their_reason() -> None:
    """And the tokens that they would have taken."""
    rule, same = a_line("keep amber answers short", days=1), a_line("Keep amber answers short.", id="same")
    found = choose_lines([rule, same], 3, costs)
    assert found.lines == ()
    assert found.tokens == 0
    assert [(one.line.id, one.reason, one.tokens) for one in found.others] == [("same", "duplicate", 0), (rule.id, "budget", 6)]


def test_what_a_hidden_line_says_is_found() -> None:
    """But not what is pinned, and not what was said again later."""
    hidden, same = a_line("Keep answers to five lines", id="1", days=1), a_line("keep answers to five lines.", id="2")
    other = a_line("basil grows at home")
    assert lines_said_by([hidden], [same, other]) == [same]
    assert lines_said_by([hidden], [same._replace(pinned=True), same._replace(said_at=MOMENT + timedelta(days=2))]) == []
    assert lines_said_by([], [same]) == []


@given(
    st.lists(
        st.builds(
            lambda words, kind, worth, days, stated, pinned: a_line(
                " ".join(words), kind=kind, worth=worth, days=days, stated=stated, pinned=pinned
            ),
            st.lists(st.sampled_from(WORDS), min_size=1, max_size=6),
            st.sampled_from([ABOUT, INSTRUCTION]),
            st.floats(0.001, 0.999),
            st.integers(0, 99),
            st.booleans(),
            st.booleans(),
        ),
        max_size=30,
        unique_by=lambda line: line.id,
    ),
    st.integers(0, 60),
)
def test_no_budget_is_exceeded_and_no_line_is_lost(lines: list[ProfileLine], budget: int) -> None:
    """Each line stands or has a reason; in any order of the input the same ones stand."""
    found = choose_lines(lines, budget, costs)
    assert found.tokens <= budget
    assert sorted([line.id for line, _ in found.lines] + [one.line.id for one in found.others]) == sorted(
        line.id for line in lines
    )
    assert choose_lines(lines[::-1], budget, costs).lines == found.lines
