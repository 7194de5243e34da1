"""The writer: one commit for many, each answered for itself, nothing lost."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from germane.clock import Clock
from germane.errors import Conflict
from germane.kinds.events.reads import ListSessions, PutEvent, RecentEvents
from germane.kinds.memories.reads import ListMemories, PutMemory
from germane.stores.sqlite import SqliteStore
from germane.stores.sqlite.jobs import Job
from germane.stores.sqlite.writer import SqliteWriter
from germane.types.plan import Plan
from germane.types.query import Filters
from germane.types.scope import Scope
from germane_testing.builders import NOON, Hashed, a_memory, an_event, writing
from support.busy_writer import busy_writer

ALL = Filters()


def opened(path: Path | str) -> SqliteStore:
    return SqliteStore.open(path, embedder=Hashed(), clock=Clock())


def raising() -> Plan[None]:
    yield from ()
    raise Conflict("no")


async def test_callers_who_wait_together_share_a_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty plans behind a busy writer are one transaction; the one that fails takes nobody with it."""
    sizes: list[int] = []
    commit = SqliteWriter._commit

    def counted(self: SqliteWriter, jobs: list[Job]) -> None:
        sizes.append(len(jobs))
        commit(self, jobs)

    monkeypatch.setattr(SqliteWriter, "_commit", counted)
    store = opened(tmp_path / "a.db")
    scoped = store.within(Scope())
    plans = [writing(PutMemory(a_memory(f"m{n}"))) for n in range(50)]
    plans[7] = raising()
    async with busy_writer(scoped):
        calls = [asyncio.ensure_future(scoped.commit(plan)) for plan in plans]
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes if outcome is not None] == [Conflict]
    assert sizes == [1, 50]
    page = await scoped.ask(ListMemories(ALL, at=NOON, limit=99))
    assert len(page.memories) == 49
    await store.close()


async def test_a_call_cancelled_before_its_turn_writes_nothing(tmp_path: Path) -> None:
    """Its plan never runs."""
    store = opened(tmp_path / "a.db")
    scoped = store.within(Scope())
    async with busy_writer(scoped):
        call = asyncio.ensure_future(scoped.commit(writing(PutMemory(a_memory()))))
        await asyncio.sleep(0)
        call.cancel()
        await asyncio.wait([call])
    await store.close()
    again = opened(tmp_path / "a.db")
    assert (await again.within(Scope()).ask(ListMemories(ALL, at=NOON, limit=9))).memories == ()
    await again.close()


async def test_closing_finishes_what_waits_and_leaves_no_thread(tmp_path: Path) -> None:
    """Jobs that wait are written."""
    before = set(threading.enumerate())
    store = opened(tmp_path / "a.db")
    calls = [asyncio.ensure_future(store.within(Scope()).commit(writing(PutMemory(a_memory(f"m{n}"))))) for n in range(9)]
    await asyncio.sleep(0)
    await store.close()
    assert await asyncio.gather(*calls) == [None] * 9
    assert not {thread for thread in set(threading.enumerate()) - before if thread.name.startswith("germane")}


_CHILD = """
import asyncio, sys
from germane.clock import Clock
from germane.kinds.events.reads import PutEvent
from germane.types.scope import Scope
from germane.stores.sqlite import SqliteStore
from germane_testing.builders import Hashed
from germane_testing.builders import an_event, writing

async def main():
    scoped = SqliteStore.open(sys.argv[1], embedder=Hashed(), clock=Clock()).within(Scope())
    for n in range(100000):
        await scoped.commit(writing(PutEvent(an_event(f"turn {n}", position=n))))
        print(n, flush=True)

asyncio.run(main())
"""


@pytest.mark.requirement("OPS-2")
async def test_a_killed_process_loses_no_acknowledged_write(tmp_path: Path) -> None:
    """What it was told is written is there, once, and the file is sound."""
    path = tmp_path / "a.db"
    child = subprocess.Popen([sys.executable, "-c", _CHILD, str(path)], stdout=subprocess.PIPE, text=True)  # noqa: ASYNC220
    assert child.stdout is not None
    told = -1
    for line in child.stdout:
        told = int(line)
        if told == 40:
            os.kill(child.pid, signal.SIGKILL)
    child.stdout.close()
    child.wait()
    store = opened(path)
    found = await store.within(Scope()).ask(RecentEvents(100_000, filters=ALL))
    assert [event.position for event in reversed(found)] == list(range(len(found)))
    assert len(found) in (told + 1, told + 2)
    assert (await store.check()).healthy
    await store.close()


async def test_events_of_several_sessions_in_one_plan_find_their_places(tmp_path: Path) -> None:
    """Each session begins once."""
    store = opened(tmp_path / "a.db")
    scoped = store.within(Scope())
    events = [an_event(f"{name}{n}", session=name, position=n) for n in range(3) for name in "ab"]
    await scoped.commit(writing(*map(PutEvent, events)))
    assert {session.id: session.length for session in (await scoped.ask(ListSessions(9))).sessions} == {"a": 3, "b": 3}
    await store.close()
