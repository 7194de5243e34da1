"""A day that the request asks about brings what was said on it, whatever its words; a day named for something else doesn't."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from germane import Agent, Germane

pytestmark = pytest.mark.requirement("PERSON-5")

AT = datetime(2026, 3, 13, 15, tzinfo=UTC)
"""A Friday."""


@pytest.fixture
async def germane() -> AsyncIterator[Germane]:
    async with Germane.open(":memory:") as opened:
        yield opened


async def told(germane: Germane, said: Sequence[tuple[str, str]], *, zone: str = "UTC", role: str = "user") -> Agent:
    """An agent to whom each text was said at its time, each day in a session of its own."""
    agent = germane.agent(user="ida", zone=zone)
    for at, text in said:
        await agent.record([{"role": role, "content": text, "created_at": at}], session=at[:10])
    return agent


async def shown(agent: Agent, question: str, at: datetime = AT, **options: object) -> list[str]:
    asked = [{"role": "user", "content": question}]
    context = await agent.assemble(asked, model="gpt-4o", session="now", at=at, deadline=None, **options)  # type: ignore[arg-type]
    return [item.text for item in context.items]


WEEK = (
    ("2026-02-27T10:00:00Z", "The beehive needs a new roof."),
    ("2026-03-06T10:00:00Z", "My violin went to the workshop in Lund."),
    ("2026-03-09T10:00:00Z", "I planted leeks behind the shed."),
    ("2026-03-11T10:00:00Z", "The kiln cracked two of the blue bowls."),
    ("2026-03-12T10:00:00Z", "Otto borrowed the long ladder."),
)


@pytest.mark.parametrize(
    ("question", "day"),
    [
        ("What did I say yesterday?", 4),
        ("what was it I told you the day before yesterday", 3),
        ("What did we talk about on Monday?", 2),
        ("What did I tell you last Friday?", 1),
        ("what did I tell you two weeks ago on Friday 27 February", 0),
        ("What happened yesterday?", 4),
        ("Was habe ich gestern erzählt?", 4),
        ("Worüber haben wir am Montag gesprochen?", 2),
        ("Qu'est-ce que j'ai dit hier ?", 4),
        ("¿Qué te conté anteayer?", 3),
        ("Di cosa abbiamo parlato lunedì?", 2),
        ("O que eu te disse ontem?", 4),
        ("Wat heb ik gisteren verteld?", 4),
        ("O czym rozmawialiśmy w poniedziałek?", 2),
        ("Что я говорил позавчера?", 3),
        ("Dün sana ne söyledim?", 4),
        ("Vad sa jag igår?", 4),
        ("前天我跟你说了什么？", 3),
        ("昨日、私は何を言いましたか？", 4),
        ("월요일에 무슨 얘기 했지?", 2),
    ],
)
async def test_a_day_that_is_asked_about_shows_what_was_said_on_it_and_nothing_else(
    germane: Germane, question: str, day: int
) -> None:
    """No word of the messages stands in the question."""
    assert await shown(await told(germane, WEEK), question) == [WEEK[day][1]]


@pytest.mark.parametrize("question", ["Remind me on Monday.", "Dinner on Wednesday?", "was mache ich am Montag", "周一吃什么"])
async def test_a_day_of_the_future_brings_nothing(germane: Germane, question: str) -> None:
    """The last Monday isn't meant."""
    assert await shown(await told(germane, WEEK), question) == []


@pytest.mark.parametrize(
    "question",
    [
        "What did I say last Tuesday?",
        "what did I tell you in the year 3000",
        "What did I say on the 99th?",
        "What did I say 99999 days ago?",
        "what did I do in 99999 days",
    ],
)
async def test_a_day_without_messages_adds_nothing(germane: Germane, question: str) -> None:
    """Nor do numbers that name no day."""
    assert await shown(await told(germane, WEEK), question) == []


async def test_what_is_asked_about_besides_the_day_comes_first(germane: Germane) -> None:
    """The rest of the day stays, as the words may differ."""
    said = [
        ("2026-03-12T09:00:00Z", "Please draft a letter about the noise of the heat pump next door."),
        ("2026-03-12T10:00:00Z", "Otto borrowed the long ladder and brought it back with a bent rung."),
        ("2026-03-05T10:00:00Z", "A ladder must lean at seventy-five degrees."),
    ]
    agent = await told(germane, said)
    found = await agent.search("what did I tell you about the ladder yesterday", at=AT)
    assert [item.candidate.text for item in found][:2] == [said[1][1], said[0][1]]


