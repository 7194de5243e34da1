"""Event contract: the tests of `StoreContract` about events, sessions and documents, compactions and outlines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from germane.compaction.notes import SpanSummary
from germane.errors import InvalidInput
from germane.kinds.conversations.reads import (
    MAX_SUMMARIES,
    CompactionIdsInUse,
    CompleteOutline,
    EntriesByHandle,
    HandlesForgotten,
    HandlesKept,
    LatestLines,
    LatestSummaries,
    ListOutline,
    OutlineLeft,
    PutArchived,
    PutSummary,
    SummariesKept,
)
from germane.kinds.documents.plans import begin_document, read_document
from germane.kinds.documents.reads import DocumentIn, DocumentMark, ListDocuments, PlacePassages, PutMark
from germane.kinds.events.reads import (
    EventsNamed,
    LatestHighlights,
    LatestTyped,
    ListEvents,
    ListSessions,
    PositionsTaken,
    PutEvent,
    RecentEvents,
    SeenEvents,
    TypedPosition,
)
from germane.kinds.events.value import DOCUMENT, FIRST_TYPED, Event
from germane.kinds.inventory import AllowedIds, ScopeStats
from germane.kinds.memories.reads import Forget, ForgetOwner, PutMemory, Select
from germane.kinds.messages.plans import read_tail
from germane.stores.contract import ScopedStore, Store
from germane.types.candidate import Provenance
from germane.types.plan import Decision, Plan, read
from germane.types.query import Filters
from germane.types.scope import Scope
from germane_testing.builders import NOON, a_memory, a_summary, an_archived, an_event, asking, question, writing
from germane_testing.scope_contract import ALL, ANNA, LATER

# Events and sessions: fields, order and numbering.


class EventContract:
    """Tests of events and sessions. Inherit `StoreContract`, which has them all."""

    async def test_an_event_comes_back_equal(self, scoped: ScopedStore) -> None:
        """Every field is stored, and the event carries the start and the number of its session."""
        event = an_event(
            "Bom dia \x00",
            name="Ana",
            message_id="m1",
            sensitivity="public",
            raw={"role": "user", "n": [1]},
            outcome="failed",
            task="t1",
            content_hash=(1 << 63) - 1,
        )
        await scoped.commit(writing(PutEvent(event)))
        (found,) = await scoped.ask(SeenEvents([event.id]))
        assert found == event._replace(session_started_at=event.created_at, session_number=1)
        assert found.raw == {"role": "user", "n": [1]}

    async def test_recent_is_newest_first_and_narrowed(self, scoped: ScopedStore) -> None:
        """`recent` filters by session, time, type and exclusion, and sorts a late message by its time."""
        events = [an_event(f"a{n}", session="a", position=n) for n in range(3)]
        events += [an_event(f"b{n}", session="b", position=n, created_at=NOON + timedelta(minutes=n + 1)) for n in range(2)]
        late = an_event("late", session="a", position=3, created_at=NOON + timedelta(seconds=0.5), message_id="m")
        await scoped.commit(writing(*map(PutEvent, [*events, late])))

        async def recent(limit: int = 9, session: str | None = None, **filters: Any) -> list[str]:
            found = await scoped.ask(RecentEvents(limit, session=session, filters=Filters(**filters)))
            return [event.text for event in found]

        assert await recent() == ["b1", "b0", "a2", "a1", "late", "a0"]
        assert await recent(2) == ["b1", "b0"]
        assert await recent(session="a") == ["a2", "a1", "late", "a0"]
        assert await recent(exclude=frozenset({"m", events[0].id}), session="a") == ["a2", "a1"]
        assert await recent(until=NOON) == ["a0"]
        assert await recent(tags=("x",)) == []
        assert await recent(task="t1") == []
        assert [event.text for event in await scoped.ask(RecentEvents(1, filters=Filters(until=NOON)))] == ["a0"]

    async def test_events_that_are_no_messages_stand_beside_them(self, scoped: ScopedStore) -> None:
        """They have positions of their own, so that the messages' stay as they were; readings narrow to either."""
        said = [an_event(f"said {n}", position=n, role="user") for n in range(2)]
        done = [
            an_event(f"done {n}", type="shell_exec", position=FIRST_TYPED + n, message_id=f"d{n}", created_at=NOON)
            for n in (0, 1)
        ]
        await scoped.commit(writing(PutEvent(said[0]), *map(PutEvent, done), PutEvent(said[1])))
        tail, length = await scoped.commit(read_tail(said[0].session, 9))
        assert [head.position for head in tail] == [0, 1]
        assert length == 2

        async def texts(typed: bool | None) -> tuple[set[str], set[str]]:
            found = await scoped.ask(RecentEvents(9, filters=Filters(), typed=typed))
            page = await scoped.ask(ListEvents(Filters(), limit=9, typed=typed))
            return {event.text for event in found}, {event.text for event in page.messages}

        assert await texts(False) == ({"said 0", "said 1"}, {"said 0", "said 1"})
        assert await texts(True) == ({"done 0", "done 1"}, {"done 0", "done 1"})
        assert len((await texts(None))[0]) == 4

    async def test_plans_read_events_that_are_no_messages(self, scoped: ScopedStore) -> None:
        """The next position, those with the caller's ids, the latest by time, and which positions are taken; in the same
        transaction too."""
        session = an_event("x").session
        late = an_event("late", type="error", position=FIRST_TYPED, message_id="e", created_at=NOON + timedelta(hours=1))
        early = an_event("early", type="error", position=FIRST_TYPED + 1)

        def plan() -> Plan[tuple[int, list[str], list[str], frozenset[int]]]:
            next = yield from read(TypedPosition(session))
            named = yield from read(EventsNamed(session, ("e", "none")))
            latest = yield from read(LatestTyped(session, 9, NOON + timedelta(hours=2)))
            taken = yield from read(PositionsTaken(session, FIRST_TYPED + 1, 5))
            return Decision((), (next, [event.text for event in named.values()], [event.text for event in latest], taken))

        assert await scoped.commit(plan()) == (FIRST_TYPED, [], [], frozenset())
        await scoped.commit(writing(PutEvent(late), PutEvent(early)))
        expected = (FIRST_TYPED + 2, ["late"], ["early", "late"], frozenset({FIRST_TYPED + 1}))
        assert await scoped.commit(plan()) == expected

    async def test_highlights_are_those_of_the_latest_sessions(self, scoped: ScopedStore) -> None:
        """The latest session first, each oldest first, without the session that is left out, within the filters."""
        made = list[PutEvent]()
        for n, session in enumerate("abc"):
            for place, (type, text) in enumerate((("decision", "why"), ("file_read", "look"), ("error", "bad"))):
                at = NOON + timedelta(hours=n, minutes=place)
                made.append(
                    PutEvent(
                        an_event(f"{text} {session}", session=session, type=type, position=FIRST_TYPED + place, created_at=at)
                    )
                )
        await scoped.commit(writing(*made))

        async def found(sessions: int, limit: int = 9, but: str | None = None, **filters: Any) -> list[str]:
            events = await scoped.ask(LatestHighlights(sessions, limit=limit, filters=Filters(**filters), but=but))
            return [event.text for event in events]

        assert await found(2) == ["why c", "bad c", "why b", "bad b"]
        assert await found(2, but="c") == ["why b", "bad b", "why a", "bad a"]
        assert await found(1, limit=1) == ["why c"]
        assert await found(9, event_types=("error",)) == ["bad c", "bad b", "bad a"]
        assert await found(9, task="t") == await found(0) == await found(9, sensitivities=()) == []

    async def test_events_of_a_task_are_found_by_it(self, scoped: ScopedStore) -> None:
        """The filter `task` reaches reading and searching of events; no memory has a task."""
        texts = (("the boiler leaks", "t1"), ("the boiler is mended", "t2"), ("the boiler hums", None))
        events = [an_event(text, position=n, task=task) for n, (text, task) in enumerate(texts)]
        await scoped.commit(writing(*map(PutEvent, events), PutMemory(a_memory("the boiler is old"))))
        filters = Filters(task="t1")
        assert [event.text for event in await scoped.ask(RecentEvents(9, filters=filters))] == ["the boiler leaks"]
        found = await scoped.events.search(question("boiler", task="t1"), 9, keywords=True, vectors=False, wait=True)
        assert [hit.thing.text for hit in found.hits] == ["the boiler leaks"]
        asked = question("boiler", task="t1")
        assert not (await scoped.memories.search(asked, 9, keywords=True, vectors=False, wait=True)).hits

    async def test_a_search_that_needs_no_texts_finds_the_same(self, scoped: ScopedStore) -> None:
        """Whether the store reads them all the same is its own affair."""
        events = [an_event(f"the boiler {what}", position=n) for n, what in enumerate(("leaks", "hums", "is mended"))]
        await scoped.commit(writing(*map(PutEvent, events)))
        how: dict[str, bool] = {"keywords": True, "vectors": False, "wait": True}
        read = await scoped.events.search(question("boiler"), 9, **how)
        found = await scoped.events.search(replace(question("boiler"), texts=False), 9, **how)
        ids = [*(hit.thing.id for hit in found.hits), *(one.id for one in found.unread)]
        assert sorted(ids) == sorted(hit.thing.id for hit in read.hits) == sorted(event.id for event in events)

    async def test_recent_looks_into_the_five_latest_sessions(self, scoped: ScopedStore) -> None:
        """`recent` returns no events of the sixth latest session."""
        events = [an_event(f"s{n}", session=f"s{n}", created_at=NOON + timedelta(days=n)) for n in range(7)]
        await scoped.commit(writing(*map(PutEvent, events)))
        found = await scoped.ask(RecentEvents(50, filters=Filters()))
        assert [event.text for event in found] == ["s6", "s5", "s4", "s3", "s2"]

    async def test_sessions_are_numbered_by_beginning(self, scoped: ScopedStore) -> None:
        """A session's number is its rank by start, even where an earlier session is recorded later; `sessions` returns the
        latest first."""
        for name, day in (("b", 2), ("c", 3), ("a", 1)):
            event = an_event(session=name, created_at=NOON + timedelta(days=day), name=name.upper())
            await scoped.commit(writing(PutEvent(event)))
        found = (await scoped.ask(ListSessions(9))).sessions
        assert [(session.id, session.number, session.length) for session in found] == [("c", 3, 1), ("b", 2, 1), ("a", 1, 1)]
        assert await scoped.events.speakers() == ("A", "B", "C")
        assert await scoped.events.speakers("Did a or C come?") == ("A", "C")


