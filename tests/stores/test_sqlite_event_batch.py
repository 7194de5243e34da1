"""The events of one commit: written together, read by the plans of the same commit, and gone with a plan that fails."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest

from germane.clock import Clock
from germane.errors import GermaneError, NotFound
from germane.kinds.events.reads import EventsByMessageId, PutEvent, SessionLength, SessionTail
from germane.kinds.memories.reads import EndMemory, Forget, ListMemories, PutMemory
from germane.stores.sql.transaction import EventBatch
from germane.stores.sqlite import SqliteStore
from germane.types.plan import Change, Decision, Plan, read
from germane.types.query import Filters
from germane.types.scope import Scope
from germane_testing.builders import NOON, Hashed, a_memory, an_event, writing
from support.busy_writer import busy_writer


def opened(path: Path) -> SqliteStore:
    return SqliteStore.open(path / "a.db", embedder=Hashed(), clock=Clock())


async def in_one_commit(store: SqliteStore, plans: Sequence[Plan[Any]]) -> list[Any]:
    """The outcomes of plans that wait together behind a busy writer; an exception is an outcome."""
    scoped = store.within(Scope())
    async with busy_writer(scoped):
        calls = [asyncio.ensure_future(scoped.commit(plan)) for plan in plans]
    return await asyncio.gather(*calls, return_exceptions=True)


def reading(session: str) -> Plan[tuple[int, list[int], list[str]]]:
    length = yield from read(SessionLength(session))
    tail = yield from read(SessionTail(session, 10))
    known = yield from read(EventsByMessageId(session, ("m0", "m1")))
    return Decision((), (length, [head.position for head in tail], sorted(known)))


async def test_a_plan_sees_what_an_earlier_plan_of_the_commit_appends(tmp_path: Path) -> None:
    """Though its rows aren't written yet: the session's length, its last events, and those with an id."""
    store = opened(tmp_path)
    first = [writing(PutEvent(an_event(f"t{n}", session="s1", position=n, message_id=f"m{n}"))) for n in range(2)]
    outcomes = await in_one_commit(store, [reading("s1"), *first, reading("s1"), reading("s2")])
    assert outcomes == [(0, [], []), None, None, (2, [0, 1], ["m0", "m1"]), (0, [], [])]
    await store.close()


async def test_forgetting_reaches_what_the_same_commit_appends(tmp_path: Path) -> None:
    """Event, search row, session: nothing of it is left."""
    store = opened(tmp_path)
    event = an_event("the secret")
    await in_one_commit(store, [writing(PutEvent(event)), writing(Forget(event_ids=(event.id,), at=NOON))])
    await store.close()
    assert b"the secret" not in (tmp_path / "a.db").read_bytes()
    connection = apsw.Connection(str(tmp_path / "a.db"))
    for table in ("events", "units_events"):
        assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    connection.close()


async def test_a_plan_that_fails_takes_its_own_events_along_and_no_others(tmp_path: Path) -> None:
    """Also where it fails after it has appended some."""
    store = opened(tmp_path)
    mixed: tuple[Change, ...] = (
        PutEvent(an_event("lost", session="s2")),
        PutMemory(a_memory("lost too")),
        EndMemory(id="unknown", at=NOON),
    )
    plans = [
        writing(PutEvent(an_event("before"))),
        writing(*mixed),
        writing(PutEvent(an_event("after", position=1)), PutMemory(a_memory("kept"))),
    ]
    outcomes = await in_one_commit(store, plans)
    assert [type(outcome) for outcome in outcomes] == [type(None), NotFound, type(None)]
    page = await store.within(Scope()).ask(ListMemories(Filters(), at=NOON, limit=9))
    assert [memory.text for memory in page.memories] == ["kept"]
    await store.close()
    connection = apsw.Connection(str(tmp_path / "a.db"))
    assert list(connection.execute("SELECT text FROM events ORDER BY key")) == [("before",), ("after",)]
    assert list(connection.execute("SELECT id, length, next FROM sessions")) == [("s1", 2, 2)]
    connection.close()


async def test_where_the_batch_cannot_be_written_every_plan_of_the_commit_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is told that something is stored that isn't; the next commit works."""
    store, write = opened(tmp_path), EventBatch.write

    def failing(self: EventBatch) -> None:
        write(self)
        if self._rows:
            raise apsw.ConstraintError("no")

    with monkeypatch.context() as patch:
        patch.setattr(EventBatch, "write", failing)
        plans: list[Plan[Any]] = [writing(PutEvent(an_event("one"))), writing(PutMemory(a_memory())), reading("s1")]
        outcomes = await in_one_commit(store, plans)
    assert all(isinstance(outcome, GermaneError) for outcome in outcomes)
    assert await in_one_commit(store, [reading("s1")]) == [(0, [], [])]
    await in_one_commit(store, [writing(PutEvent(an_event("two")))])
    assert await in_one_commit(store, [reading("s1")]) == [(1, [0], [])]
    await store.close()


async def test_sessions_are_numbered_by_their_beginning_within_a_commit(tmp_path: Path) -> None:
    """Also where an event that begins earlier comes to a session of the same commit."""
    store = opened(tmp_path)
    late = an_event("b", session="b", position=50)
    early = an_event("b0", session="b", position=51)._replace(created_at=NOON.replace(year=2020))
    await in_one_commit(store, [writing(PutEvent(event)) for event in (an_event("a", session="a"), late, early)])
    await store.close()
    connection = apsw.Connection(str(tmp_path / "a.db"))
    assert list(connection.execute("SELECT id, number, length, next FROM sessions ORDER BY number")) == [
        ("b", 1, 2, 52),
        ("a", 2, 1, 1),
    ]
    connection.close()