async def test_thanks_are_never_worth_a_line(germane: Germane) -> None:
    """Neither is "okay", nor a greeting, in any language of the list."""
    polite = ["Thanks!", "okay, perfect", "Guten Morgen!", "merci beaucoup", "спасибо", "好的，谢谢", "👍"]
    times = (f"2026-03-12T1{hour}:00:00Z" for hour in range(7))
    said = [*zip(times, polite, strict=True), ("2026-03-12T19:00:00Z", "The ferry to Tern Island leaves at 6:40.")]
    assert await shown(await told(germane, said), "What did I say yesterday?") == [said[-1][1]]


async def test_of_a_full_day_the_most_telling_messages_fit(germane: Germane) -> None:
    """The user's; the assistant's come after them, and all within the budget."""
    words = ["sawdust", "gravel", "lantern", "thimble", "walnut", "anchor", "saddle", "curtain"]
    said = [
        (
            f"2026-03-12T{9 + n // 20:02}:{n % 20 * 3:02}:00Z",
            f"Number {n}: the {words[n % 8]} costs {n * 7} crowns in shop {n % 5}.",
        )
        for n in range(90)
    ]
    agent = await told(germane, said)
    asked = [{"role": "user", "content": "What did I say yesterday?"}]
    context = await agent.assemble(asked, model="gpt-4o", at=AT, deadline=None, max_tokens=400)
    assert len(context.items) >= 8
    assert context.metadata.total_tokens_injected <= 400


async def test_an_answer_of_the_assistant_is_found_where_it_is_asked_for(germane: Germane) -> None:
    """What I said and what you said are different questions."""
    agent = await told(germane, [("2026-03-12T09:00:00Z", "Which glue holds felt on glass?")])
    answer = "Contact cement holds felt on glass; let it dry for ten minutes first."
    await agent.record([{"role": "assistant", "content": answer, "created_at": "2026-03-12T09:01:00Z"}], session="2026-03-12")
    found = await agent.search("What did you recommend yesterday?", at=AT)
    assert answer in [item.candidate.text for item in found]


@pytest.mark.requirement("SCOPE-4")
@pytest.mark.parametrize(
    ("zone", "day"), [("Europe/London", "yesterday"), ("Asia/Tokyo", "today"), ("America/Los_Angeles", "yesterday")]
)
async def test_midnight_is_that_of_the_scopes_zone(germane: Germane, zone: str, day: str) -> None:
    """At 15:30 UTC it is already the next day in Tokyo."""
    agent = await told(germane, [("2026-03-12T15:30:00Z", "The loom is threaded with grey wool.")], zone=zone)
    other = "today" if day == "yesterday" else "yesterday"
    noon = datetime(2026, 3, 13, 12, tzinfo=UTC)
    assert await shown(agent, f"What did I say {day}?", noon) == ["The loom is threaded with grey wool."]
    assert await shown(agent, f"What did I say {other}?", noon) == []


@pytest.mark.requirement("SCOPE-4")
async def test_a_day_of_twenty_five_hours_ends_at_its_midnight(germane: Germane) -> None:
    """In Vienna the clocks go back on 25 October 2026; 22:30 UTC is 23:30 of that day."""
    said = [("2026-10-25T22:30:00Z", "The last pears are in the cellar."), ("2026-10-25T23:30:00Z", "Frost on the gutters.")]
    agent = await told(germane, said, zone="Europe/Vienna")
    assert await shown(agent, "What did I say yesterday?", datetime(2026, 10, 26, 12, tzinfo=UTC)) == [said[0][1]]


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("What did we talk about over the weekend?", [2, 3]),
        ("what have I told you this week", [4]),
        ("what did I tell you in February", [0, 1]),
        ("What did we discuss last week?", [2, 3]),
    ],
)
async def test_a_span_shows_what_was_said_in_it(germane: Germane, question: str, days: list[int]) -> None:
    """Across the border of a month; asked on Monday, 2 March."""
    said = [
        ("2026-02-02T10:00:00Z", "Two swans nest beside the lock."),
        ("2026-02-28T08:00:00Z", "The organ pipes were tuned to 415."),
        ("2026-02-28T10:00:00Z", "I glazed the tall jug in green."),
        ("2026-03-01T10:00:00Z", "Marit skated eleven kilometres."),
        ("2026-03-02T08:00:00Z", "The bakery on Quay Street closed."),
    ]
    if "weekend" in question or "last week" in question:
        days = [1, *days]
    if "February" in question:
        days = [0, 1, 2]
    found = await shown(await told(germane, said), question, datetime(2026, 3, 2, 15, tzinfo=UTC))
    assert sorted(found) == sorted(said[day][1] for day in days)


