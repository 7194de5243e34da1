"""The days that a question names."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from germane.stages.read.asks import asks_name, asks_when
from germane.text.days.times import times, today
from support.examples import examples

WEDNESDAY = date(2023, 5, 10)


def named(text: str, on: date = WEDNESDAY) -> list[str]:
    return [
        str(days.first) if days.first == days.last else f"{days.first}…{days.last} {days.grain}" for days in times(text, on)
    ]


@pytest.mark.requirement("SIG-1")
@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("on 2023-05-07", ["2023-05-07"]),
        ("on 7 May 2023", ["2023-05-07"]),
        ("the 7th of May, 2022", ["2022-05-07"]),
        ("on May 7th", ["2023-05-07"]),
        ("on May 11th", ["2022-05-11"]),
        ("in May 2021", ["2021-05-01…2021-05-31 month"]),
        ("in May", ["2023-05-01…2023-05-31 month"]),
        ("on 31 June 2022", ["2022-06-01…2022-06-30 month"]),
        ("last May", ["2022-05-01…2022-05-31 month"]),
        ("in June", ["2022-06-01…2022-06-30 month"]),
        ("next February", ["2024-02-01…2024-02-29 month"]),
        ("what happened in 2022?", ["2022-01-01…2022-12-31 year"]),
        ("04/10/2022", ["2022-04-10", "2022-10-04"]),
        ("25.12.2022", ["2022-12-25"]),
        ("in the summer of 2022", ["2022-06-01…2022-08-31 month"]),
        ("2023年5月7日", ["2023-05-07"]),
        ("5月に何を", ["2023-05-01…2023-05-31 month"]),
        ("yesterday or the day before yesterday", ["2023-05-09", "2023-05-08"]),
        ("我昨天", ["2023-05-09"]),
        ("was habe ich gestern gesagt", ["2023-05-09"]),
        ("last week", ["2023-05-01…2023-05-07 week"]),
        ("the past week", ["2023-05-03…2023-05-10 week"]),
        ("this month", ["2023-05-01…2023-05-31 month"]),
        ("next year", ["2024-01-01…2024-12-31 year"]),
        ("3 days ago", ["2023-05-07"]),
        ("two weeks ago", ["2023-04-24…2023-04-30 week"]),
        ("a couple of months ago", ["2023-03-01…2023-03-31 month"]),
        ("the last three days", ["2023-05-07…2023-05-10 day"]),
        ("in 2 days", ["2023-05-12"]),
        ("last Tuesday", ["2023-05-09"]),
        ("last Wednesday", ["2023-05-03"]),
        ("this Friday", ["2023-05-12"]),
        ("next Wednesday", ["2023-05-17"]),
        ("on Thursday", ["2023-05-04"]),
        ("over the weekend", ["2023-05-06…2023-05-07 day"]),
    ],
)
def test_dates_and_relative_times_are_resolved_against_the_day_asked_on(text: str, days: list[str]) -> None:
    """Absolute, relative, with and without a year."""
    assert named(text) == days


@pytest.mark.parametrize("text", ["it may march on", "a second opinion", "99999 days ago", "port 20223", "v2.2021.3"])
def test_what_names_no_day_is_left_alone(text: str) -> None:
    """Verbs and other numbers."""
    assert named(text) == []


@pytest.mark.requirement("SCOPE-4")
def test_last_tuesday_is_counted_from_the_day_it_is_in_the_scopes_zone() -> None:
    """At 23:30 UTC on a Tuesday it is Wednesday in Tokyo and still Tuesday in Lisbon."""
    at = datetime(2023, 5, 9, 23, 30, tzinfo=UTC)
    assert named("last Tuesday", today(at, "Asia/Tokyo")) == ["2023-05-09"]
    assert named("last Tuesday", today(at, "UTC")) == ["2023-05-02"]


@given(text=st.text(max_size=60), on=st.dates())
@example(text="", on=date.max)
@example(text="", on=date.min)
@example(text="", on=date(9987, 5, 1))
@examples(150)
def test_any_text_on_any_day_gives_well_formed_stretches(text: str, on: date) -> None:
    """Never fails, never ends before it begins, never reaches the end of time."""
    for days in times(f"last year {text} 9999-12-31 in 12 years, next month, 400 weeks ago {text}", on):
        assert days.first <= days.last
        assert days.last.year < 9999


@pytest.mark.parametrize("moment", [datetime.min, datetime.max])
def test_the_ends_of_time_have_a_day_in_every_zone(moment: datetime) -> None:
    """A conversion that overflows falls back to UTC."""
    assert today(moment.replace(tzinfo=UTC), "Pacific/Kiritimati")
    assert today(moment.replace(tzinfo=UTC), "Pacific/Honolulu")


@pytest.mark.requirement("SIG-1")
@pytest.mark.parametrize(
    "text",
    ["When did she leave?", "How long were they married?", "What year was it?", "how often", "什么时候去的", "Wann war das?"],
)
def test_questions_about_time_are_told(text: str) -> None:
    """When, how long, what date."""
    assert asks_when(text)
    assert not asks_name(text)


@pytest.mark.requirement("SIG-1")
@pytest.mark.parametrize(
    "text", ["Who called?", "Where is it?", "What book did she read?", "Which city", "谁来了", "¿Dónde vive?"]
)
def test_questions_for_a_name_are_told(text: str) -> None:
    """Who, where, which book."""
    assert asks_name(text)
    assert not asks_when(text)
