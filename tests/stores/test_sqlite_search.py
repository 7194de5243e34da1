"""Partitions in memory: warming, limits, vectors of another model, and cancelled callers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from germane.clock import Clock
from germane.errors import EmbedderError
from germane.kinds.events.reads import PutEvent, SeenEvents
from germane.kinds.memories.directive import CurrentDirective
from germane.kinds.memories.reads import Forget, PutMemory
from germane.search.partition import Partition
from germane.stores.contract import StillLoading
from germane.stores.sql.events.reader import fetch_events
from germane.stores.sql.search import embedding, partitions
from germane.stores.sqlite import SqliteStore
from germane.stores.sqlite.readers import SqliteReading
from germane.types.scope import Scope
from germane_testing.builders import NOON, Hashed, a_memory, an_event, question, writing

EMBEDDER = Hashed()


def opened(path: Path | str, embedder: Hashed = EMBEDDER, **settings: Any) -> SqliteStore:
    return SqliteStore.open(path, embedder=embedder, clock=Clock(), **settings)


async def found(store: SqliteStore, words: str, *, wait: bool = True, scope: Scope = Scope()) -> list[str]:  # noqa: B008
    scoped = store.within(scope)
    hits = (await scoped.events.search(question(words), 50, keywords=True, vectors=False, wait=wait)).hits
    return sorted(hit.thing.text for hit in hits)


async def near(store: SqliteStore, text: str, embedder: Hashed) -> list[str]:
    asked = replace(question("", vector=embedder.embed_now([text])[0]), model=embedder.identity)
    hits = (await store.within(Scope()).memories.search(asked, 1, keywords=False, vectors=True, wait=True)).hits
    return [hit.thing.text for hit in hits]


@pytest.mark.requirement("GATHER-2")
async def test_a_large_partition_warms_up_behind_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without waiting: `Warming` until it is there, then the answer. A small one answers at once."""
    monkeypatch.setattr(partitions, "_MAX_UNITS_AWAITED", 3)
    store = opened(":memory:")
    events = [an_event(f"cat {n}", position=n) for n in range(5)]
    await store.within(Scope()).commit(writing(*map(PutEvent, events)))
    with pytest.raises(StillLoading):
        await found(store, "cat", wait=False)
    await store.warm(Scope())
    assert len(await found(store, "cat", wait=False)) == 5
    await store.within(Scope()).commit(writing(Forget(event_ids=(events[0].id,), at=NOON)))
    assert await found(store, "cat", wait=False) == ["cat 1", "cat 2", "cat 3", "cat 4"]
    await store.close()


