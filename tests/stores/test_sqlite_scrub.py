"""Scrubbing: what delays it, how another process takes it over, and that it misses no write made meanwhile."""

from __future__ import annotations

import asyncio
import random
import re
import threading
from contextlib import closing, nullcontext
from pathlib import Path

import apsw
import pytest

from germane.clock import Clock
from germane.kinds.events.reads import PutEvent
from germane.kinds.injections import PutInjection
from germane.kinds.keys.reads import NonceKey
from germane.kinds.memories.reads import Forget, ListMemories, PutMemory, SeenMemories
from germane.stores.sqlite import SqliteStore, erasure
from germane.stores.sqlite.backup import back_up
from germane.stores.sqlite.database import APPLICATION, SqliteDatabase, migrations
from germane.stores.sqlite.erasure import Erasure, ErasureState, erasure_state
from germane.stores.sqlite.jobs import Job
from germane.stores.sqlite.scrub import Scrub
from germane.types.query import Filters
from germane.types.scope import Scope
from germane_testing.builders import NOON, Hashed, a_memory, an_event, writing
from germane_testing.injection_contract import an_injection

pytestmark = pytest.mark.requirement("MEM-3")


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Callers get their answer after one attempt."""
    monkeypatch.setattr(erasure, "_TRIES", 1)


def opened(folder: Path) -> SqliteStore:
    return SqliteStore.open(folder / "a.db", embedder=Hashed(), clock=Clock())


def foreign(folder: Path) -> apsw.Connection:
    """A foreign connection, such as another process has."""
    return apsw.Connection(str(folder / "a.db"))


def reading(folder: Path) -> apsw.Connection:
    """A foreign connection that holds a snapshot of the file as it is now."""
    connection = foreign(folder)
    connection.execute("BEGIN; SELECT count(*) FROM memories")
    return connection


def held(folder: Path) -> set[str]:
    everything = b"\0".join(path.read_bytes() for path in folder.iterdir() if path.is_file())
    return {mark.decode() for mark in re.findall(rb"canary\d+z", everything)}


async def kept(store: SqliteStore, text: str) -> str:
    memory = a_memory(text)
    await store.within(Scope()).commit(writing(PutMemory(memory)))
    return memory.id


async def forgotten(store: SqliteStore, *ids: str) -> str:
    """Returns what the scrub waits for."""
    scoped = store.within(Scope())
    await scoped.commit(writing(Forget(memory_ids=ids, at=NOON)))
    return await scoped.scrub()


async def finding(store: SqliteStore) -> tuple[str, bool]:
    (found,) = [(text, fine) for name, text, fine in (await store.check()).findings if name == "erasure"]
    return found


async def finished(store: SqliteStore) -> None:
    """Returns when the check-up reports no erasure as due; nothing requests a scrub meanwhile."""
    while not (await finding(store))[1]:
        pass


async def test_a_reader_with_an_older_snapshot_is_waited_for_and_named(tmp_path: Path) -> None:
    """Forgetting takes effect at once, the check-up reports since when a scrub is due, and it completes when the reader
    ends."""
    store = opened(tmp_path)
    id = await kept(store, "canary1z")
    reader = reading(tmp_path)
    assert "a reader that holds an older snapshot" in await forgotten(store, id)
    assert await store.within(Scope()).ask(SeenMemories([id])) == ()
    text, fine = await finding(store)
    assert not fine
    assert re.match(r"unfinished since \d{4}-.*, waits for a reader", text)
    assert held(tmp_path) == {"canary1z"}
    reader.close()
    await finished(store)
    assert held(tmp_path) == set()
    await store.close()


async def test_an_opening_finishes_what_was_left_and_no_reader_holds_it_up(tmp_path: Path) -> None:
    """While the reader lasts, the store opens, reports what it waits for, and works."""
    store = opened(tmp_path)
    id = await kept(store, "canary1z")
    reader = reading(tmp_path)
    await forgotten(store, id)
    await store.close()
    store = opened(tmp_path)
    assert "a reader" in (await finding(store))[0] or "under way" in (await finding(store))[0]
    await store.close()
    reader.close()
    store = opened(tmp_path)
    assert await store.within(Scope()).scrub() == ""
    assert held(tmp_path) == set()
    await store.close()


async def test_forgetting_again_scrubs_again(tmp_path: Path) -> None:
    """Forgetting what is gone already attempts the scrub again."""
    store = opened(tmp_path)
    id = await kept(store, "canary1z")
    reader = reading(tmp_path)
    assert await forgotten(store, id)
    assert await forgotten(store, id)
    reader.close()
    assert await forgotten(store, id) == ""
    assert held(tmp_path) == set()
    await store.close()


async def test_what_a_killed_process_forgot_is_finished_by_one_that_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file records that a scrub is due; another process that has it open takes it over after a while."""
    monkeypatch.setattr(erasure, "_POLL", 0.001)
    store = opened(tmp_path)
    await kept(store, "canary1z")
    other = foreign(tmp_path)
    other.pragma("secure_delete", True)
    other.execute("BEGIN; DELETE FROM memories; UPDATE counters SET erased = revision; COMMIT")
    await finished(store)
    assert held(tmp_path) == set()
    other.close()
    await store.close()


