"""The built-in sources: what each reads from the store, and the candidates that it makes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from germane.api.strategies import DEFAULT, VERBOSE
from germane.pipeline.gather.builtin import SOURCES, sources
from germane.pipeline.gather.depth import SearchDepth
from germane.pipeline.gather.memories import MemorySource, StructuredSource
from germane.pipeline.gather.merge import RequestContents
from germane.pipeline.gather.messages import HistorySource, MessageSource, RecentSource
from germane.pipeline.gather.source import Skipped
from germane.store import Warming
from germane.testing.builders import MOMENT
from germane.testing.stored import a_memory, an_event
from germane.types.evidence import Evidence
from germane.types.query import Filters
from germane.types.strategy import SourcePlan
from support.gather_stubs import EventsStub, MemoriesStub, asking, hit, planning, scoped

FILTERS = Filters(kinds=("note",), since=MOMENT - timedelta(days=3))
PLAN = SourcePlan(name="any", limit=3, keywords=True, vectors=False)
EMPTY = RequestContents(())


@pytest.mark.requirement("GATHER-1", "GATHER-4")
async def test_memories_are_searched_with_the_plans_means_and_the_querys_filters() -> None:
    reader, query = MemoriesStub([hit(a_memory("Prefers tea"), Evidence(own=0.5))]), asking(filters=FILTERS)
    (found,) = await MemorySource(scoped(memories=reader), wait=True).gather(query, PLAN)
    assert reader.asked == (query, 3, {"keywords": True, "vectors": False, "wait": True})
    assert (found.source, found.category, found.text, found.required) == ("memories", "factual", "Prefers tea", False)
    assert found.evidence == Evidence(own=0.5, curated=1.0)


@pytest.mark.requirement("GATHER-1", "GATHER-4")
async def test_messages_are_searched_likewise() -> None:
    reader, query = EventsStub([hit(an_event("I drink tea", name="Ann"), Evidence(own=0.5))]), asking(filters=FILTERS)
    (found,) = await MessageSource(scoped(events=reader)).gather(query, PLAN)
    assert reader.asked == (query, 3, {"keywords": True, "vectors": False, "wait": False})
    assert (found.source, found.category, found.speaker, found.session) == ("messages", "conversation", "Ann", "s1")
    assert found.evidence == Evidence(own=0.5)


@pytest.mark.requirement("SIG-1")
async def test_what_holds_the_querys_identifiers_letter_for_letter_says_so() -> None:
    """Half of them, half as much."""
    reader = EventsStub([hit(an_event("see Config.py"), Evidence())])
    query = asking(identifiers=("config.py",), phrases=("not there",))
    (found,) = await MessageSource(scoped(events=reader)).gather(query, PLAN)
    assert found.evidence.identifier == 0.5


async def test_what_no_floor_would_let_pass_is_not_looked_for() -> None:
    """But for words that are to be found to the letter: those speak for a message only when its text is there."""
    reader = EventsStub([hit(an_event("I drink tea"), Evidence())])
    messages = MessageSource(scoped(events=reader), depth=SearchDepth(2, 0.01, 0.002))
    asked = ((asking(), 0.01, 0.002), (asking(phrases=("drink tea",)), 0.0, 0.0), (asking(identifiers=("a.py",)), 0.0, 0.0))
    for query, min_relevance, min_share in asked:
        await messages.gather(query, PLAN)
        assert (reader.asked[0].min_relevance, reader.asked[0].min_share) == (min_relevance, min_share)


@pytest.mark.parametrize("make", [MemorySource, MessageSource])
async def test_without_anything_to_look_for_a_search_is_skipped(make: Any) -> None:
    with pytest.raises(Skipped, match="no_query"):
        await make(scoped()).gather(asking(""), PLAN)


async def test_a_partition_that_is_being_loaded_is_told_of() -> None:
    with pytest.raises(Warming):
        await MessageSource(scoped(events=EventsStub(error=Warming()))).gather(asking(), PLAN)


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
    """The directive is none of them."""
    assert set(sources(scoped(), DEFAULT, {}, wait=False, said=EMPTY)) == set(SOURCES) - {
        "directive",
        "history",
        "recent",
    }
    assert set(sources(scoped(), VERBOSE, {}, wait=False, said=EMPTY)) == set(SOURCES) - {"directive", "continuity"}
    assert set(sources(scoped(), planning("recent", "mesages"), {}, wait=False, said=EMPTY)) == {"recent"}


@pytest.mark.requirement("GATHER-1")
async def test_a_registered_source_takes_a_built_in_ones_place() -> None:
    """It is made from the one scoped store it may see, when it is asked."""

    class Mine:
        def __init__(self, scoped: Any) -> None:
            self.scoped = scoped

        async def gather(self, query: Any, plan: Any) -> Any:
            return [self.scoped]

    on = scoped()
    made = sources(on, planning("recent", "mine"), {"recent": Mine, "mine": Mine, "unplanned": Mine}, wait=False, said=EMPTY)
    assert set(made) == {"recent", "mine"}
    answer: Any = await made["recent"].gather(asking(), PLAN)
    assert answer == [on]
