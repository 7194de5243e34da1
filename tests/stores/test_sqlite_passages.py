"""Passages: of a long text a request gets the part that matches; the rest isn't read from the file."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.clock import Clock
from germane.kinds.conversations.reads import ListOutline
from germane.kinds.events.reads import PutEvent
from germane.kinds.events.value import Event
from germane.kinds.memories.reads import Forget
from germane.search.unit import parts
from germane.stores.sql.search.units import UNIT_TABLES, passage
from germane.stores.sqlite import SqliteStore
from germane.stores.sqlite.database import APPLICATION, migrations
from germane.types.candidate import LONG_TEXT
from germane.types.evidence import Hit
from germane.types.scope import Scope
from germane_testing.builders import NOON, Hashed, an_event, question, writing
from support.examples import examples

UNITS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40)
FILLER = "and then we spoke of the weather again. "
NEEDLES = ("The zebra crossed Lisbon. ", "Caroline keeps the key under the flowerpot. ", "The invoice number was 7781. ")
TEXT = "".join(needle + FILLER * 400 for needle in NEEDLES)


@pytest.fixture(scope="module")
def connection() -> Iterator[apsw.Connection]:
    opened = apsw.Connection(":memory:")
    opened.execute("CREATE TABLE events (key INTEGER PRIMARY KEY, text TEXT NOT NULL)")
    opened.execute("CREATE TABLE units_parts (key INTEGER, part INTEGER, stop INTEGER)")
    yield opened
    opened.close()


def opened_at(path: Path) -> SqliteStore:
    return SqliteStore.open(path / "a.db", embedder=Hashed(), clock=Clock())


async def hits(store: SqliteStore, words: str, limit: int = 10) -> tuple[Hit[Event], ...]:
    return (await store.within(Scope()).events.search(question(words), limit, keywords=True, vectors=False, wait=True)).hits


@examples(60)
@given(UNITS, st.booleans())
def test_a_passage_is_a_part_of_the_text_and_says_which(connection: apsw.Connection, unit: str, indexed: bool) -> None:
    """Whatever the text is made of: no character is torn, and the bytes are those it names. Also the first part of a text that
    isn't divided yet."""
    text = unit * (3 * LONG_TEXT // len(unit))
    size = len(text.encode())
    connection.execute("INSERT OR REPLACE INTO events VALUES (1, ?)", (text,))
    connection.execute("DELETE FROM units_parts")
    if indexed:
        connection.execute("INSERT INTO units_parts VALUES (1, 0, ?)", (parts(text)[0].stop,))
    for place in (None, *((part.start, part.stop) for part in parts(text))):
        found = passage(connection, 1, size, place)
        start, end, whole, searched = found.passage
        shown = text.encode()[start:end].decode()
        assert (whole, searched) == (size, place is not None)
        assert found.text == f"{'…' * (start > 0)}{shown}{'…' * (end < size)}"
        first, last = place or (0, parts(text)[0].stop if indexed else end)
        assert 0 <= first - start <= 256
        assert 0 <= end - last <= 256


async def test_each_part_is_found_by_its_own_words_and_shown_alone(tmp_path: Path) -> None:
    store = opened_at(tmp_path)
    await store.within(Scope()).commit(writing(PutEvent(an_event(TEXT)), PutEvent(an_event("ok", position=1))))
    for needle in NEEDLES:
        hit, *others = await hits(store, needle)
        assert needle.strip() in hit.thing.text
        assert len(hit.thing.text.encode()) <= LONG_TEXT + 8
        assert hit.thing.passage is not None
        assert hit.thing.passage.found
        assert hit.thing.id not in [other.thing.id for other in others], "a long text is one result"
    await store.close()


async def test_a_text_of_many_parts_leaves_room_for_others(tmp_path: Path) -> None:
    """Though every part of it matches better than they do."""
    store = opened_at(tmp_path)
    long = an_event("zebra Lisbon crossing " * 20_000)
    others = [an_event(f"A zebra, number {n}, was seen by somebody on the way home", position=n + 1) for n in range(8)]
    await store.within(Scope()).commit(writing(*map(PutEvent, (long, *others))))
    found = await hits(store, "zebra Lisbon crossing", 5)
    assert len({hit.thing.id for hit in found}) == 5
    await store.close()


async def test_what_is_forgotten_is_found_in_no_part(tmp_path: Path) -> None:
    store = opened_at(tmp_path)
    event = an_event(TEXT)
    await store.within(Scope()).commit(writing(PutEvent(event)))
    assert await hits(store, NEEDLES[1])
    await store.within(Scope()).commit(writing(Forget(event_ids=(event.id,), at=NOON)))
    assert not await hits(store, NEEDLES[1])
    await store.close()
    with apsw.Connection(str(tmp_path / "a.db")) as connection:
        for table in UNIT_TABLES["events"]:
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchall() == [(0,)]


async def test_a_very_long_text_gets_its_vectors_after_the_commit(tmp_path: Path) -> None:
    """Some within the commit, so that no other write waits for long; `embed_pending` makes the rest."""
    store = opened_at(tmp_path)
    text = FILLER * 5_000
    await store.within(Scope()).commit(writing(PutEvent(an_event(text))))
    waiting = await store.stale_vectors()
    assert 0 < waiting < len(parts(text))
    assert await store.embed_pending() == waiting
    assert await store.stale_vectors() == 0
    await store.close()


def as_before(path: Path) -> None:
    """Makes the file what the version before wrote: rows of its tables and columns only, and one search row for a long text."""
    now, before = path / "a.db", path / "before.db"
    connection = apsw.Connection(str(before))
    connection.execute("".join(migrations()[:4]) + f"PRAGMA user_version = 4; PRAGMA application_id = {APPLICATION}")
    connection.execute("ATTACH ? AS now", (str(now),))
    connection.execute("BEGIN")
    for table, columns in _tables(connection, "main"):
        kept = ", ".join(columns & dict(_tables(connection, "now"))[table])
        connection.execute(f"DELETE FROM {table}; INSERT INTO {table} ({kept}) SELECT {kept} FROM now.{table}")
    every = ", ".join(dict(_tables(connection, "main"))["units_events"])
    connection.execute(f"INSERT INTO units_events ({every}) SELECT {every} FROM units_parts WHERE part = 0")
    connection.execute("DELETE FROM meta WHERE key = 'telling'; COMMIT")
    connection.close()
    for old in path.glob("a.db*"):
        old.unlink()
    before.rename(now)


def _tables(connection: apsw.Connection, schema: str) -> list[tuple[str, set[str]]]:
    """The tables with their columns, also those in which SQLite keeps an index of words."""
    tables = connection.execute(
        f"SELECT name, sql FROM {schema}.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
    )
    names = [name for name, sql in tables if not sql.startswith("CREATE VIRTUAL")]
    return [(name, {row[1] for row in connection.execute(f"PRAGMA {schema}.table_info({name})")}) for name in names]


async def test_long_texts_of_the_version_before_are_divided(tmp_path: Path) -> None:
    """One by one, taken up again after an interruption; one that was forgotten meanwhile is none any more."""
    store = opened_at(tmp_path)
    events = [an_event(f"{TEXT} number{n}", position=n) for n in range(3)]
    await store.within(Scope()).commit(writing(PutEvent(an_event("short", position=9)), *map(PutEvent, events)))
    await store.close()
    as_before(tmp_path)
    store = opened_at(tmp_path)
    assert not (await store.check()).healthy
    assert not await hits(store, "number1")
    meanwhile = {hit.thing.id for hit in await hits(store, NEEDLES[0])}
    assert meanwhile >= {event.id for event in events}, "what the one row knew is found"
    await store.within(Scope()).commit(writing(Forget(event_ids=(events[2].id,), at=NOON)))
    await store.embed_pending()
    hit, *_ = await hits(store, "number1")
    assert hit.thing.id == events[1].id
    assert "number1" in hit.thing.text
    assert not any("number2" in hit.thing.text for hit in await hits(store, "number2"))
    assert (await store.check()).healthy
    await store.close()


_KILLED = """
import asyncio, os, sys
from germane.clock import Clock
from germane.stores.sqlite import SqliteStore
from germane_testing.builders import Hashed

async def main():
    store = SqliteStore.open(sys.argv[1], embedder=Hashed(), clock=Clock())
    await store.upgrade(lambda done, total: os._exit(9) if done == 2 else None)

asyncio.run(main())
"""


async def test_an_upgrade_that_was_killed_is_taken_up_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """By the next process, with the texts that are left, then the session's outline and what it tells; what was found before is
    found all the time."""
    store = opened_at(tmp_path)
    events = [an_event(f"{TEXT} number{n}", position=n) for n in range(5)]
    await store.within(Scope()).commit(writing(*map(PutEvent, events)))
    await store.close()
    as_before(tmp_path)
    command = [sys.executable, "-c", _KILLED, str(tmp_path / "a.db")]
    killed = await asyncio.to_thread(subprocess.run, command, check=False, timeout=60)
    assert killed.returncode == 9
    store, told = opened_at(tmp_path), list[tuple[int, int]]()
    assert len({hit.thing.id for hit in await hits(store, NEEDLES[0])}) == 5
    with caplog.at_level("INFO", "germane.store"):
        assert await store.upgrade(lambda done, total: told.append((done, total))) == 5
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3), *[(0, 1), (1, 1)] * 2]
    assert [record.getMessage()[-6:] for record in caplog.records] == ["0 of 3", "3 of 3", *["0 of 1", "1 of 1"] * 2]
    page = await store.within(Scope()).ask(ListOutline(events[0].session, limit=9))
    assert [line.first_id for line in page.lines] == [event.id for event in events]
    for n in range(5):
        hit, *_ = await hits(store, f"number{n}")
        assert hit.thing.id == events[n].id
    assert await store.upgrade() == 0
    await store.close()


def test_reading_a_passage_reads_little_of_the_file(tmp_path: Path) -> None:
    """SQLite follows the chain of pages, but hands over only what is asked for."""
    opened = apsw.Connection(str(tmp_path / "x.db"))
    opened.execute("CREATE TABLE events (key INTEGER PRIMARY KEY, text TEXT NOT NULL)")
    text = "word " * 400_000
    opened.execute("INSERT INTO events VALUES (1, ?)", (text,))
    found = passage(opened, 1, len(text), (1_000_000, 1_004_000))
    assert len(found.text) < 4_600
    assert found.text.startswith("…word word")
    opened.close()