async def test_what_is_forgotten_while_scrubbing_is_scrubbed_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scrub records only what was forgotten before it began as scrubbed."""
    store = opened(tmp_path)
    await kept(store, "anything")
    await store.close()
    connection, guard, late = foreign(tmp_path), foreign(tmp_path), foreign(tmp_path)
    late.execute("UPDATE counters SET erased = revision")
    overwrite = Scrub._overwrite

    def meanwhile(scrub: Scrub, pages: frozenset[int] | None) -> None:
        if pages is None:
            late.execute("UPDATE counters SET erased = erased + 5, erased_at = 1")
        overwrite(scrub, pages)

    monkeypatch.setattr(Scrub, "_overwrite", meanwhile)
    scrub = Scrub(store._database, connection, guard, nullcontext())
    before = erasure_state(late)
    assert scrub.run() == ""
    assert erasure_state(late) == before._replace(erased=before.erased + 5, scrubbed=before.erased, since=1)
    monkeypatch.undo()
    assert scrub.run() == ""
    assert (erasure_state(late).due, erasure_state(late).since) == (False, None)
    for one in (connection, guard, late):
        one.close()


@pytest.mark.parametrize("pages", [1, 400])
async def test_a_page_that_is_written_while_the_file_is_gone_through_is_gone_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pages: int
) -> None:
    """With what stood in its gap it is in the log by then; one page or so many that they take another round."""
    _old(tmp_path / "a.db")
    connection, guard, other = foreign(tmp_path), foreign(tmp_path), foreign(tmp_path)
    other.pragma("journal_mode", "wal")
    other.execute(migrations()[2])
    overwrite = Scrub._overwrite

    def meanwhile(scrub: Scrub, wanted: frozenset[int] | None) -> None:
        if wanted is None:
            others = [(str(number) + "x" * 6000,) for number in range(pages)]
            other.execute("BEGIN")
            other.executemany("INSERT INTO models (identity, dimension) VALUES (?, 1)", others)
            other.execute("INSERT INTO events SELECT 1, 'a', 1, 1, 1, '', '', '', '', NULL, 1, 1, 1, 1, NULL, NULL; COMMIT")
        overwrite(scrub, wanted)

    monkeypatch.setattr(Scrub, "_overwrite", meanwhile)
    assert Scrub(SqliteDatabase.at(tmp_path / "a.db"), connection, guard, nullcontext()).run() == ""
    assert held(tmp_path) == set()
    assert connection.pragma("integrity_check") == "ok"
    for one in (connection, guard, other):
        one.close()


@pytest.mark.parametrize("seed", [1, 2])
async def test_what_others_write_meanwhile_brings_nothing_back(tmp_path: Path, seed: int) -> None:
    """Two stores on one file record and forget at once: each has pages in memory that the other overwrites."""
    rng = random.Random(seed)
    stores = [opened(tmp_path), opened(tmp_path)]
    gone: set[str] = set()

    async def living(store: SqliteStore, first: int) -> None:
        scoped = store.within(Scope())
        for number in range(first, first + 6):
            noise = " ".join(f"w{rng.randrange(999)}" for _ in range(rng.choice([3, 40, 1500])))
            memory = a_memory(f"canary{number}z {noise}")
            events = [an_event(f"{n} {noise}", session=f"s{number}", position=n) for n in range(rng.randrange(1, 30))]
            await scoped.commit(writing(PutMemory(memory), *map(PutEvent, events)))
            await scoped.commit(writing(Forget(memory_ids=(memory.id,), at=NOON)))
            while await scoped.scrub():
                pass
            gone.add(f"canary{number}z")
            assert not held(tmp_path) & gone

    await asyncio.gather(living(stores[0], 0), living(stores[1], 100))
    for store in stores:
        await store.close()
    assert held(tmp_path) == set()


async def test_who_writes_beside_a_forgetting_is_answered_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the file is gone through, others are written and answered."""
    store = opened(tmp_path)
    id = await kept(store, "canary1z")
    answered = asyncio.Event()
    loop, overwrite = asyncio.get_running_loop(), Scrub._overwrite

    def slowly(scrub: Scrub, pages: frozenset[int] | None) -> None:
        if pages is None:
            asyncio.run_coroutine_threadsafe(answered.wait(), loop).result(10)
        overwrite(scrub, pages)

    monkeypatch.setattr(Scrub, "_overwrite", slowly)
    forgetting = asyncio.ensure_future(forgotten(store, id))
    await asyncio.sleep(0)
    await kept(store, "somebody else's")
    assert not forgetting.done()
    answered.set()
    assert await forgetting == ""
    assert held(tmp_path) == set()
    await store.close()