async def test_a_span_reaches_across_the_turn_of_the_year(germane: Germane) -> None:
    """Three weeks ago was last year."""
    said = [("2025-12-23T10:00:00Z", "The reindeer stew takes juniper."), ("2026-01-08T10:00:00Z", "A new stove came.")]
    agent = await told(germane, said)
    assert await shown(agent, "what did I tell you three weeks ago", datetime(2026, 1, 13, 9, tzinfo=UTC)) == [said[0][1]]
    assert await shown(agent, "what did I tell you at Christmas", datetime(2026, 1, 13, 9, tzinfo=UTC)) == []


@pytest.mark.parametrize(
    "question",
    [
        "what did I have to do the night before Grandpa moved in",
        "what was on my list the day before grandpa moved in?",
    ],
)
async def test_a_day_may_be_named_by_an_event_that_the_store_knows(germane: Germane, question: str) -> None:
    """The event's day is the one that its message names, not the day on which it was told."""
    said = [
        (
            "2026-01-20T18:00:00Z",
            "Grandpa moves in with us tomorrow. Still to do: fetch the bed slats, oil the hinge, buy rusks.",
        ),
        ("2026-01-25T18:00:00Z", "The attic window sticks when it rains."),
        ("2026-02-20T18:00:00Z", "Our neighbour wants the hedge lower."),
    ]
    found = await shown(await told(germane, said), question)
    assert said[0][1] in found
    assert said[1][1] not in found
    assert said[2][1] not in found


async def test_an_event_of_which_nothing_is_known_changes_nothing(germane: Germane) -> None:
    """The request is answered as if it named no day."""
    agent = await told(germane, WEEK)
    assert await shown(agent, "what did I do the day before the regatta") == []


async def test_a_day_that_a_message_of_the_evening_before_names_is_found_by_it(germane: Germane) -> None:
    """Who plans tomorrow tells it today."""
    said = [
        ("2026-03-11T21:00:00Z", "For tomorrow: collect the parcel, ring the tuner, defrost the cod."),
        ("2026-03-10T10:00:00Z", "The parrot learnt a new word."),
    ]
    assert await shown(await told(germane, said), "what did I have to do yesterday") == [said[0][1]]


async def test_what_a_scope_may_not_see_and_what_was_forgotten_is_on_no_day(germane: Germane) -> None:
    """A source obeys the scope and the filters as all do."""
    agent = await told(germane, WEEK[-1:])
    await told(germane, [], zone="UTC")
    other = germane.agent(user="eva")
    assert await shown(other, "What did I say yesterday?") == []
    await agent.forget(everything=True)
    assert await shown(agent, "What did I say yesterday?") == []


async def test_a_time_that_was_asked_about_hides_what_was_said_later(germane: Germane) -> None:
    """`at` is noon of a day; what was said that evening isn't known yet."""
    said = [("2026-03-12T09:00:00Z", "The cello has a wolf note."), ("2026-03-12T19:00:00Z", "The bow was rehaired.")]
    agent = await told(germane, said)
    assert await shown(agent, "What did I say today?", datetime(2026, 3, 12, 12, tzinfo=UTC)) == [said[0][1]]


async def test_a_weekday_on_that_weekday_means_today_or_a_week_ago(germane: Germane) -> None:
    """`last Friday` on a Friday is a week ago; `on Friday` may be either."""
    said = [*WEEK, ((AT - timedelta(hours=2)).isoformat(), "The tram stops at the brewery now.")]
    agent = await told(germane, said)
    assert await shown(agent, "What did I say last Friday?") == [WEEK[1][1]]
    assert sorted(await shown(agent, "What did I say on Friday?")) == sorted([WEEK[1][1], said[-1][1]])
