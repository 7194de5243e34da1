"""Lines of outlines: offered for overviews only, the most telling first, each of them as sensitive as what it was made from."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from threading import get_ident
from typing import Any

import pytest

from germane.kinds.conversations.outline import OutlineLine
from germane.kinds.events.value import Event
from germane.search.relevance import shipped
from germane.stages.gather import session
from germane.stages.gather.merge import RequestContents, fresh
from germane.stages.gather.session import OutlineSource
from germane.stages.gather.source import Skipped
from germane.text.terms import analyse
from germane.types.candidate import Candidate
from germane.types.evidence import Evidence, Unread
from germane.types.message import Message
from germane.types.query import Filters
from germane.types.strategy import SourcePlan
from germane_testing.builders import MOMENT, an_event
from support.gather_stubs import EventsStub, asking, hit, scoped

pytestmark = pytest.mark.requirement("HIST-5")

PLAN = SourcePlan(name="outline", limit=3)
STRONG = Evidence(own=1.0, window=1.0, session=1.0, cos_own=0.9, cos_window=0.9, soft=1.0, phrase=1.0)


class OutlineStub:
    """A reader of histories; `asked` holds the arguments of the last call."""

    def __init__(self, lines: Sequence[OutlineLine]) -> None:
        self.lines = tuple(lines)
        self.asked: tuple[int, Filters] | None = None

    async def latest_lines(self, limit: int, *, filters: Filters) -> tuple[OutlineLine, ...]:
        self.asked = (limit, filters)
        return self.lines


def a_line(event: Event, text: str, messages: int = 2, **fields: Any) -> OutlineLine:
    return OutlineLine(
        session=event.session or "s1",
        text=text,
        first_id=event.id,
        last_id=f"{event.id}-last",
        first_at=event.created_at,
        last_at=event.created_at,
        messages=messages,
        **fields,
    )


class Events(EventsStub):
    """Events by id besides what a search finds."""

    def __init__(self, events: Sequence[Event], **fields: Any) -> None:
        super().__init__(**fields)
        self.known = {event.id: event for event in events}

    async def get(self, ids: Sequence[str]) -> tuple[Event, ...]:
        return tuple(self.known[id] for id in ids if id in self.known)


SAID = [
    an_event(f"{text}, and much more of it", role="user", created_at=MOMENT + timedelta(hours=at))
    for at, text in enumerate(("the tea of Anna", "the train to Rome", "the tea of Anna and Bob", "the roof"))
]
LINES = [a_line(event, event.text[: event.text.index(",")]) for event in SAID]


async def offered(
    lines: Sequence[OutlineLine] = LINES, text: str = "Summarise what we discussed", found: Sequence[Event] = (), **fields: Any
) -> list[Candidate]:
    unread = tuple(Unread(event.id, "events", 3.0, 10) for event in fields.pop("unread", ()))
    events = Events(SAID, hits=[hit(event, STRONG) for event in found], unread=unread)
    store = scoped(events=events, history=OutlineStub(lines))
    plan = fields.pop("plan", PLAN)
    found_lines = await OutlineSource(store, shipped()).gather(asking(text, **{"broad": True, **fields}), plan)
    return [one for one in found_lines if isinstance(one, Candidate)]


async def test_only_an_overview_is_answered_from_the_outline() -> None:
    with pytest.raises(Skipped, match="no_overview"):
        await offered(broad=False)
    assert await offered([]) == []


async def test_a_line_that_repeats_another_comes_after_those_that_add_something() -> None:
    """Of four lines three are offered: one of the two that say nearly the same isn't among them."""
    lines = await offered()
    assert {one.text for one in lines} == {"the tea of Anna and Bob", "the train to Rome", "the roof"}
    strengths = [one.evidence.outline for one in lines]
    assert strengths == sorted(strengths, reverse=True)
    assert min(strengths) > 0


@pytest.mark.parametrize("how", ["found", "unread"])
async def test_what_the_question_is_about_comes_first(how: str) -> None:
    """By what the search finds of the exchange, its first message or its last; a store may have read it or not."""
    roof, train = SAID[3], an_event("the train", id=f"{SAID[1].id}-last")
    for event, text in ((roof, "the roof"), (train, "the train to Rome")):
        given: dict[str, Any] = {how: [event]}
        assert (await offered(**given))[0].text == text


@pytest.mark.requirement("ENGINE-8")
async def test_lines_are_put_in_order_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand of them take tens of milliseconds. The search needs no texts."""
    threads = set[int]()

    def noting(text: str) -> list[str]:
        threads.add(get_ident())
        return analyse(text)

    monkeypatch.setattr(session, "analyse", noting)
    assert len(await offered()) == 3
    assert threads
    assert get_ident() not in threads


async def test_the_search_for_what_lines_are_about_needs_no_texts() -> None:
    events = Events(SAID)
    store = scoped(events=events, history=OutlineStub(LINES))
    await OutlineSource(store, shipped()).gather(asking("Summarise it", broad=True), PLAN)
    assert not events.asked[0].texts


async def test_a_line_stands_for_its_exchange_and_is_as_sensitive() -> None:
    """It names its first message, as one thing with it, and shows a share of it."""
    [line] = await offered([a_line(SAID[0], "the tea of Anna", sensitivity="sensitive")])
    assert (line.id, line.sensitivity, line.category) == (f"{SAID[0].id}@outline", "sensitive", "outline")
    assert line.provenance.refs == (SAID[0].id,)
    assert line.provenance.metadata["share"] == pytest.approx(len("the tea of Anna") / len(SAID[0].text))
    assert (line.created_at, line.session, line.role, line.speaker) == (SAID[0].created_at, SAID[0].session, "", "")


async def test_an_exchange_of_one_message_has_no_line() -> None:
    assert await offered([a_line(SAID[0], "the tea of Anna", messages=1)]) == []


async def test_a_line_whose_message_is_gone_is_not_offered() -> None:
    assert await offered([a_line(an_event("gone"), "what nobody has")]) == []


async def test_a_line_of_what_the_request_holds_is_left_out() -> None:
    """The request brings the exchange itself."""
    lines = await offered()
    said = RequestContents([Message.of("user", next(event.text for event in SAID if f"{event.id}@outline" == lines[0].id))])
    assert [one.id for one in fresh(lines, said, Filters())] == [one.id for one in lines[1:]]


async def test_the_filters_hold_for_lines() -> None:
    """As the reader applies them; a dated request knows nothing of what was said later."""
    history = OutlineStub(LINES)
    query = asking("Summarise it", broad=True, dated=True, filters=Filters(session="s1", sensitivities=("public",)))
    await OutlineSource(scoped(events=Events(SAID), history=history), shipped()).gather(query, PLAN)
    assert history.asked is not None
    assert history.asked[1] == query.said_by_then