def _old(path: Path) -> None:
    """A store as the version before made it, with a text left in the unallocated space of a page."""
    connection = apsw.Connection(str(path))
    connection.execute(f"PRAGMA page_size = 8192; {''.join(migrations()[:2])}")
    connection.execute(f"PRAGMA user_version = 2; PRAGMA application_id = {APPLICATION}")
    connection.execute("INSERT INTO meta VALUES ('nonce_key', zeroblob(32)); UPDATE counters SET revision = 7")
    connection.close()
    _plant(path)


def _plant(path: Path) -> None:
    """Puts a text into unused space of the table of events."""
    with closing(apsw.Connection(str(path))) as connection:
        ((root,),) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'events'")
        begin = (root - 1) * connection.pragma("page_size") + 2000
    content = bytearray(path.read_bytes())
    content[begin : begin + 8] = b"canary1z"
    path.write_bytes(content)


@pytest.mark.parametrize("touched", [True, False])
async def test_a_store_of_the_version_before_is_scrubbed_once(tmp_path: Path, touched: bool) -> None:
    """It may hold what a killed process left. One that never held anything needn't be."""
    _old(tmp_path / "a.db")
    if not touched:
        connection = foreign(tmp_path)
        connection.execute("UPDATE counters SET revision = 0")
        connection.close()
    store = opened(tmp_path)
    assert await store.within(Scope()).scrub() == ""
    await store.close()
    assert held(tmp_path) == (set() if touched else {"canary1z"})
    with closing(foreign(tmp_path)) as connection:
        assert connection.pragma("integrity_check") == "ok"


async def test_a_backup_that_is_running_is_a_reader_too(tmp_path: Path) -> None:
    """It copies what was there when it began; afterwards the file is clean, and the copy is its maker's."""
    store = opened(tmp_path)
    id = await kept(store, "canary1z")
    (elsewhere := tmp_path / "copies").mkdir()
    await asyncio.gather(store.backup(elsewhere / "copy.db"), forgotten(store, id))
    while await store.within(Scope()).scrub():
        pass
    assert held(tmp_path) == set()
    await store.close()


async def test_a_backup_holds_nothing_that_was_forgotten_and_still_waits_to_be_scrubbed(tmp_path: Path) -> None:
    """A reader of an older snapshot keeps the file from being scrubbed; the copy is scrubbed by itself."""
    await opened(tmp_path).close()
    _plant(tmp_path / "a.db")
    with closing(reading(tmp_path)), closing(foreign(tmp_path)) as connection:
        connection.execute("UPDATE counters SET erased = scrubbed + 1")
        (elsewhere := tmp_path / "copies").mkdir()
        await back_up(SqliteDatabase.at(tmp_path / "a.db"), elsewhere / "copy.db", None)
        assert (held(tmp_path), held(elsewhere)) == ({"canary1z"}, set())
    with closing(apsw.Connection(str(elsewhere / "copy.db"))) as connection:
        assert connection.pragma("integrity_check") == "ok"
    assert [path.name for path in elsewhere.iterdir()] == ["copy.db"]


