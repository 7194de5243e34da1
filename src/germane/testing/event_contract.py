"""Event contract: the tests of `StoreContract` about events and sessions: fields, order and numbering."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from germane.events.appending import read_tail
from germane.events.event import FIRST_TYPED
from germane.events.operations import EventsNamed, LatestTyped, PositionsTaken, PutEvent, TypedPosition
from germane.memories.operations import PutMemory
from germane.store import ScopedStore
from germane.testing.stored import NOON, a_memory, an_event, question, writing
from germane.types.plan import Decision, Plan, read
from germane.types.query import Filters

__all__ = ["EventContract"]


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
        await scoped.journal.commit(writing(PutEvent(event)))
        (found,) = await scoped.events.get([event.id])
        assert found == event._replace(session_started_at=event.created_at, session_number=1)
        assert found.raw == {"role": "user", "n": [1]}

    async def test_recent_is_newest_first_and_narrowed(self, scoped: ScopedStore) -> None:
        """`recent` filters by session, time, type and exclusion, and sorts a late message by its time."""
        events = [an_event(f"a{n}", session="a", position=n) for n in range(3)]
        events += [an_event(f"b{n}", session="b", position=n, created_at=NOON + timedelta(minutes=n + 1)) for n in range(2)]
        late = an_event("late", session="a", position=3, created_at=NOON + timedelta(seconds=0.5), message_id="m")
        await scoped.journal.commit(writing(*map(PutEvent, [*events, late])))

        async def recent(limit: int = 9, session: str | None = None, **filters: Any) -> list[str]:
            found = await scoped.events.recent(limit, session=session, filters=Filters(**filters))
            return [event.text for event in found]

        assert await recent() == ["b1", "b0", "a2", "a1", "late", "a0"]
        assert await recent(2) == ["b1", "b0"]
        assert await recent(session="a") == ["a2", "a1", "late", "a0"]
        assert await recent(exclude=frozenset({"m", events[0].id}), session="a") == ["a2", "a1"]
        assert await recent(until=NOON) == ["a0"]
        assert await recent(tags=("x",)) == []
        assert await recent(task="t1") == []
        assert [event.text for event in await scoped.events.recent(1, filters=Filters(until=NOON))] == ["a0"]

    async def test_events_that_are_no_messages_stand_beside_them(self, scoped: ScopedStore) -> None:
        """They have positions of their own, so that the messages' stay as they were; readings narrow to either."""
        said = [an_event(f"said {n}", position=n, role="user") for n in range(2)]
        done = [
            an_event(f"done {n}", type="shell_exec", position=FIRST_TYPED + n, message_id=f"d{n}", created_at=NOON)
            for n in (0, 1)
        ]
        await scoped.journal.commit(writing(PutEvent(said[0]), *map(PutEvent, done), PutEvent(said[1])))
        tail, length = await scoped.journal.commit(read_tail(said[0].session, 9))
        assert [head.position for head in tail] == [0, 1]
        assert length == 2

        async def texts(typed: bool | None) -> tuple[set[str], set[str]]:
            found = await scoped.events.recent(9, filters=Filters(), typed=typed)
            page = await scoped.events.page(Filters(), limit=9, typed=typed)
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

        assert await scoped.journal.commit(plan()) == (FIRST_TYPED, [], [], frozenset())
        await scoped.journal.commit(writing(PutEvent(late), PutEvent(early)))
        expected = (FIRST_TYPED + 2, ["late"], ["early", "late"], frozenset({FIRST_TYPED + 1}))
        assert await scoped.journal.commit(plan()) == expected

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
        await scoped.journal.commit(writing(*made))

        async def found(sessions: int, limit: int = 9, but: str | None = None, **filters: Any) -> list[str]:
            events = await scoped.events.highlights(sessions, limit=limit, filters=Filters(**filters), but=but)
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
        await scoped.journal.commit(writing(*map(PutEvent, events), PutMemory(a_memory("the boiler is old"))))
        filters = Filters(task="t1")
        assert [event.text for event in await scoped.events.recent(9, filters=filters)] == ["the boiler leaks"]
        found = await scoped.events.search(question("boiler", task="t1"), 9, keywords=True, vectors=False, wait=True)
        assert [hit.thing.text for hit in found.hits] == ["the boiler leaks"]
        asked = question("boiler", task="t1")
        assert not (await scoped.memories.search(asked, 9, keywords=True, vectors=False, wait=True)).hits

    async def test_a_search_that_needs_no_texts_finds_the_same(self, scoped: ScopedStore) -> None:
        """Whether the store reads them all the same is its own affair."""
        events = [an_event(f"the boiler {what}", position=n) for n, what in enumerate(("leaks", "hums", "is mended"))]
        await scoped.journal.commit(writing(*map(PutEvent, events)))
        how: dict[str, bool] = {"keywords": True, "vectors": False, "wait": True}
        read = await scoped.events.search(question("boiler"), 9, **how)
        found = await scoped.events.search(replace(question("boiler"), texts=False), 9, **how)
        ids = [*(hit.thing.id for hit in found.hits), *(one.id for one in found.unread)]
        assert sorted(ids) == sorted(hit.thing.id for hit in read.hits) == sorted(event.id for event in events)

    async def test_recent_looks_into_the_five_latest_sessions(self, scoped: ScopedStore) -> None:
        """`recent` returns no events of the sixth latest session."""
        events = [an_event(f"s{n}", session=f"s{n}", created_at=NOON + timedelta(days=n)) for n in range(7)]
        await scoped.journal.commit(writing(*map(PutEvent, events)))
        found = await scoped.events.recent(50, filters=Filters())
        assert [event.text for event in found] == ["s6", "s5", "s4", "s3", "s2"]

    async def test_sessions_are_numbered_by_beginning(self, scoped: ScopedStore) -> None:
        """A session's number is its rank by start, even where an earlier session is recorded later; `sessions` returns the
        latest first."""
        for name, day in (("b", 2), ("c", 3), ("a", 1)):
            event = an_event(session=name, created_at=NOON + timedelta(days=day), name=name.upper())
            await scoped.journal.commit(writing(PutEvent(event)))
        found = (await scoped.events.sessions(9)).sessions
        assert [(session.id, session.number, session.length) for session in found] == [("c", 3, 1), ("b", 2, 1), ("a", 1, 1)]
        assert await scoped.events.speakers() == ("A", "B", "C")
        assert await scoped.events.speakers("Did a or C come?") == ("A", "C")
