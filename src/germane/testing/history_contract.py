"""History contract: what every store must keep of compactions and outlines: `StoreContract` includes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from germane.compaction.operations import (
    MAX_SUMMARIES,
    CompleteOutline,
    HandlesKept,
    HistoryIdsInUse,
    OutlineLeft,
    PutArchived,
    PutSummary,
    SummariesKept,
)
from germane.compaction.summary import SpanSummary
from germane.errors import InvalidInput
from germane.events.event import Event
from germane.events.operations import PutEvent
from germane.memories.operations import Forget, ForgetOwner, Select
from germane.store import ScopedStore, Store
from germane.testing.scope_contract import ALL, ANNA, LATER
from germane.testing.stored import NOON, a_summary, an_archived, an_event, asking, writing
from germane.types.scope import Scope

__all__ = ["HistoryContract"]

S = "long"
BEN = replace(ANNA, user="ben")


def _said(*texts: str, first: int = 0, session: str = S) -> tuple[Event, ...]:
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


async def _spans(scoped: ScopedStore, session: str = S) -> list[tuple[str, str, int]]:
    """The first and the last id of each line of the outline, and how many messages it has."""
    page = await scoped.history.outline_page(session, limit=100)
    assert page.cursor is None
    return [(line.first_id, line.last_id, line.messages) for line in page.lines]


def _of(*exchanges: Sequence[Event]) -> list[tuple[str, str, int]]:
    return [(exchange[0].id, exchange[-1].id, len(exchange)) for exchange in exchanges]


class HistoryContract:
    """An entry is read back as it was written, a summary never replaces another one, and an outline has a line for each
    exchange that is stored; all of it belongs to one owner and goes with what it was made from."""

    @pytest.fixture
    def opening(self) -> Callable[[], Store]:
        raise NotImplementedError

    async def test_an_archived_entry_is_read_back_as_it_was_written(self, opening: Callable[[], Store]) -> None:
        """Here and in another handle; the second entry with its handle changes nothing."""
        store, other = opening(), opening()
        mine = store.within(ANNA)
        first, second = an_archived("one", "two", session=S), an_archived("a \ud800 b", session=S, previous="h1", at=LATER)
        before = await mine.journal.revision()
        await mine.journal.commit(writing(PutArchived(first), PutArchived(second)))
        assert await mine.journal.revision() > before
        again = replace(an_archived("one", "two", session=S), entry=replace(first.entry, title="another"))
        await mine.journal.commit(writing(PutArchived(again)))
        handles = (second.entry.handle, "h000000000000", first.entry.handle)
        assert await other.within(ANNA).history.archived(handles, S) == (second, first)
        assert await mine.history.archived(handles) == (second, first)
        assert await mine.history.archived(handles, "another") == ()
        kept = await mine.journal.commit(asking(HandlesKept(S, handles)))
        assert kept == {first.entry.handle, second.entry.handle}
        moved = replace(first, id=again.id, session="another")
        await mine.journal.commit(writing(PutArchived(moved)))
        assert await mine.history.archived([first.entry.handle], "another") == (moved,)
        await other.close()
        await store.close()

    async def test_a_summary_never_takes_the_place_of_another(self, opening: Callable[[], Store]) -> None:
        """The first one with its fingerprint and method stays, all of them in order."""
        store = opening()
        mine = store.within(ANNA)
        one = a_summary(session=S)
        two = a_summary("better", session=S, created_at=LATER)
        by_llm = a_summary(session=S, summary=replace(one.summary, method="llm", note="n"), created_at=LATER)
        later = a_summary("later", session=S, fingerprint="f2", created_at=LATER)
        await mine.journal.commit(writing(PutSummary(one)))
        await mine.journal.commit(writing(*map(PutSummary, (two, by_llm, later))))
        assert await mine.history.summaries(S, 10) == (one, by_llm, later)
        assert await mine.history.summaries(S, 2) == (by_llm, later)
        assert await mine.journal.commit(asking(SummariesKept(S, ("f1", "f9")))) == (one, by_llm)
        assert await mine.history.summaries("another", 10) == ()
        await store.close()

    async def test_the_oldest_summaries_go_with_the_commit_of_newer_ones(self, opening: Callable[[], Store]) -> None:
        """Of one session, and of no other."""
        store = opening()
        mine = store.within(ANNA)
        made = [a_summary(session=S, fingerprint=f"f{number}", id=f"i{number}") for number in range(MAX_SUMMARIES + 2)]
        await mine.journal.commit(writing(PutSummary(a_summary()), *map(PutSummary, made)))
        assert await mine.history.summaries(S, 2 * MAX_SUMMARIES) == tuple(made[2:])
        assert len(await mine.history.summaries("s1", 10)) == 1
        await store.close()

    async def test_an_outline_has_a_line_for_each_exchange(self, opening: Callable[[], Store]) -> None:
        """However its messages come: alone, many at once, or before others that are stored."""
        store = opening()
        mine = store.within(ANNA)
        said = _said("Book a table", ">Done", ">At eight", "And a taxi", ">Booked", "Thanks")
        for event in said[:3]:
            await mine.journal.commit(writing(PutEvent(event)))
        assert await _spans(mine) == _of(said[:3])
        await mine.journal.commit(writing(*map(PutEvent, said[4:])))
        assert await _spans(mine) == _of([*said[:3], said[4]], said[5:])
        await mine.journal.commit(writing(PutEvent(said[3])))
        assert await _spans(mine) == _of(said[:3], said[3:5], said[5:])
        lines = (await mine.history.outline_page(S, limit=9)).lines
        assert "table" in lines[0].text
        assert "taxi" in lines[1].text
        assert "Thanks" in lines[2].text
        assert [line.first_at for line in lines] == [said[0].created_at, said[3].created_at, said[5].created_at]
        assert (lines[0].session, lines[0].last_at, lines[0].sensitivity) == (S, said[2].created_at, "private")
        assert not await mine.history.outline_left(S)
        await store.close()

    async def test_the_latest_lines_of_all_sessions_are_read_by_time(self, opening: Callable[[], Store]) -> None:
        """Narrowed by filters; agent-wide ones are seen too."""
        store = opening()
        mine, wide = store.within(ANNA), store.within(replace(ANNA, user=None))
        first, second = _said("Paris", ">P", "Rome", ">R", "end"), _said("Oslo", ">O", "end", first=20, session="later")
        shared = tuple(event._replace(user=None) for event in _said("Bern", ">B", "end", first=10, session="shared"))
        await mine.journal.commit(writing(*map(PutEvent, (*first, *second))))
        await wide.journal.commit(writing(*map(PutEvent, shared)))

        async def read(limit: int = 9, **filters: Any) -> str:
            lines = await mine.history.latest_lines(limit, filters=replace(ALL, **filters))
            return " ".join(name for line in lines for name in ("Paris", "Rome", "Bern", "Oslo") if name in line.text)

        assert await read() == "Paris Rome Bern Oslo"
        assert await read(2) == "Bern Oslo"
        assert await read(session=S) == "Paris Rome"
        assert await read(since=shared[0].created_at) == "Bern Oslo"
        assert await read(until=shared[1].created_at) == "Paris Rome Bern"
        assert await read(exclude=frozenset({first[1].id})) == "Rome Bern Oslo"
        assert await read(sensitivities=("public",)) == ""
        assert await read(tags=("x",)) == await read(event_types=("x",)) == await read(task="x") == ""
        assert [line.session for line in await wide.history.latest_lines(9, filters=ALL)] == ["shared"]
        await store.close()

    async def test_a_line_is_as_sensitive_as_its_messages(self, opening: Callable[[], Store]) -> None:
        store = opening()
        mine = store.within(ANNA)
        hello, secret, public = _said("hello", ">secret", "bye")
        events = (hello._replace(sensitivity="public"), secret._replace(sensitivity="sensitive"))
        await mine.journal.commit(writing(*map(PutEvent, (*events, public._replace(sensitivity="public")))))
        page = await mine.history.outline_page(S, limit=9)
        assert [line.sensitivity for line in page.lines] == ["sensitive", "public"]
        await store.close()

    async def test_the_gate_knows_the_lines_of_outlines(self, opening: Callable[[], Store]) -> None:
        """Each by the id of its first message, while it is there, for its owner, with an allowed sensitivity."""
        store = opening()
        mine, theirs = store.within(ANNA), store.within(BEN)
        said = _said("hello", ">secret", "bye", ">bye", "end")
        hidden = said[1]._replace(sensitivity="sensitive")
        await mine.journal.commit(writing(*map(PutEvent, (said[0], hidden, *said[2:]))))
        names = [f"{event.id}@outline" for event in said]

        async def allowed(of: ScopedStore = mine, *levels: Any) -> list[int]:
            passed = await of.allowed(names, at=LATER, filters=replace(ALL, sensitivities=levels or ALL.sensitivities))
            return [number for number, name in enumerate(names) if name in passed]

        assert await allowed(mine, "public", "private", "sensitive") == [0, 2]
        assert await allowed(mine, "public", "private") == [2]
        assert await allowed(theirs, "public", "private", "sensitive") == []
        await mine.journal.commit(writing(Forget(event_ids=(said[2].id,), at=LATER)))
        assert await allowed(mine, "public", "private", "sensitive") == [0]
        await store.close()

    async def test_an_outline_is_read_in_pages(self, opening: Callable[[], Store]) -> None:
        """The exchange that goes on is the last line of the last page, whatever the size of the pages."""
        store = opening()
        mine = store.within(ANNA)
        await mine.journal.commit(writing(*map(PutEvent, _said("a", ">1", "b", ">2", "c", ">3", "d"))))
        whole = (await mine.history.outline_page(S, limit=100)).lines
        for limit in (1, 2, 3, 4):
            seen, cursor, pages = list[object](), None, 0
            while cursor is not None or not pages:
                page = await mine.history.outline_page(S, limit=limit, cursor=cursor)
                seen, cursor, pages = [*seen, *page.lines], page.cursor, pages + 1
            assert tuple(seen) == whole
            assert pages == -(-4 // limit)
        foreign = (await mine.history.outline_page(S, limit=1)).cursor
        with pytest.raises(InvalidInput):
            await mine.history.outline_page("another", limit=1, cursor=foreign)
        await store.close()

    async def test_a_long_exchange_has_a_line_for_each_hundred_messages(self, opening: Callable[[], Store]) -> None:
        """So has one that is written at once and needs several changes to complete."""
        store = opening()
        mine = store.within(ANNA)
        said = _said("go", *(f">step {number}" for number in range(1_249)))
        await mine.journal.commit(writing(*map(PutEvent, said)))
        while await mine.journal.commit(asking(OutlineLeft(S))):
            await mine.journal.commit(writing(CompleteOutline(S)))
        assert await _spans(mine) == _of(*(said[start : start + 100] for start in range(0, 1_250, 100)))
        await store.close()

    async def test_forgotten_messages_leave_their_lines(self, opening: Callable[[], Store]) -> None:
        """What is left of an exchange whose beginning is forgotten belongs to the one before it."""
        store = opening()
        mine = store.within(ANNA)
        said = _said("Paris", ">P", "Rome", ">R", "Oslo", ">O", "Bern", ">B", "Kyiv", ">K")

        async def without(*gone: Event) -> str:
            await mine.journal.commit(writing(Forget(event_ids=tuple(event.id for event in gone), at=LATER)))
            return " ".join(line.text for line in (await mine.history.outline_page(S, limit=100)).lines)

        await mine.journal.commit(writing(*map(PutEvent, said)))
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
        await mine.journal.commit(writing(*map(PutEvent, _said("Riga", ">Ri", first=10))))
        assert [count for _, _, count in await _spans(mine)] == [2, 3, 2]
        await without(*said)
        assert [count for _, _, count in await _spans(mine)] == [2]
        await store.close()

    async def test_archive_and_summaries_go_with_any_message_of_their_session(self, opening: Callable[[], Store]) -> None:
        """They are in the selection of a forgetting, and another session keeps its own."""
        store = opening()
        mine = store.within(ANNA)
        event, kept, told = _said("hello")[0], an_archived(session=S), a_summary(session=S)
        elsewhere = an_archived(session="another")
        changes = (PutEvent(event), PutArchived(kept), PutArchived(elsewhere), PutSummary(told))
        await mine.journal.commit(writing(*changes))
        for read in (Select(session=S), Select(ids=(event.id,)), Select(ids=(kept.id, told.id))):
            found = await mine.journal.commit(asking(read))
            assert set(found.history_ids) == {kept.id, told.id}
        found = await mine.journal.commit(asking(Select(ids=(kept.entry.handle,))))
        assert set(found.history_ids) == {kept.id, elsewhere.id}
        assert (await mine.journal.commit(asking(Select(key="hello")))).history_ids == ()
        await mine.journal.commit(writing(Forget(event_ids=(event.id,), at=LATER)))
        assert await mine.history.archived([kept.entry.handle]) == (elsewhere,)
        assert await mine.history.summaries(S, 10) == ()
        known = await mine.journal.commit(asking(HistoryIdsInUse((kept.id, told.id, elsewhere.id, "i9"))))
        assert known.forgotten == {kept.id, told.id}
        assert known.own == {elsewhere.id: ("another", kept.entry.handle, "")}
        await mine.journal.commit(writing(Forget(sessions=("another",), at=LATER)))
        assert await mine.history.archived([kept.entry.handle]) == ()
        await store.close()

    async def test_no_other_scope_reads_or_forgets_a_history(self, opening: Callable[[], Store]) -> None:
        """Though it knows the handle and the name of the session."""
        store = opening()
        mine = store.within(ANNA)
        kept, told = an_archived(session=S), a_summary(session=S)
        said = _said("mine", ">1", "again")
        await mine.journal.commit(writing(*map(PutEvent, said), PutArchived(kept), PutSummary(told)))
        for scope in (BEN, replace(ANNA, user=None), replace(ANNA, agent="another"), Scope(org="x", user=ANNA.user)):
            theirs = store.within(scope)
            assert await theirs.history.archived([kept.entry.handle]) == ()
            assert await theirs.history.summaries(S, 10) == ()
            assert (await theirs.history.outline_page(S, limit=9)).lines == ()
            assert await theirs.history.latest_lines(9, filters=ALL) == ()
            assert await theirs.journal.commit(asking(HandlesKept(S, (kept.entry.handle,)))) == frozenset()
            known = await theirs.journal.commit(asking(HistoryIdsInUse((kept.id,))))
            assert not known.own
            assert known.elsewhere == {kept.id}
            gone = Forget(history_ids=(kept.id, told.id), event_ids=(said[0].id,), sessions=(S,), at=LATER)
            await theirs.journal.commit(writing(gone))
            assert await theirs.history.forgotten([kept.entry.handle]) == frozenset()
        assert await mine.history.archived([kept.entry.handle]) == (kept,)
        assert await mine.history.forgotten([kept.entry.handle]) == frozenset()
        assert await mine.history.summaries(S, 10) == (told,)
        assert len(await _spans(mine)) == 2
        await store.close()

    async def test_an_owner_that_is_forgotten_leaves_no_history(self, opening: Callable[[], Store]) -> None:
        store = opening()
        mine = store.within(ANNA)
        kept, told = an_archived(session=S), a_summary(session=S, summary=SpanSummary(text="x", covers=1, tokens=1))
        await mine.journal.commit(writing(*map(PutEvent, _said("mine")), PutArchived(kept), PutSummary(told)))
        await mine.journal.commit(writing(ForgetOwner(user=ANNA.user, at=LATER)))
        assert await mine.history.archived([kept.entry.handle]) == ()
        assert await mine.history.forgotten([kept.entry.handle, "h00000000000f"]) == {kept.entry.handle}
        assert await store.within(BEN).history.forgotten([kept.entry.handle]) == frozenset()
        assert await mine.history.summaries(S, 10) == ()
        assert await _spans(mine) == []
        known = await mine.journal.commit(asking(HistoryIdsInUse((kept.id, told.id))))
        assert known.forgotten == {kept.id, told.id}
        stats = await mine.inventory.stats(at=NOON + timedelta(days=1))
        assert (stats.archived, stats.summaries, stats.outline_lines) == (0, 0, 0)
        await store.close()