@pytest.mark.requirement("MEM-3", "ENGINE-10")
async def test_what_was_forgotten_does_not_have_the_rest_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found no more at once. Its row goes when the partition is made anew, after many of them."""
    monkeypatch.setattr(partitions, "_MAX_STALE", 2)
    store = opened(":memory:")
    scoped = store.within(Scope())
    events = [an_event(f"cat {n}", position=n) for n in range(6)]
    await scoped.commit(writing(*map(PutEvent, events)))
    assert len(await found(store, "cat")) == 6
    (key,) = store._partitions._held
    loaded = store._partitions._held.get(key)
    assert loaded is not None
    rows = []
    for n in range(5):
        await scoped.commit(writing(Forget(event_ids=(events[n].id,), at=NOON)))
        assert await found(store, "cat") == [f"cat {one}" for one in range(n + 1, 6)]
        rows.append(loaded.partition.columns.rows)
    assert rows == [6, 6, 6, 2, 2]
    await store.close()


@pytest.mark.requirement("GATHER-4", "HOOK-2")
@pytest.mark.parametrize("count", [0, 1, 3, 12, 40, 90, 118, 120])
async def test_what_follows_excluded_results_takes_their_place(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of a search for more that excludes nothing, with the same evidence; few of them are read, none twice."""
    read = list[int]()

    def fetch(reading: Any, visible: Any, places: Any, best: Any) -> Any:
        read.extend(places)
        return fetch_events(reading, visible, places, best)

    monkeypatch.setattr("germane.stores.sqlite.store.fetch_events", fetch)
    store = opened(":memory:")
    scoped, words = store.within(Scope()), ("cat", "sat", "on", "the", "mat")
    events = [an_event(f"{' '.join(words[: 1 + n % 5])} {n}", position=n) for n in range(120)]
    await scoped.commit(writing(*map(PutEvent, events)))
    asked = question("cat sat on the mat")

    async def hits(limit: int, exclude: Sequence[str]) -> Sequence[Any]:
        without = replace(asked, filters=replace(asked.filters, exclude=frozenset(exclude)))
        return (await scoped.events.search(without, limit, keywords=True, vectors=False, wait=True)).hits

    async def expected(exclude: Sequence[str]) -> Sequence[Any]:
        wanted = 10
        while True:
            found = await hits(wanted, ())
            kept = [hit for hit in found if hit.thing.id not in exclude]
            if len(kept) >= 10 or len(found) < wanted:
                return kept[:10]
            wanted = max(4 * wanted, 10 + len(exclude))

    best = await hits(120, ())
    assert len(best) == 120
    for names in ([hit.thing.id for hit in best[:count]], [hit.thing.id for hit in best[1 : 2 * count : 2]]):
        awaited = await expected(names)
        read.clear()
        assert list(await hits(10, names)) == awaited
        assert len(awaited) == min(10, 120 - len(names))
        assert len(read) == len(set(read)) <= 2 * 10 + len(names)
    await store.close()


async def test_memory_stays_within_its_limit() -> None:
    """The least recently searched partition is evicted, and loaded again by the next search of it."""
    store = opened(":memory:", memory_limit=1)
    for user in ("anna", "ben"):
        scope = Scope(user=user)
        await store.within(scope).commit(writing(PutEvent(an_event(f"cat of {user}", user=user))))
    for user in ("anna", "ben", "anna"):
        assert await found(store, "cat", scope=Scope(user=user)) == [f"cat of {user}"]
        assert len(store._partitions) == 1
    await store.close()


async def test_a_search_after_a_change_counts_only_what_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many users' partitions are in memory: counting all of them took longer than the search."""
    store, counted = opened(":memory:"), list[Partition]()
    size = Partition.nbytes.fget  # type: ignore[attr-defined]

    def counting(partition: Partition) -> int:
        counted.append(partition)
        return int(size(partition))

    monkeypatch.setattr(Partition, "nbytes", property(counting))
    for position, turn in enumerate(("cat", "dog")):
        for user in ("anna", "ben", "cleo", "dora"):
            scope = Scope(user=user)
            await store.within(scope).commit(writing(PutEvent(an_event(f"{turn} of {user}", user=user, position=position))))
            counted.clear()
            assert f"{turn} of {user}" in await found(store, turn, scope=scope)
            assert len(counted) == 1
    await store.close()


async def test_the_bytes_counted_are_those_held() -> None:
    """After updates, evictions and a forgotten user."""
    store = opened(":memory:", memory_limit=25_000)
    for turn in range(3):
        for user in ("anna", "ben", "cleo"):
            scope = Scope(user=user)
            await store.within(scope).commit(writing(PutEvent(an_event(f"cat {turn}", user=user, position=turn))))
            assert await found(store, "cat", scope=scope)
            held = [loaded for key in store._partitions._held if (loaded := store._partitions._held.get(key))]
            assert store._partitions.nbytes == sum(loaded.partition.nbytes for loaded in held) <= 25_000
            assert 1 <= len(held) < 3
    store._partitions.drop(lambda _: True)
    assert (store._partitions.nbytes, len(store._partitions)) == (0, 0)
    await store.close()


async def test_what_is_being_asked_stays_however_large_it_is() -> None:
    """Neither domain of the searched scope is evicted for the other: else each search would read it again."""
    store = opened(":memory:", memory_limit=1)
    await store.within(Scope()).commit(writing(PutEvent(an_event("a cat")), PutMemory(a_memory("a dog"))))
    assert await found(store, "cat") == ["a cat"]
    assert await near(store, "a dog", EMBEDDER) == ["a dog"]
    assert await found(store, "cat", wait=False) == ["a cat"]
    assert len(store._partitions) == 2
    await store.close()


