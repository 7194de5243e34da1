"""Erasure: a forgotten text is in no file, whatever the pages went through before."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from germane.clock import Clock
from germane.kinds.events.reads import PutEvent
from germane.kinds.memories.directive import SetDirective
from germane.kinds.memories.plans import update
from germane.kinds.memories.reads import Forget, ListMemories, PutMemory
from germane.stores.sqlite import SqliteStore
from germane.types.candidate import Provenance
from germane.types.plan import Change
from germane.types.query import Filters
from germane.types.scope import Scope
from germane_testing.builders import NOON, Hashed, a_memory, an_event, question, writing


def remains(folder: Path, words: set[str]) -> set[str]:
    """Returns those of the words that stand in any file."""
    everything = b"\0".join(path.read_bytes() for path in folder.iterdir())
    marks = {mark.decode() for mark in re.findall(rb"canary\d{6}z", everything)}
    return {word for word in words if word in marks or (len(word) != 13 and word.encode() in everything)}


def noise(rng: random.Random, words: int) -> str:
    return " ".join(f"w{rng.randrange(999)}" for _ in range(words))


def a_thing(mark: str, rng: random.Random, number: int) -> PutMemory | PutEvent:
    """A memory or event with the mark in every place a text can be."""
    text = f"{mark} {noise(rng, rng.choice([3, 15, 15, 60, 1500]))}"
    if number % 2:
        told = Provenance(message_id=f"{mark}", metadata={"x": mark})
        return PutMemory(a_memory(text, "fact", key=mark, tags=(mark,), provenance=told))
    session = mark if number % 3 else "shared"
    return PutEvent(an_event(text, session=session, position=number, name=mark, message_id=mark, raw={"content": mark}))


def forgetting(things: list[PutMemory | PutEvent]) -> Forget:
    memories = tuple(thing.memory.id for thing in things if isinstance(thing, PutMemory))
    events = tuple(thing.event.id for thing in things if isinstance(thing, PutEvent))
    return Forget(memory_ids=memories, event_ids=events, at=NOON, by="operator", reason="asked to")


@pytest.mark.requirement("MEM-3")
@pytest.mark.parametrize("seed", [1, 3])
async def test_a_forgotten_text_is_in_no_file(tmp_path: Path, seed: int) -> None:
    """Among many writes and forgettings of all sizes, right after each; and what stays, stays."""
    rng = random.Random(seed)
    store = SqliteStore.open(tmp_path / "a.db", embedder=Hashed(), clock=Clock())
    scoped = store.within(Scope())
    alive: dict[str, PutMemory | PutEvent] = {}
    gone: set[str] = set()
    for _ in range(40):
        marks = [f"canary{len(alive) + len(gone) + n:06d}z" for n in range(rng.randrange(1, 50))]
        made = {mark: a_thing(mark, rng, len(alive) + len(gone) + n) for n, mark in enumerate(marks)}
        changes: list[Change] = list(made.values())
        await scoped.commit(writing(*changes))
        alive |= made
        chosen = rng.sample(sorted(alive), min(len(alive), rng.choice([0, 1, 5, 90])))
        if chosen:
            await scoped.commit(writing(forgetting([alive.pop(mark) for mark in chosen])))
            gone.update(chosen)
            assert remains(tmp_path, gone) == set()
    assert remains(tmp_path, set(alive)) == set(alive)
    assert (await store.check()).healthy
    hits = (await scoped.events.search(question(noise(rng, 30)), 500, keywords=True, vectors=False, wait=True)).hits
    assert not gone & {hit.thing.message_id for hit in hits}
    await store.close()


async def test_a_replaced_directive_is_in_no_file(tmp_path: Path) -> None:
    """The old text goes with the new one's commit."""
    store = SqliteStore.open(tmp_path / "a.db", embedder=Hashed(), clock=Clock())
    scoped = store.within(Scope())
    await scoped.commit(writing(SetDirective("canary-old")))
    await scoped.commit(writing(SetDirective("canary-new")))
    assert remains(tmp_path, {"canary-old"}) == set()
    await store.close()


@pytest.mark.requirement("MEM-3")
async def test_what_a_memory_said_before_it_was_corrected_is_in_no_file(tmp_path: Path) -> None:
    """Neither its text, long or short, nor its tags."""
    store = SqliteStore.open(tmp_path / "a.db", embedder=Hashed(), clock=Clock())
    scoped = store.within(Scope())
    for text in ("canary-old", "canary-old of length " * 3000):
        memory = a_memory(text, "fact", tags=("canary-tag",))
        await scoped.commit(writing(PutMemory(memory)))
        await scoped.commit(update(memory.id, {"tags": ["new"]}, text="canary-new", at=NOON, scope=Scope()))
        assert remains(tmp_path, {"canary-old", "canary-tag", "canary-new"}) == {"canary-new"}
    await store.close()


async def test_a_tombstone_says_who_and_why(tmp_path: Path) -> None:
    """And nothing of what was there."""
    store = SqliteStore.open(tmp_path / "a.db", embedder=Hashed(), clock=Clock())
    scoped, memory = store.within(Scope()), a_memory("canary")
    await scoped.commit(writing(PutMemory(memory)))
    await scoped.commit(writing(forgetting([PutMemory(memory)])))
    assert remains(tmp_path, {"canary", memory.id, "operator", "asked to"}) == {memory.id, "operator", "asked to"}
    assert (await scoped.ask(ListMemories(Filters(with_ended=True), at=NOON, limit=9))).memories == ()
    await store.close()
