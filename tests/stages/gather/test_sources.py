"""The built-in sources: what each reads from the store, and the candidates that it makes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from germane.api.strategies import DEFAULT, VERBOSE
from germane.search.relevance import shipped
from germane.stages.gather.builtin import SOURCES, sources
from germane.stages.gather.memories import MemorySource, StructuredSource
from germane.stages.gather.merge import RequestContents
from germane.stages.gather.messages import HistorySource, MessageSource, RecentSource
from germane.stages.gather.source import SearchDepth, Skipped, Source
from germane.stores.contract import StillLoading
from germane.types.budget import price_asked
from germane.types.candidate import Candidate
from germane.types.evidence import Evidence, Unread
from germane.types.message import Message
from germane.types.query import Filters, Query
from germane.types.strategy import SourcePlan
from germane_testing.builders import MOMENT, a_memory, an_event
from support.gather_stubs import EventsStub, MemoriesStub, asking, hit, planning, scoped

FILTERS = Filters(kinds=("note",), since=MOMENT - timedelta(days=3))
PLAN = SourcePlan(name="any", limit=3, keywords=True, vectors=False)
EMPTY = RequestContents(())


async def read(source: Source, query: Query) -> list[Candidate]:
    """What the source offers of what it read."""
    return [one for one in await source.gather(query, PLAN) if isinstance(one, Candidate)]


@pytest.mark.requirement("GATHER-1", "GATHER-4")
async def test_memories_are_searched_with_the_plans_means_and_the_querys_filters() -> None:
    reader, query = MemoriesStub([hit(a_memory("Prefers tea"), Evidence(own=0.5))]), asking(filters=FILTERS)
    (found,) = await read(MemorySource(scoped(memories=reader), wait=True), query)
    assert reader.asked == (query, 3, {"keywords": True, "vectors": False, "wait": True})
    assert (found.source, found.category, found.text, found.required) == ("memories", "factual", "Prefers tea", False)
    assert found.evidence == Evidence(own=0.5, curated=1.0)


@pytest.mark.requirement("GATHER-1", "GATHER-4")
async def test_messages_are_searched_likewise() -> None:
    reader, query = EventsStub([hit(an_event("I drink tea", name="Ann"), Evidence(own=0.5))]), asking(filters=FILTERS)
    (found,) = await read(MessageSource(scoped(events=reader), EMPTY), query)
    assert reader.asked == (query, 3, {"keywords": True, "vectors": False, "wait": False})
    assert (found.source, found.category, found.speaker, found.session) == ("messages", "conversation", "Ann", "s1")
    assert found.evidence == Evidence(own=0.5)


@pytest.mark.requirement("SIG-1")
async def test_what_holds_the_querys_identifiers_letter_for_letter_says_so() -> None:
    """Half of them, half as much."""
    reader = EventsStub([hit(an_event("see Config.py"), Evidence())])
    query = asking(identifiers=("config.py",), phrases=("not there",))
    (found,) = await read(MessageSource(scoped(events=reader), EMPTY), query)
    assert found.evidence.identifier == 0.5


async def test_what_no_floor_would_let_pass_is_not_looked_for() -> None:
    """But for words that are to be found to the letter: those speak for a message only when its text is there."""
    reader = EventsStub([hit(an_event("I drink tea"), Evidence())])
    messages = MessageSource(scoped(events=reader), EMPTY, depth=SearchDepth(2, 0.01, 0.002))
    asked = (
        (asking(question=True), 0.01, 0.002),
        (asking(), 0.01, price_asked(0.002, asks=False, broad=False)),
        (asking(phrases=("drink tea",)), 0.0, 0.0),
        (asking(identifiers=("a.py",)), 0.0, 0.0),
    )
    for query, min_relevance, price in asked:
        await messages.gather(query, PLAN)
        assert (reader.asked[0].min_relevance, reader.asked[0].price) == (min_relevance, price)


@pytest.mark.requirement("AMOUNT-3", "ENGINE-5")
async def test_what_a_search_did_not_read_is_named() -> None:
    """Beside what it read."""
    faint = Unread("e9", "events", -8.0, 40)
    reader = EventsStub([hit(an_event("I drink tea"), Evidence())], unread=(faint,))
    found = await MessageSource(scoped(events=reader), EMPTY, depth=SearchDepth(5, 0.0, 0.002)).gather(asking(), PLAN)
    assert [one for one in found if isinstance(one, Unread)] == [faint]
    assert len(found) == 2


@pytest.mark.requirement("AMOUNT-3", "GATHER-2a")
@pytest.mark.parametrize(("repeated", "searches"), [(0, 1), (1, 1), (2, 2), (3, 2)])
async def test_results_that_the_request_holds_already_are_no_measure(repeated: int, searches: int) -> None:
    """Where most of the best are among its own messages, the others are read whatever they cost."""
    events = [an_event(f"I drink tea number {number}", session="s7") for number in range(3)]
    reader = EventsStub([hit(event, Evidence()) for event in events], unread=(Unread("e9", "events", -8.0, 40),))
    said = RequestContents([Message.of("user", event.text) for event in events[:repeated]])
    depth = SearchDepth(5, 0.0, 0.002)
    await MessageSource(scoped(events=reader), said, depth=depth).gather(asking(), PLAN)
    assert reader.searches == searches
    assert (reader.asked[0].price == 0) == (searches == 2)


@pytest.mark.parametrize("make", [MemorySource, lambda store: MessageSource(store, EMPTY)])
async def test_without_anything_to_look_for_a_search_is_skipped(make: Any) -> None:
    with pytest.raises(Skipped, match="no_query"):
        await make(scoped()).gather(asking(""), PLAN)


async def test_a_partition_that_is_being_loaded_is_told_of() -> None:
    with pytest.raises(StillLoading):
        await MessageSource(scoped(events=EventsStub(error=StillLoading())), EMPTY).gather(asking(), PLAN)


@pytest.mark.requirement("GATHER-1", "GATHER-4")
async def test_what_is_asked_for_by_name_is_required() -> None:
    """Pinned memories, keys and tags; no more than the limit."""
    reader = MemoriesStub(named=[a_memory(f"{number}") for number in range(5)])
    query = asking("", filters=FILTERS)
    found = await StructuredSource(scoped(memories=reader), ("drink",), ("vip",)).gather(query, PLAN)
    assert reader.asked == (("drink",), ("vip",), query.at, FILTERS)
    assert [one.text for one in found] == ["0", "1", "2"]
    assert all(one.required and one.evidence == Evidence(structured=1.0, curated=1.0) for one in found)


@pytest.mark.requirement("GATHER-1", "GATHER-4")
async def test_recent_messages_speak_less_the_further_back_they_are() -> None:
    """Half as loud eight turns back."""
    reader, query = EventsStub(latest=[an_event(f"{number}") for number in range(20)]), asking(filters=FILTERS)
    found = await RecentSource(scoped(events=reader)).gather(query, SourcePlan(name="recent", limit=9))
    assert reader.asked == (9, None, FILTERS)
    assert [found[turn].evidence.recent for turn in (0, 8)] == pytest.approx([1.0, 0.5])


@pytest.mark.requirement("GATHER-2a", "GATHER-4")
async def test_history_is_this_sessions_stored_messages() -> None:
    """Newest loudest."""
    reader, query = EventsStub(latest=[an_event(f"{number}") for number in range(20)]), asking(filters=FILTERS)
    found = await HistorySource(scoped(events=reader, session="s1")).gather(query, SourcePlan(name="history", limit=9))
    assert reader.asked == (9, "s1", FILTERS)
    assert [found[turn].evidence.history for turn in (0, 8)] == pytest.approx([1.0, 0.5])
    assert {one.source for one in found} == {"history"}


async def test_without_a_session_there_is_no_history() -> None:
    with pytest.raises(Skipped, match="no_session"):
        await HistorySource(scoped()).gather(asking(), PLAN)


@pytest.mark.requirement("GATHER-1")
def test_a_strategy_gets_the_sources_it_plans_and_no_others() -> None:
    """The directive is none of them; those of the graph are planned by archetypes alone."""
    of_the_graph = {"entities", "events", "patterns", "relations"}
    assert set(sources(scoped(), DEFAULT, {}, wait=False, said=EMPTY, relevance=shipped())) == set(SOURCES) - of_the_graph - {
        "directive",
        "history",
        "recent",
        "semantic",
    }
    assert set(sources(scoped(), VERBOSE, {}, wait=False, said=EMPTY, relevance=shipped())) == (
        set(SOURCES) - of_the_graph - {"directive", "continuity", "days", "outline", "profile", "semantic"}
    )
    assert set(sources(scoped(), planning(*of_the_graph), {}, wait=False, said=EMPTY, relevance=shipped())) == of_the_graph
    assert set(sources(scoped(), planning("recent", "mesages"), {}, wait=False, said=EMPTY, relevance=shipped())) == {"recent"}


@pytest.mark.requirement("GATHER-1")
async def test_a_registered_source_takes_a_built_in_ones_place() -> None:
    """It is made from the one scoped store it may see, when it is asked."""

    class Mine:
        def __init__(self, scoped: Any) -> None:
            self.scoped = scoped

        async def gather(self, query: Any, plan: Any) -> Any:
            return [self.scoped]

    on = scoped()
    made = sources(
        on,
        planning("recent", "mine"),
        {"recent": Mine, "mine": Mine, "unplanned": Mine},
        wait=False,
        said=EMPTY,
        relevance=shipped(),
    )
    assert set(made) == {"recent", "mine"}
    answer: Any = await made["recent"].gather(asking(), PLAN)
    assert answer == [on]
