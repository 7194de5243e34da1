"""Question clock: the time at which a question is asked."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from germane import InvalidInput
from germane_eval.dataset import QuestionClock, ends, starts
from support.small_talk import BEGAN, chat

NOW = datetime(2026, 3, 1, tzinfo=UTC)
END = BEGAN + timedelta(days=2, minutes=7)


@pytest.mark.requirement("EVAL-1")
@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("end", END),
        ("end+1h", END + timedelta(hours=1)),
        ("end+90m", END + timedelta(minutes=90)),
        ("end+2w", END + timedelta(weeks=2)),
        ("today", NOW),
        ("2025-05-03", datetime(2025, 5, 3, tzinfo=UTC)),
        ("2025-05-03T12:00:00+02:00", datetime(2025, 5, 3, 10, tzinfo=UTC)),
    ],
)
def test_a_clock_is_after_the_conversation_today_or_a_time(text: str, at: datetime) -> None:
    """A time without a zone is UTC."""
    conversation = chat()
    assert QuestionClock.of(text, NOW).at(conversation.questions[0], ends(conversation)) == at


def test_a_question_with_a_time_of_its_own_is_asked_then_unless_the_clock_is_fixed() -> None:
    """At `today` every question is asked today."""
    question = replace(chat().questions[0], at=BEGAN)
    assert QuestionClock.of("end+1h", NOW).at(question, END) == BEGAN
    assert QuestionClock.of("today", NOW).at(question, END) == NOW


def test_without_any_time_in_the_conversation_it_is_now() -> None:
    """None leaves the time to the agent's clock."""
    conversation = replace(chat(), sessions={})
    assert starts(conversation) is ends(conversation) is None
    assert QuestionClock.of("end+1h", NOW).at(chat().questions[0], None) is None


@pytest.mark.parametrize("text", ["soon", "", "end+h", "end-1h", "end+999999w"])
def test_another_clock_is_refused_by_name(text: str) -> None:
    """The error lists the possible clocks."""
    with pytest.raises(InvalidInput, match=r"end\+1h, today"):
        QuestionClock.of(text, NOW)