# Documents: what marks a session as one, and what stays apart.


_MARK = DocumentMark(title="Guide", media_type="text/plain", size=9, digest="d", updated_at=NOON)


def a_passage(text: str, position: int, session: str = "document:guide") -> Event:
    """A passage of a document that is called Guide."""
    place = Provenance(session=session, metadata={"title": "Guide", "media_type": "text/plain", "locator": "line 1"})
    event = an_event(text, session=session, position=position, created_at=NOON + timedelta(microseconds=position))
    return event._replace(type=DOCUMENT, role="", provenance=place)


class DocumentContract:
    """Tests of documents. Inherit `StoreContract`, which has them all."""

    async def test_a_session_of_passages_is_a_document_and_no_conversation(self, scoped: ScopedStore) -> None:
        """It has no number, and only a filter that names its session or type lists its passages."""
        await scoped.commit(writing(PutEvent(a_passage("Guide\none", 1)), PutEvent(a_passage("Guide\ntwo", 2))))
        await scoped.commit(writing(PutEvent(an_event("said", session="talk"))))
        sessions = (await scoped.ask(ListSessions(9))).sessions
        assert [(session.id, session.number) for session in sessions] == [("talk", 1)]
        assert [event.text for event in await scoped.ask(RecentEvents(9, filters=Filters()))] == ["said"]
        assert [event.text for event in (await scoped.ask(ListEvents(Filters(), limit=9))).messages] == ["said"]
        for filters in (Filters(session="document:guide"), Filters(event_types=(DOCUMENT,))):
            found = (await scoped.ask(ListEvents(filters, limit=9))).messages
            assert [event.text for event in found] == ["Guide\ntwo", "Guide\none"]
        (kept,) = (await scoped.ask(ListDocuments(9))).documents
        assert (kept.source, kept.title, kept.passages, kept.complete) == ("guide", "Guide", 2, True)

    async def test_the_mark_tells_what_is_stored_and_who_writes(self, scoped: ScopedStore) -> None:
        """An ingestion of another content takes the mark; one of the same content leaves it."""
        await scoped.commit(writing(PutEvent(a_passage("Guide\none", 1)), PutMark("document:guide", _MARK)))
        await scoped.commit(begin_document("document:guide", "d", "me"))
        found = await scoped.commit(read_document("document:guide"))
        assert found is not None
        assert found.mark == _MARK
        assert found.base == NOON
        await scoped.commit(begin_document("document:guide", "other", "me"))
        kept = await scoped.ask(DocumentIn("document:guide"))
        assert kept is not None
        assert not kept.complete
        assert (kept.title, kept.size) == ("Guide", 9)

    async def test_a_place_changes_without_the_text(self, scoped: ScopedStore) -> None:
        """Ids that aren't the scope's are skipped."""
        passage = a_passage("Guide\none", 1)
        await scoped.commit(writing(PutEvent(passage)))
        moved = {**passage.provenance.metadata, "locator": "line 7"}
        await scoped.commit(writing(PlacePassages("document:guide", ((passage.id, moved), ("nobody's", moved)))))
        (found,) = await scoped.ask(SeenEvents([passage.id]))
        assert found.provenance.metadata == moved
        assert (found.text, found.position) == (passage.text, 1)

    async def test_documents_are_no_sessions_of_which_highlights_are_told(self, scoped: ScopedStore) -> None:
        """However many were ingested since."""
        await scoped.commit(writing(PutEvent(an_event("why", type="decision", position=FIRST_TYPED))))
        for n in range(3):
            passage = a_passage(f"Guide\n{n}", 1_000_000 + n, session=f"document:{n}")
            await scoped.commit(writing(PutEvent(passage), PutMark(f"document:{n}", _MARK)))
        found = await scoped.ask(LatestHighlights(1, limit=9, filters=Filters()))
        assert [event.text for event in found] == ["why"]

    async def test_a_document_goes_with_its_last_passage(self, scoped: ScopedStore) -> None:
        """With its mark; its name is free for a conversation then."""
        passage = a_passage("Guide\none", 1)
        await scoped.commit(writing(PutEvent(passage), PutMark("document:guide", _MARK)))
        await scoped.commit(writing(Forget(event_ids=(passage.id,), at=NOON)))
        assert await scoped.ask(DocumentIn("document:guide")) is None
        assert await scoped.commit(read_document("document:guide")) is None


