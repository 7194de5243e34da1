"""Said before: which earlier message a new one may speak of as changed."""

from __future__ import annotations

import pytest

from germane.extraction.memories.endings import find_endings, restating_terms
from germane.kinds.events.reads import SaidBefore
from germane.text.specifics import temporal
from germane.text.terms import hashed

SAID = (
    "the kiln is booked for 4 May at the studio",
    "Tomorrow we paint the fence, lend me a plan",
    "nan reckons its the cashews making me itch",
    "write me a limerick about badgers",
    "Frau Lindner gießt im Juli unsere Geranien",
    "我妈的复查约在7月8号上午，找的是袁主任",
)


def restated(text: str, name: str = "") -> list[int]:
    said = (*SAID, *(f"note {number} on chapter {number}" for number in range(30)))
    rows = [(str(number), "", temporal(one), hashed(one)) for number, one in enumerate(said)]
    terms = restating_terms(text, find_endings(text))
    return [int(id) for id in SaidBefore.of(rows).restated_by(terms, name)]


@pytest.mark.requirement("PERSON-4")
@pytest.mark.parametrize(
    ("text", "older"),
    [
        ("ah and the kiln, 18 May it is, they broke a shelf", 0),
        ("doc rang. its not the cashews!!", 2),
        ("Frau Lindner fällt aus, ihre Tochter kommt und gießt", 4),
        ("医院说袁主任停诊，复查改到7月22号上午", 5),
    ],
)
def test_a_change_is_told_by_its_rare_words(text: str, older: int) -> None:
    """Whatever the words of the change: a new time, a denial, an ending."""
    assert older in restated(text)


@pytest.mark.requirement("PERSON-4")
@pytest.mark.parametrize("text", ["thanks, that's great", "how hot does a kiln get", "another limerick please", ""])
def test_what_changes_nothing_restates_nothing(text: str) -> None:
    """Without a time, a denial or an ending in it, a message speaks of nothing as changed."""
    assert restated(text) == []


def test_another_speaker_restates_nothing() -> None:
    """In a shared talk everybody changes their own statements."""
    assert restated("doc rang. its not the cashews!!", "Bo") == []


def test_a_message_of_the_same_recording_counts() -> None:
    """What was said just before is added without the store."""
    terms = restating_terms("doc rang. its not the cashews!!", find_endings("doc rang. its not the cashews!!"))
    said = SaidBefore().and_then("b", "", SAID[2])
    for number in range(30):
        said = said.and_then(str(number), "", f"note {number} on chapter {number}")
    assert said.restated_by(terms, "") == ("b",)
    assert SaidBefore().restated_by(terms, "") == ()
