"""Kills: a process that ends at any step of a forgetting leaves all of it or nothing, once the store has been opened again.

Every step is one that changes a file. Before each of them the files are copied as they are, which is what a process that is
killed there leaves; then the copy is opened.
"""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from faulty_disk import Steps

from germane.change import Change
from germane.clock import Clock
from germane.events.ledger import PutEvent
from germane.memories.ledger import Forget, PutMemory, SetDirective
from germane.scope import Scope
from germane.stores.sqlite import SqliteStore
from germane.testing.hashed import Hashed
from germane.testing.stored import NOON, a_memory, an_event, writing

_EVERY = 3
"""Of so many steps one is tried: most are pages written to the log one after another."""
ANNA = Scope(user="canary99z")


@pytest.fixture
def disk() -> Iterator[Steps]:
    made = Steps("steps")
    yield made
    made.unregister()


@dataclass
class Filming:
    """Copies of the folder, each with what had been acknowledged as gone by then, and what was just going."""

    folder: Path
    films: Path
    gone: set[str] = field(default_factory=set)
    going: set[str] = field(default_factory=set)
    taken: list[tuple[Path, frozenset[str], frozenset[str]]] = field(default_factory=list)

    def take(self, _: int = 0) -> None:
        copy = self.films / str(len(self.taken))
        shutil.copytree(self.folder, copy, ignore=shutil.ignore_patterns("*-reserve", ".germane-*"))
        self.taken.append((copy, frozenset(self.gone), frozenset(self.going)))


def opened(folder: Path, vfs: str | None = None) -> SqliteStore:
    return SqliteStore.open(folder / "a.db", embedder=Hashed(), clock=Clock(), vfs=vfs)


def canaries(folder: Path) -> set[str]:
    everything = b"\0".join(path.read_bytes() for path in folder.iterdir())
    return {mark.decode() for mark in re.findall(rb"canary\d+z", everything)}


def noise(rng: random.Random, words: int) -> str:
    return " ".join(f"w{rng.randrange(999)}" for _ in range(words))


def things(rng: random.Random, first: int, count: int) -> dict[str, PutMemory | PutEvent]:
    """Each with a canary of its own in every place that a text can be."""
    made: dict[str, PutMemory | PutEvent] = {}
    for number in range(first, first + count):
        mark = f"canary{number}z"
        text = f"{mark} {noise(rng, rng.choice([3, 15, 60, 1500]))}"
        event = an_event(text, session=mark, name=mark, message_id=mark, raw={"content": mark})
        made[mark] = PutMemory(a_memory(text, "fact", key=mark, tags=(mark,))) if number % 2 else PutEvent(event)
    return made


def forgetting(changes: list[PutMemory | PutEvent]) -> Forget:
    memories = tuple(change.memory.id for change in changes if isinstance(change, PutMemory))
    events = tuple(change.event.id for change in changes if isinstance(change, PutEvent))
    return Forget(memory_ids=memories, event_ids=events, at=NOON)


async def go(store: SqliteStore, film: Filming, scope: Scope, marks: set[str], *changes: Change) -> None:
    film.going = marks
    await store.within(scope).journal.commit(writing(*changes))
    film.gone |= marks
    film.going = set()


async def lived(store: SqliteStore, film: Filming) -> None:
    """What a store goes through: writing, forgetting a few and many, correcting, a directive replaced, everything of a user."""
    rng = random.Random(7)
    held = things(rng, 0, 16)
    await store.within(Scope()).journal.commit(writing(*held.values(), SetDirective("canary100z")))
    memory = a_memory("canary101z tea")
    own = things(rng, 200, 2)
    mine = [
        replace(one, memory=replace(one.memory, user=ANNA.user))
        if isinstance(one, PutMemory)
        else replace(one, event=replace(one.event, user=ANNA.user))
        for one in own.values()
    ]
    await store.within(Scope()).journal.commit(writing(PutMemory(memory)))
    await store.within(ANNA).journal.commit(writing(*mine, SetDirective("canary102z")))
    few = dict(list(held.items())[3:4])
    await go(store, film, Scope(), set(few), forgetting(list(few.values())))
    await go(store, film, Scope(), {"canary101z"}, PutMemory(replace(a_memory("milk"), id=memory.id)))
    await go(store, film, Scope(), {"canary100z"}, SetDirective("be kind"))
    many = dict(list(held.items())[6:9])
    await go(store, film, Scope(), set(many), forgetting(list(many.values())))
    await go(store, film, ANNA, {*own, "canary99z", "canary102z"}, Forget(at=NOON, by="canary99z", everything=True))


@pytest.mark.requirement("MEM-3")
async def test_a_kill_at_any_step_leaves_all_or_nothing(tmp_path: Path, disk: Steps) -> None:
    """Of what was acknowledged nothing, of what was on its way all or nothing, and the store says which."""
    (folder := tmp_path / "live").mkdir()
    film = Filming(folder, tmp_path)
    store = opened(folder, vfs=disk.name)
    disk.before = film.take
    await lived(store, film)
    await store.close()
    disk.before = lambda growth: None
    film.take()
    tried = film.taken[::_EVERY]
    assert len(tried) >= 200
    for copy, gone, going in tried:
        again = opened(copy, vfs=disk.name)
        assert await again.within(Scope()).journal.scrub() == ""
        unwell = [finding for finding in (await again.check()).findings if not finding[2]]
        await again.close()
        found = canaries(copy)
        assert unwell == []
        assert not found & gone, f"{copy.name}: forgotten, and there"
        assert found & going in (set(), going), f"{copy.name}: half forgotten"