# What every store must keep of compactions and outlines.


SESSION = "long"
BENS_SESSION = replace(ANNA, user="ben")


def _said(*texts: str, first: int = 0, session: str = SESSION) -> tuple[Event, ...]:
    """Messages of ANNA's session: those that begin with `>` are the assistant's."""
    return tuple(
        an_event(
            text.removeprefix(">"),
            session=session,
            position=position,
            user=ANNA.user,
            type="assistant_message" if text.startswith(">") else "user_message",
            role="assistant" if text.startswith(">") else "user",
        )
        for position, text in enumerate(texts, first)
    )


async def _spans(scoped: ScopedStore, session: str = SESSION) -> list[tuple[str, str, int]]:
    """The first and the last id of each line of the outline, and how many messages it has."""
    page = await scoped.ask(ListOutline(session, limit=100))
    assert page.cursor is None
    return [(line.first_id, line.last_id, line.messages) for line in page.lines]


def _of(*exchanges: Sequence[Event]) -> list[tuple[str, str, int]]:
    return [(exchange[0].id, exchange[-1].id, len(exchange)) for exchange in exchanges]


class ConversationContract:
    """An entry is read back as it was written, a summary never replaces another one, and an outline has a line for each
    exchange that is stored; all of it belongs to one owner and goes with what it was made from."""

    @pytest.fixture
    def opening(self) -> Callable[[], Store]:
        raise NotImplementedError

    async def test_an_archived_entry_is_read_back_as_it_was_written(self, opening: Callable[[], Store]) -> None:
        """Here and in another handle; the second entry with its handle changes nothing."""
        store, other = opening(), opening()
        mine = store.within(ANNA)
        first, second = (
            an_archived("one", "two", session=SESSION),
            an_archived("a \ud800 b", session=SESSION, previous="h1", at=LATER),
        )
        before = await mine.revision()
        await mine.commit(writing(PutArchived(first), PutArchived(second)))
        assert await mine.revision() > before
        again = replace(an_archived("one", "two", session=SESSION), entry=replace(first.entry, title="another"))
        await mine.commit(writing(PutArchived(again)))
        handles = (second.entry.handle, "h000000000000", first.entry.handle)
        assert await other.within(ANNA).ask(EntriesByHandle(handles, SESSION)) == (second, first)
        assert await mine.ask(EntriesByHandle(handles)) == (second, first)
        assert await mine.ask(EntriesByHandle(handles, "another")) == ()
        kept = await mine.commit(asking(HandlesKept(SESSION, handles)))
        assert kept == {first.entry.handle, second.entry.handle}
        moved = replace(first, id=again.id, session="another")
        await mine.commit(writing(PutArchived(moved)))
        assert await mine.ask(EntriesByHandle([first.entry.handle], "another")) == (moved,)
        await other.close()
        await store.close()

    async def test_a_summary_never_takes_the_place_of_another(self, opening: Callable[[], Store]) -> None:
        """The first one with its fingerprint and method stays, all of them in order."""
        store = opening()
        mine = store.within(ANNA)
        one = a_summary(session=SESSION)
        two = a_summary("better", session=SESSION, created_at=LATER)
        by_llm = a_summary(session=SESSION, summary=replace(one.summary, method="llm", note="n"), created_at=LATER)
        later = a_summary("later", session=SESSION, fingerprint="f2", created_at=LATER)
        await mine.commit(writing(PutSummary(one)))
        await mine.commit(writing(*map(PutSummary, (two, by_llm, later))))
        assert await mine.ask(LatestSummaries(SESSION, 10)) == (one, by_llm, later)
        assert await mine.ask(LatestSummaries(SESSION, 2)) == (by_llm, later)
        assert await mine.commit(asking(SummariesKept(SESSION, ("f1", "f9")))) == (one, by_llm)
        assert await mine.ask(LatestSummaries("another", 10)) == ()
        await store.close()

    async def test_the_oldest_summaries_go_with_the_commit_of_newer_ones(self, opening: Callable[[], Store]) -> None:
        """Of one session, and of no other."""
        store = opening()
        mine = store.within(ANNA)
        made = [a_summary(session=SESSION, fingerprint=f"f{number}", id=f"i{number}") for number in range(MAX_SUMMARIES + 2)]
        await mine.commit(writing(PutSummary(a_summary()), *map(PutSummary, made)))
        assert await mine.ask(LatestSummaries(SESSION, 2 * MAX_SUMMARIES)) == tuple(made[2:])
        assert len(await mine.ask(LatestSummaries("s1", 10))) == 1
        await store.close()

    async def test_an_outline_has_a_line_for_each_exchange(self, opening: Callable[[], Store]) -> None:
        """However its messages come: alone, many at once, or before others that are stored."""
        store = opening()
        mine = store.within(ANNA)
        said = _said("Book a table", ">Done", ">At eight", "And a taxi", ">Booked", "Thanks")
        for event in said[:3]:
            await mine.commit(writing(PutEvent(event)))
        assert await _spans(mine) == _of(said[:3])
        await mine.commit(writing(*map(PutEvent, said[4:])))
        assert await _spans(mine) == _of([*said[:3], said[4]], said[5:])
        await mine.commit(writing(PutEvent(said[3])))
        assert await _spans(mine) == _of(said[:3], said[3:5], said[5:])
        lines = (await mine.ask(ListOutline(SESSION, limit=9))).lines
        assert "table" in lines[0].text
        assert "taxi" in lines[1].text
        assert "Thanks" in lines[2].text
        assert [line.first_at for line in lines] == [said[0].created_at, said[3].created_at, said[5].created_at]
        assert (lines[0].session, lines[0].last_at, lines[0].sensitivity) == (SESSION, said[2].created_at, "private")
        assert not await mine.ask(OutlineLeft(SESSION))
        await store.close()

    async def test_the_latest_lines_of_all_sessions_are_read_by_time(self, opening: Callable[[], Store]) -> None:
        """Narrowed by filters; agent-wide ones are seen too."""
        store = opening()
        mine, wide = store.within(ANNA), store.within(replace(ANNA, user=None))
        first, second = _said("Paris", ">P", "Rome", ">R", "end"), _said("Oslo", ">O", "end", first=20, session="later")
        shared = tuple(event._replace(user=None) for event in _said("Bern", ">B", "end", first=10, session="shared"))
        await mine.commit(writing(*map(PutEvent, (*first, *second))))
        await wide.commit(writing(*map(PutEvent, shared)))

        async def read(limit: int = 9, **filters: Any) -> str:
            lines = await mine.ask(LatestLines(limit, filters=replace(ALL, **filters)))
            return " ".join(name for line in lines for name in ("Paris", "Rome", "Bern", "Oslo") if name in line.text)

        assert await read() == "Paris Rome Bern Oslo"
        assert await read(2) == "Bern Oslo"
        assert await read(session=SESSION) == "Paris Rome"
        assert await read(since=shared[0].created_at) == "Bern Oslo"
        assert await read(until=shared[1].created_at) == "Paris Rome Bern"
        assert await read(exclude=frozenset({first[1].id})) == "Rome Bern Oslo"
        assert await read(sensitivities=("public",)) == ""
        assert await read(tags=("x",)) == await read(event_types=("x",)) == await read(task="x") == ""
        assert [line.session for line in await wide.ask(LatestLines(9, filters=ALL))] == ["shared"]
        await store.close()

    async def test_a_line_is_as_sensitive_as_its_messages(self, opening: Callable[[], Store]) -> None:
        store = opening()
        mine = store.within(ANNA)
        hello, secret, public = _said("hello", ">secret", "bye")
        events = (hello._replace(sensitivity="public"), secret._replace(sensitivity="sensitive"))
        await mine.commit(writing(*map(PutEvent, (*events, public._replace(sensitivity="public")))))
        page = await mine.ask(ListOutline(SESSION, limit=9))
        assert [line.sensitivity for line in page.lines] == ["sensitive", "public"]
        await store.close()

    async def test_the_gate_knows_the_lines_of_outlines(self, opening: Callable[[], Store]) -> None:
        """Each by the id of its first message, while it is there, for its owner, with an allowed sensitivity."""
        store = opening()
        mine, theirs = store.within(ANNA), store.within(BENS_SESSION)
        said = _said("hello", ">secret", "bye", ">bye", "end")
        hidden = said[1]._replace(sensitivity="sensitive")
        await mine.commit(writing(*map(PutEvent, (said[0], hidden, *said[2:]))))
        names = [f"{event.id}@outline" for event in said]

        async def allowed(of: ScopedStore = mine, *levels: Any) -> list[int]:
            passed = await of.ask(AllowedIds(names, LATER, replace(ALL, sensitivities=levels or ALL.sensitivities)))
            return [number for number, name in enumerate(names) if name in passed]

        assert await allowed(mine, "public", "private", "sensitive") == [0, 2]
        assert await allowed(mine, "public", "private") == [2]
        assert await allowed(theirs, "public", "private", "sensitive") == []
        await mine.commit(writing(Forget(event_ids=(said[2].id,), at=LATER)))
        assert await allowed(mine, "public", "private", "sensitive") == [0]
        await store.close()

    async def test_an_outline_is_read_in_pages(self, opening: Callable[[], Store]) -> None:
        """The exchange that goes on is the last line of the last page, whatever the size of the pages."""
        store = opening()
        mine = store.within(ANNA)
        await mine.commit(writing(*map(PutEvent, _said("a", ">1", "b", ">2", "c", ">3", "d"))))
        whole = (await mine.ask(ListOutline(SESSION, limit=100))).lines
        for limit in (1, 2, 3, 4):
            seen, cursor, pages = list[object](), None, 0
            while cursor is not None or not pages:
                page = await mine.ask(ListOutline(SESSION, limit=limit, cursor=cursor))
                seen, cursor, pages = [*seen, *page.lines], page.cursor, pages + 1
            assert tuple(seen) == whole
            assert pages == -(-4 // limit)
        foreign = (await mine.ask(ListOutline(SESSION, limit=1))).cursor
        with pytest.raises(InvalidInput):
            await mine.ask(ListOutline("another", limit=1, cursor=foreign))
        await store.close()

    async def test_a_long_exchange_has_a_line_for_each_hundred_messages(self, opening: Callable[[], Store]) -> None:
        """So has one that is written at once and needs several changes to complete."""
        store = opening()
        mine = store.within(ANNA)
        said = _said("go", *(f">step {number}" for number in range(1_249)))
        await mine.commit(writing(*map(PutEvent, said)))
        while await mine.commit(asking(OutlineLeft(SESSION))):
            await mine.commit(writing(CompleteOutline(SESSION)))
        assert await _spans(mine) == _of(*(said[start : start + 100] for start in range(0, 1_250, 100)))
        await store.close()

    async def test_forgotten_messages_leave_their_lines(self, opening: Callable[[], Store]) -> None:
        """What is left of an exchange whose beginning is forgotten belongs to the one before it."""
        store = opening()
        mine = store.within(ANNA)
        said = _said("Paris", ">P", "Rome", ">R", "Oslo", ">O", "Bern", ">B", "Kyiv", ">K")

        async def without(*gone: Event) -> str:
            await mine.commit(writing(Forget(event_ids=tuple(event.id for event in gone), at=LATER)))
            return " ".join(line.text for line in (await mine.ask(ListOutline(SESSION, limit=100))).lines)

        await mine.commit(writing(*map(PutEvent, said)))
        assert "Rome" not in await without(said[2])
        assert await _spans(mine) == _of([*said[:2], said[3]], said[4:6], said[6:8], said[8:])
        text = await without(said[4], said[5])
        assert "Oslo" not in text
        assert "Bern" in text
        assert await _spans(mine) == _of([*said[:2], said[3]], said[6:8], said[8:])
        assert "Kyiv" not in await without(said[8])
        assert await _spans(mine) == _of([*said[:2], said[3]], [*said[6:8], said[9]])
        assert "Paris" not in await without(said[0])
        assert await _spans(mine) == _of([said[1], said[3]], [*said[6:8], said[9]])
        await mine.commit(writing(*map(PutEvent, _said("Riga", ">Ri", first=10))))
        assert [count for _, _, count in await _spans(mine)] == [2, 3, 2]
        await without(*said)
        assert [count for _, _, count in await _spans(mine)] == [2]
        await store.close()

    async def test_archive_and_summaries_go_with_any_message_of_their_session(self, opening: Callable[[], Store]) -> None:
        """They are in the selection of a forgetting, and another session keeps its own."""
        store = opening()
        mine = store.within(ANNA)
        event, kept, told = _said("hello")[0], an_archived(session=SESSION), a_summary(session=SESSION)
        elsewhere = an_archived(session="another")
        changes = (PutEvent(event), PutArchived(kept), PutArchived(elsewhere), PutSummary(told))
        await mine.commit(writing(*changes))
        for selection in (Select(session=SESSION), Select(ids=(event.id,)), Select(ids=(kept.id, told.id))):
            found = await mine.commit(asking(selection))
            assert set(found.compaction_ids) == {kept.id, told.id}
        found = await mine.commit(asking(Select(ids=(kept.entry.handle,))))
        assert set(found.compaction_ids) == {kept.id, elsewhere.id}
        assert (await mine.commit(asking(Select(key="hello")))).compaction_ids == ()
        await mine.commit(writing(Forget(event_ids=(event.id,), at=LATER)))
        assert await mine.ask(EntriesByHandle([kept.entry.handle])) == (elsewhere,)
        assert await mine.ask(LatestSummaries(SESSION, 10)) == ()
        known = await mine.commit(asking(CompactionIdsInUse((kept.id, told.id, elsewhere.id, "i9"))))
        assert known.forgotten == {kept.id, told.id}
        assert known.own == {elsewhere.id: ("another", kept.entry.handle, "")}
        await mine.commit(writing(Forget(sessions=("another",), at=LATER)))
        assert await mine.ask(EntriesByHandle([kept.entry.handle])) == ()
        await store.close()

    async def test_no_other_scope_reads_or_forgets_what_compactions_keep(self, opening: Callable[[], Store]) -> None:
        """Though it knows the handle and the name of the session."""
        store = opening()
        mine = store.within(ANNA)
        kept, told = an_archived(session=SESSION), a_summary(session=SESSION)
        said = _said("mine", ">1", "again")
        await mine.commit(writing(*map(PutEvent, said), PutArchived(kept), PutSummary(told)))
        for scope in (BENS_SESSION, replace(ANNA, user=None), replace(ANNA, agent="another"), Scope(org="x", user=ANNA.user)):
            theirs = store.within(scope)
            assert await theirs.ask(EntriesByHandle([kept.entry.handle])) == ()
            assert await theirs.ask(LatestSummaries(SESSION, 10)) == ()
            assert (await theirs.ask(ListOutline(SESSION, limit=9))).lines == ()
            assert await theirs.ask(LatestLines(9, filters=ALL)) == ()
            assert await theirs.commit(asking(HandlesKept(SESSION, (kept.entry.handle,)))) == frozenset()
            known = await theirs.commit(asking(CompactionIdsInUse((kept.id,))))
            assert not known.own
            assert known.elsewhere == {kept.id}
            gone = Forget(compaction_ids=(kept.id, told.id), event_ids=(said[0].id,), sessions=(SESSION,), at=LATER)
            await theirs.commit(writing(gone))
            assert await theirs.ask(HandlesForgotten([kept.entry.handle])) == frozenset()
        assert await mine.ask(EntriesByHandle([kept.entry.handle])) == (kept,)
        assert await mine.ask(HandlesForgotten([kept.entry.handle])) == frozenset()
        assert await mine.ask(LatestSummaries(SESSION, 10)) == (told,)
        assert len(await _spans(mine)) == 2
        await store.close()

    async def test_an_owner_that_is_forgotten_leaves_nothing_of_compactions(self, opening: Callable[[], Store]) -> None:
        store = opening()
        mine = store.within(ANNA)
        kept, told = an_archived(session=SESSION), a_summary(session=SESSION, summary=SpanSummary(text="x", covers=1, tokens=1))
        await mine.commit(writing(*map(PutEvent, _said("mine")), PutArchived(kept), PutSummary(told)))
        await mine.commit(writing(ForgetOwner(user=ANNA.user, at=LATER)))
        assert await mine.ask(EntriesByHandle([kept.entry.handle])) == ()
        assert await mine.ask(HandlesForgotten([kept.entry.handle, "h00000000000f"])) == {kept.entry.handle}
        assert await store.within(BENS_SESSION).ask(HandlesForgotten([kept.entry.handle])) == frozenset()
        assert await mine.ask(LatestSummaries(SESSION, 10)) == ()
        assert await _spans(mine) == []
        known = await mine.commit(asking(CompactionIdsInUse((kept.id, told.id))))
        assert known.forgotten == {kept.id, told.id}
        stats = await mine.ask(ScopeStats(NOON + timedelta(days=1)))
        assert (stats.archived, stats.summaries, stats.outline_lines) == (0, 0, 0)
        await store.close()