@pytest.mark.requirement("SEARCH-3")
async def test_vectors_of_another_model_are_left_alone_until_embedded_again(tmp_path: Path) -> None:
    """Keywords serve meanwhile, the store says how many are stale, and embedding again makes it whole."""
    old, new = Hashed("old"), Hashed("new", dimension=24)
    store = opened(tmp_path / "a.db", old)
    memories = [a_memory(text) for text in ("green tea", "fast cars", "old houses")]
    await store.within(Scope()).commit(writing(*map(PutMemory, memories)))
    assert await near(store, "fast cars", old) == ["fast cars"]
    await store.close()
    store, told = opened(tmp_path / "a.db", new), list[tuple[int, int]]()
    assert await store.stale_vectors() == 3
    assert await near(store, "fast cars", new) == []
    hits = (await store.within(Scope()).memories.search(question("cars"), 5, keywords=True, vectors=True, wait=True)).hits
    assert [hit.thing.text for hit in hits] == ["fast cars"]
    assert await store.reembed(lambda done, total: told.append((done, total))) == 3
    assert told == [(3, 3)]
    assert await store.stale_vectors() == 0
    assert await near(store, "fast cars", new) == ["fast cars"]
    await store.close()


@pytest.mark.requirement("SEARCH-3")
async def test_a_slow_embedders_texts_are_stored_first_and_embedded_after() -> None:
    """Found by words at once, by meaning once embedded."""
    slow = Hashed(quick=False)
    store = opened(":memory:", slow)
    await store.within(Scope()).commit(writing(PutMemory(a_memory("green tea")), PutEvent(an_event("black tea"))))
    assert await found(store, "tea") == ["black tea"]
    assert await store.stale_vectors() == 2
    assert await store.embed_pending(1) == 1
    assert await store.embed_pending() == 1
    assert await store.embed_pending() == 0
    assert await near(store, "green tea", EMBEDDER) == ["green tea"]
    await store.close()


class Pausing(Hashed):
    """Calls `between` after each text, in the thread that it was asked in."""

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise AssertionError("what no caller waits for is embedded in the background")

    async def embed_in_background(self, texts: Sequence[str], between: Callable[[], None]) -> NDArray[np.float32]:
        for _ in texts:
            between()
        return self._vectors(texts)


@pytest.mark.requirement("LIMITS-3")
async def test_vectors_that_no_caller_waits_for_are_made_and_written_with_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """After each text, and before each write; of memories no more are written at once than the writer links in some ms."""
    monkeypatch.setattr(embedding, "_LINKED", 2)
    breaths = list[bool]()
    store = opened(":memory:", Pausing(), breath=lambda: breaths.append(threading.current_thread() is threading.main_thread()))
    texts = [f"tea number {number}" for number in range(5)]
    await store.within(Scope()).commit(writing(*map(PutMemory, map(a_memory, texts))))
    writer = store._writer
    assert writer is not None
    await writer.run(lambda to: to.connection.execute("UPDATE units_memories SET model = NULL, vector = NULL"))
    assert (await store.stale_vectors(), breaths) == (5, [])
    assert await store.reembed() == 5
    assert breaths == [True] * 5 + [False] * 3
    assert await store.stale_vectors() == 0
    revisions = await writer.run(lambda to: [*to.connection.execute("SELECT count(*) FROM units_memories GROUP BY revision")])
    assert sorted(revisions) == [(1,), (2,), (2,)]
    await store.close()


class Choosy(Hashed):
    """A slow embedder that refuses every batch that holds a text with one of its `words`, as endpoints do."""

    def __init__(self, *words: str) -> None:
        super().__init__(quick=False)
        self.words, self.asked = words, list[int]()

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.append(len(texts))
        if any(word in text for word in self.words for text in texts):
            raise EmbedderError("answered 400")
        return await super().embed(texts)


