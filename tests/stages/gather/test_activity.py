"""What happened lately: the running session's latest events, highlights of the others, and clipped outputs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.kinds.events.value import FIRST_TYPED, Event
from germane.stages.gather.candidates import clipped, from_event
from germane.stages.gather.merge import merge
from germane.stages.gather.session import ActivitySource
from germane.types.candidate import PassageRange
from germane.types.evidence import Evidence
from germane.types.query import Filters, Query
from germane.types.strategy import SourcePlan
from germane_testing.builders import MOMENT, an_event
from support.gather_stubs import EventsStub, asking, scoped

PLAN = SourcePlan(name="events", limit=90)


def done(text: str, type: str = "shell_exec", **fields: Any) -> Event:
    return an_event(text, **{"type": type, "position": FIRST_TYPED, "role": "", **fields})


@pytest.mark.requirement("GRAPH-6", "GATHER-4")
async def test_the_latest_events_of_the_session_come_first_then_highlights_of_the_others() -> None:
    """Messages stay messages; the running session has no highlights; the request's filters hold for both."""
    reader = EventsStub(
        latest=[done("Executed: `pytest`", outcome="failure"), an_event("why?")],
        earlier=[done("Decision: use SQLite", "decision")],
    )
    filters = Filters(event_types=("shell_exec", "decision"), task="t1")
    found = await ActivitySource(scoped(events=reader, session="s1")).gather(asking(filters=filters), PLAN)
    assert reader.asked == (50, "s1", filters)
    assert reader.highlighted == (5, 8, "s1")
    assert [(one.category, one.event_type, one.outcome) for one in found] == [
        ("activity", "shell_exec", "failure"),
        ("conversation", "", ""),
        ("activity", "decision", ""),
    ]
    assert [one.evidence.history for one in found] == pytest.approx([1.0, 0.5 ** (1 / 8), 0.0])
    assert [one.evidence.recent for one in found] == [0.0, 0.0, 1.0]


@pytest.mark.requirement("SIG-2", "GRAPH-6")
async def test_an_event_that_matters_to_the_intent_counts_as_half_as_far_back() -> None:
    """Four errors back is as two."""
    latest = [done(f"Read: {number}", "file_read") for number in range(4)] + [done("Error: x", "error")]
    found = await ActivitySource(scoped(events=EventsStub(latest=latest), session="s1")).gather(
        asking(event_types=("error",)), PLAN
    )
    assert found[4].evidence.history == found[2].evidence.history
    own = ActivitySource(scoped(events=EventsStub(latest=latest), session="s1"), {"fix": ("file_read",)})
    found = await own.gather(asking(event_types=("error",), intent="fix"), PLAN)
    assert found[3].evidence.history > found[4].evidence.history


@pytest.mark.requirement("GATHER-6")
async def test_what_happened_after_the_time_asked_about_isnt_asked_for() -> None:
    reader = EventsStub()
    await ActivitySource(scoped(events=reader, session="s1")).gather(Query(text="x", at=MOMENT, dated=True), PLAN)
    assert reader.asked[2].until == MOMENT


async def test_without_a_session_there_are_highlights_alone_and_with_a_filter_for_one_no_others() -> None:
    reader = EventsStub(latest=[done("a")], earlier=[done("b")])
    assert [one.text for one in await ActivitySource(scoped(events=reader)).gather(asking(), PLAN)] == ["b"]
    only = asking(filters=Filters(session="s1"))
    assert [one.text for one in await ActivitySource(scoped(events=reader, session="s1")).gather(only, PLAN)] == ["a"]


@pytest.mark.requirement("GATHER-3")
def test_an_event_that_was_found_and_is_recent_is_one_candidate() -> None:
    """With the evidence of both, shown the same."""
    event = done("Executed: `make`\n" + "line\n" * 90 + "the needle\n" + "line\n" * 90)
    words = ("needle",)
    recent = from_event(event, "events", Evidence(history=0.5), words=words)
    found = from_event(event, "messages", Evidence(own=0.4), words=words)
    (one,) = merge([found, recent])
    assert (one.source, one.also, one.evidence.own, one.evidence.history) == ("events", ("messages",), 0.4, 0.5)
    assert "needle" in one.text


@pytest.mark.requirement("FORMAT-5")
def test_a_long_output_is_clipped_with_a_mark() -> None:
    """Its beginning and its end stay, where errors stand, and the lines with the query's words."""
    lines = [f"line {number}" for number in range(1, 101)]
    lines[40] = "here is the NEEDLE"
    assert clipped("\n".join(lines), ("needle",)).split("\n") == [
        *lines[:8],
        "… (32 lines left out)",
        "here is the NEEDLE",
        "… (51 lines left out)",
        *lines[-8:],
    ]
    assert clipped("\n".join(lines[:20])) == "\n".join(lines[:20])


@pytest.mark.requirement("FORMAT-5")
def test_a_message_and_a_passage_that_was_found_are_never_clipped() -> None:
    """A message is the caller's words; the passage was chosen for the query."""
    long = "x\n" * 400
    assert from_event(an_event(long), "messages", Evidence()).text == long
    found = done(long, passage=PassageRange(0, 800, 9_000, found=True))
    assert from_event(found, "messages", Evidence()).text == long
    assert len(from_event(done(long), "messages", Evidence()).text) < len(long)


@pytest.mark.requirement("LIMITS-2")
@given(st.text(st.sampled_from("ab\n\r\u2028漢"), max_size=4_000), st.lists(st.text("ab", min_size=1, max_size=3), max_size=3))
def test_clipping_never_makes_a_text_long(text: str, words: list[str]) -> None:
    """24 lines at most, each cut; the marks are short."""
    shown = clipped(text, words)
    assert shown == text or len(shown) <= 24 * 260 + 9 * 40
    assert shown.split("\n")[0][:50] == text.split("\n")[0][:50]


async def test_a_plan_of_fewer_gets_fewer() -> None:
    reader = EventsStub(latest=[done("a"), done("b")], earlier=[done("c", created_at=MOMENT - timedelta(days=1))])
    source = ActivitySource(scoped(events=reader, session="s1"))
    assert [one.text for one in await source.gather(asking(), SourcePlan(name="events", limit=2))] == ["a", "b"]