async def test_a_forgetting_that_comes_as_another_is_done_is_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes between the poll that finds all done and the answer: it is scrubbed at once, not after the next poll."""
    monkeypatch.setattr(erasure, "_POLL", 3600.0)
    settled, done, deliver_when_scrubbed, run, look = (
        threading.Event(),
        list[int](),
        Erasure.deliver_when_scrubbed,
        Scrub.run,
        erasure.erasure_state,
    )

    def told(self: Erasure, jobs: list[Job], revision: int) -> None:
        deliver_when_scrubbed(self, jobs, revision)
        if done:
            settled.set()

    def finished_once(scrub: Scrub, patience: int = 100) -> str:
        outcome = run(scrub, patience)
        done.append(patience)
        return outcome

    def waiting(connection: apsw.Connection) -> ErasureState:
        seen = look(connection)
        if len(done) == 1 and not settled.is_set():
            settled.wait(10)
        return seen

    for owner, name, change in (
        (Erasure, "deliver_when_scrubbed", told),
        (Scrub, "run", finished_once),
        (erasure, "erasure_state", waiting),
    ):
        monkeypatch.setattr(owner, name, change)
    store = opened(tmp_path)
    ids = [await kept(store, "canary1z"), await kept(store, "canary2z")]
    gone = [writing(Forget(memory_ids=(id,), at=NOON)) for id in ids]
    first = asyncio.ensure_future(store.within(Scope()).commit(gone[0]))
    while not done:
        await store.ask(NonceKey())
    async with asyncio.timeout(60):  # passed over, it would wait for the next look
        await store.within(Scope()).commit(gone[1])
    await first
    assert held(tmp_path) == set()
    await store.close()


async def test_a_link_to_the_file_is_as_good_as_the_file(tmp_path: Path) -> None:
    """What belongs beside the file is beside it, and not beside the link."""
    (real := tmp_path / "real").mkdir()
    (link := tmp_path / "link").mkdir()
    (link / "a.db").symlink_to(real / "a.db")
    store = opened(link)
    id = await kept(store, "canary1z")
    assert await forgotten(store, id) == ""
    assert held(real) == set()
    assert {path.name for path in link.iterdir()} == {"a.db"}
    await store.close()


async def test_without_a_log_it_is_scrubbed_too(tmp_path: Path) -> None:
    """On a file system that has no shared memory, as SQLite's own without locks."""
    _old(tmp_path / "a.db")
    store = SqliteStore.open(tmp_path / "a.db", embedder=Hashed(), clock=Clock(), vfs="unix-none")
    assert ("journal", "delete", True) in (await store.check()).findings
    id = await kept(store, "canary2z")
    assert await forgotten(store, id) == ""
    assert held(tmp_path) == set()
    await store.close()


async def test_nothing_is_scrubbed_where_nothing_was_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writing and reading alone never go through the file."""
    runs, run = list[int](), Scrub.run

    def counted(scrub: Scrub, patience: int = 100) -> str:
        runs.append(patience)
        return run(scrub, patience)

    monkeypatch.setattr(Scrub, "run", counted)
    store = opened(tmp_path)
    await kept(store, "tea")
    assert (await store.within(Scope()).ask(ListMemories(Filters(), at=NOON, limit=9))).memories
    assert await store.within(Scope()).scrub() == ""
    await store.close()
    assert runs == []


@pytest.mark.requirement("INJECT-6")
async def test_copies_of_a_forgotten_text_in_records_are_scrubbed_too(tmp_path: Path) -> None:
    """What was injected of it, in whichever session, and what was removed of the session's older records."""
    store = opened(tmp_path)
    texts = [f"canary{number}z {'x' * 900}" for number in range(60)]
    memories = [a_memory(text) for text in texts]
    await store.within(Scope()).commit(writing(*map(PutMemory, memories)))
    records = [PutInjection("s", an_injection(memory, turn=memory.id)) for memory in memories]
    for change in records:
        await store.within(Scope()).commit(writing(change))
    assert await forgotten(store, *(memory.id for memory in memories[::2])) == ""
    await store.close()
    assert held(tmp_path) == {text.split()[0] for text in texts[1::2]}