@pytest.mark.requirement("SEARCH-4")
async def test_a_refused_text_keeps_no_other_text_from_its_vector() -> None:
    """It is found by halving, counted, passed over afterwards, and tried again with all others."""
    choosy = Choosy("cursed")
    store = opened(":memory:", choosy)
    texts = [f"tea number {number}" for number in range(20)]
    await store.within(Scope()).commit(writing(*map(PutMemory, map(a_memory, [*texts, "a cursed cup"]))))
    assert await store.embed_pending() == 20
    assert (await store.stale_vectors(), store.refused_texts) == (1, 1)
    assert ("vectors", "hashed/16, 1 texts without one, 1 of them refused by the embedder", False) in (
        await store.check()
    ).findings
    choosy.asked.clear()
    assert (await store.embed_pending(), choosy.asked) == (0, [])
    assert await near(store, "tea number 7", EMBEDDER) == ["tea number 7"]
    choosy.words = ()
    assert (await store.reembed(), store.refused_texts) == (1, 0)
    await store.close()


@pytest.mark.requirement("SEARCH-4")
async def test_an_embedder_that_fails_on_everything_refuses_no_text() -> None:
    """All texts wait until it answers again; a refused one that was forgotten is counted no more."""
    choosy = Choosy("")
    store = opened(":memory:", choosy)
    memories = [a_memory(text) for text in ("green tea", "black tea")]
    await store.within(Scope()).commit(writing(*map(PutMemory, memories)))
    with pytest.raises(EmbedderError):
        await store.embed_pending()
    assert (await store.stale_vectors(), store.refused_texts, choosy.asked) == (2, 0, [2, 1])
    choosy.words = ("green",)
    assert (await store.embed_pending(), store.refused_texts) == (1, 1)
    await store.within(Scope()).commit(writing(Forget(memory_ids=(memories[0].id,), at=NOON)))
    assert (await store.embed_pending(), store.refused_texts) == (0, 0)
    await store.close()


async def test_a_caller_who_gives_up_frees_the_reader(tmp_path: Path) -> None:
    """Cancelling stops the statement that runs, and the only reader serves the next caller."""
    store, begun = opened(tmp_path / "a.db", readers=1), threading.Event()
    forever = "WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n"

    def work(reading: SqliteReading) -> None:
        begun.set()
        reading.connection.execute(forever)

    call = asyncio.ensure_future(store._readers.run(work))
    await asyncio.to_thread(begun.wait, 10)
    call.cancel()
    await asyncio.wait([call])
    assert (await store.within(Scope()).ask(CurrentDirective())).text == ""
    await store.close()


async def test_a_lone_surrogate_comes_back_verbatim() -> None:
    """What UTF-8 can't hold is kept as it was."""
    store = opened(":memory:")
    scoped, event = store.within(Scope()), an_event("half \ud83d of it", name="\udc00", message_id="\ud800")
    await scoped.commit(writing(PutEvent(event), PutMemory(a_memory("\ud83d", tags=("\ud83d",)))))
    (kept,) = await scoped.ask(SeenEvents([event.id]))
    assert (kept.text, kept.name, kept.message_id) == (event.text, event.name, event.message_id)
    assert await found(store, "half") == [event.text]
    await store.close()


async def test_a_partition_that_is_loaded_in_slices_is_searched_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same events in the same order, whatever the size of a slice."""
    events = [PutEvent(an_event(f"tea number {n % 5} of {n}", session=f"s{n % 3}", position=n)) for n in range(40)]
    found = []
    for size in (1, 7, 100):
        monkeypatch.setattr(partitions, "_SLICE", size)
        store = opened(tmp_path / "a.db")
        if size == 1:
            await store.within(Scope()).commit(writing(*events))
        hits = (await store.within(Scope()).events.search(question("tea 3"), 20, keywords=True, vectors=False, wait=True)).hits
        found.append([(hit.thing.id, hit.evidence) for hit in hits])
        await store.close()
    assert len(found[0]) == 20
    assert found[0] == found[1] == found[2]
