"""Telling: a store of an earlier version is read in the background, and all is read anew by a version that reads otherwise."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from germane.clock import Clock
from germane.extraction import messages as extraction
from germane.kinds.events.reads import PutEvent
from germane.kinds.events.value import Event
from germane.kinds.memories.reads import Forget
from germane.kinds.profile.reads import LineMarks, TellingClauses
from germane.kinds.profile.telling import TellingClause
from germane.stores.sql import upgrade as telling
from germane.stores.sqlite import SqliteStore
from germane.types.query import Filters
from germane.types.scope import Scope
from germane_testing.builders import NOON, Hashed, an_event, writing
from support.scans import Scans

pytestmark = pytest.mark.requirement("PERSON-1")


@pytest.fixture(autouse=True)
def words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each text tells one clause: its first word."""
    monkeypatch.setattr(extraction, "telling_clauses", first_word)


def first_word(text: str) -> tuple[TellingClause, ...]:
    return (TellingClause(0, len(text.split()[0]), 0.5, (len(text) % 7) / 10),)


def opened(folder: Path) -> SqliteStore:
    return SqliteStore.open(folder / "a.db", embedder=Hashed(), clock=Clock())


def talk(session: str, length: int) -> list[Event]:
    """A user's messages and an assistant's in turn."""
    return [
        an_event(f"{session}{place} said", session=session, position=place)
        if place % 2 == 0
        else an_event(f"{place} noted", session=session, position=place, role="assistant", type="assistant_message")
        for place in range(length)
    ]


async def put(store: SqliteStore, events: list[Event]) -> None:
    await store.within(Scope()).commit(writing(*map(PutEvent, events)))


async def told(store: SqliteStore) -> list[str]:
    return sorted(clause.text for clause in await store.within(Scope()).ask(TellingClauses(9_999, filters=Filters())))


def of(events: list[Event]) -> list[str]:
    return sorted(event.text.split()[0] for event in events if event.role == "user")


def as_before(folder: Path) -> None:
    """Makes the file what a germane wrote that knew nothing of clauses."""
    connection = apsw.Connection(str(folder / "a.db"))
    connection.execute("DELETE FROM telling_clauses; DELETE FROM untold; DELETE FROM meta WHERE key = 'telling'")
    connection.close()


def finding(checkup: object) -> list[str]:
    return [said for name, said, _ in checkup.findings if name == "profiles"]  # type: ignore[attr-defined]


async def test_a_store_of_an_earlier_version_is_read_in_portions(tmp_path: Path) -> None:
    """Whatever is written and forgotten meanwhile; doctor tells how many sessions are left, and then nothing."""
    store, events = opened(tmp_path), [*talk("a", 700), *talk("b", 3), an_event("long " * 30_000, session="c")]
    await put(store, events)
    assert await told(store) == of(events)
    assert finding(await store.check()) == []
    await store.upgrade()
    await store.close()
    as_before(tmp_path)
    store = opened(tmp_path)
    assert await told(store) == []
    assert finding(await store.check())[0].startswith("3 sessions")
    seen = list[tuple[int, int]]()
    upgrade = asyncio.create_task(store.upgrade(lambda done, total: seen.append((done, total))))
    gone, more = events.pop(4), an_event("later said", session="a", position=700)
    await store.within(Scope()).commit(writing(PutEvent(more), Forget(event_ids=(gone.id,), at=NOON)))
    assert await upgrade == 3
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert await told(store) == of([*events, more])
    assert finding(await store.check()) == []
    assert ("orphans", "every row belongs to something", True) in (await store.verify()).findings
    assert await store.upgrade() == 0
    await store.close()


async def test_another_version_reads_all_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clauses that it doesn't find are gone; until it has read a session, what was found before serves."""
    store, events = opened(tmp_path), [*talk("a", 9), *talk("b", 9)]
    await put(store, events)
    await store.close()
    monkeypatch.setattr(telling, "_KNOWN", b"another")
    monkeypatch.setattr(extraction, "telling_clauses", lambda text: first_word(text) if text.startswith("a") else ())
    store = opened(tmp_path)
    assert await told(store) == of(events)
    await store.embed_pending()
    assert await told(store) == of(events[:9])
    await store.close()
    store = opened(tmp_path)
    assert finding(await store.check()) == []
    await store.close()


_KILLED = """
import asyncio, os, sys
from germane.clock import Clock
from germane.extraction import messages as own_words
from germane.kinds.profile.telling import TellingClause
from germane.stores.sqlite import SqliteStore
from germane.stores.sql import upgrade as telling
from germane_testing.builders import Hashed

telling._MESSAGES = 4
left = 30

def first_word(text):
    global left
    left -= 1
    if not left:
        os._exit(9)
    return (TellingClause(0, len(text.split()[0]), 0.5, 0.1),)

own_words.telling_clauses = first_word

async def main():
    store = SqliteStore.open(sys.argv[1], embedder=Hashed(), clock=Clock())
    await store.upgrade()

asyncio.run(main())
"""


async def test_a_reading_that_was_killed_is_taken_up_where_it_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the midst of a session."""
    store, events = opened(tmp_path), talk("a", 100)
    await put(store, events)
    await store.close()
    as_before(tmp_path)
    command = [sys.executable, "-c", _KILLED, str(tmp_path / "a.db")]
    killed = await asyncio.to_thread(subprocess.run, command, check=False, timeout=60)
    assert killed.returncode == 9
    read = list[str]()

    def noting(text: str) -> tuple[TellingClause, ...]:
        read.append(text)
        return first_word(text)

    monkeypatch.setattr(extraction, "telling_clauses", noting)
    store = opened(tmp_path)
    assert len(await told(store)) == 28
    await store.upgrade()
    assert len(read) == 22
    assert await told(store) == of(events)
    await store.close()


@pytest.mark.parametrize("seed", range(4))
async def test_the_clauses_are_those_of_the_stored_messages(tmp_path: Path, seed: int) -> None:
    """Whatever is written, by one handle or two, in any order, and forgotten."""
    rng, kept = random.Random(seed), list[Event]()
    stores = opened(tmp_path), opened(tmp_path)
    for _ in range(12):
        store = rng.choice(stores)
        if kept and rng.random() < 0.4:
            rng.shuffle(kept)
            gone = [kept.pop() for _ in range(min(len(kept), rng.randrange(1, 9)))]
            ids = tuple(event.id for event in gone)
            await store.within(Scope()).commit(writing(Forget(event_ids=ids, at=NOON)))
        else:
            new = talk(f"s{len(kept)}x{rng.random()}", rng.randrange(1, 12))
            rng.shuffle(new)
            await put(store, new)
            kept += new
        assert await told(rng.choice(stores)) == of(kept)
    for store in stores:
        await store.close()


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> Scans:
    return Scans(monkeypatch)


async def test_the_most_telling_are_read_in_the_order_of_an_index(tmp_path: Path, scans: Scans) -> None:
    """However many there are: nothing is sorted but what tells equally much."""
    store = opened(tmp_path)
    await put(store, talk("a", 50))
    for filters in (Filters(), Filters(until=NOON, session="a")):
        await store.within(Scope()).ask(TellingClauses(3, filters=filters))
    await store.within(Scope()).ask(LineMarks())
    assert scans.sorting("telling_clauses", "profile_marks") == []
    await store.close()
