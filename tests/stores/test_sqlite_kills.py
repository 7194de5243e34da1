"""Kills: a process that ends at any step of a forgetting leaves all of it or nothing, once the store has been opened again.

Every step is one that changes a file. Before each of them the files are copied as they are, which is what a process that is
killed there leaves; then the copy is opened.
"""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import apsw
import pytest
from bench.disk import Disk

from germane.clock import Clock
from germane.kinds.events.reads import PutEvent
from germane.kinds.memories.directive import SetDirective
from germane.kinds.memories.reads import Forget, ForgetOwner, PutMemory
from germane.stores.sqlite import SqliteStore
from germane.types.plan import Change
from germane.types.scope import Scope
from germane_testing.builders import NOON, Hashed, a_memory, an_event, writing
from support.examples import whole

ANNA = Scope(user="canary99z")


@pytest.fixture
def disk() -> Iterator[Disk]:
    made = Disk("steps")
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


def told(folder: Path) -> set[str]:
    """What the store itself still knows: everything in every row of it."""
    with closing(apsw.Connection(str(folder / "a.db"))) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        rows = [repr(list(connection.execute(f"SELECT * FROM {table}"))) for table in tables]
    return set(re.findall(r"canary\d+z", "".join(rows)))


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


async def lived_in(folder: Path) -> tuple[dict[str, PutMemory | PutEvent], str]:
    """A store, closed again: what is in it, and the id of the memory that is going to be corrected."""
    rng = random.Random(7)
    held, memory, store = things(rng, 0, 16), a_memory("canary101z tea"), opened(folder)
    own = a_memory("canary200z", user=ANNA.user)
    said = an_event("canary201z", user=ANNA.user, session="canary202z", name="canary203z")
    await store.within(Scope()).commit(writing(*held.values(), PutMemory(memory), SetDirective("canary100z")))
    await store.within(ANNA).commit(writing(PutMemory(own), PutEvent(said), SetDirective("canary102z")))
    await store.close()
    return held, memory.id


def left_behind(folder: Path, marks: set[str]) -> None:
    """Put the marks into the unallocated space of every page that has any, where SQLite leaves such copies now and then."""
    with closing(apsw.Connection(str(folder / "a.db"))) as connection:
        size = connection.pragma("page_size")
        pages = [page for (page,) in connection.execute("SELECT pageno FROM dbstat WHERE pagetype <> 'overflow'") if page > 1]
    content, text = bytearray((folder / "a.db").read_bytes()), " ".join(sorted(marks)).encode()
    for start in ((page - 1) * size for page in pages):
        header = {2: 12, 5: 12, 10: 8, 13: 8}[content[start]]
        begins = start + header + 2 * int.from_bytes(content[start + 3 : start + 5], "big")
        if begins + len(text) <= start + int.from_bytes(content[start + 5 : start + 7], "big"):
            content[begins : begins + len(text)] = text
    (folder / "a.db").write_bytes(content)


Doing = tuple[Scope, set[str], Change]


def few(held: dict[str, PutMemory | PutEvent], _: str) -> Doing:
    return Scope(), {"canary3z"}, forgetting([held["canary3z"]])


def many(held: dict[str, PutMemory | PutEvent], _: str) -> Doing:
    marks = {f"canary{number}z" for number in range(4, 12)}
    return Scope(), marks, forgetting([held[mark] for mark in sorted(marks)])


def corrected(_: object, id: str) -> Doing:
    return Scope(), {"canary101z"}, PutMemory(replace(a_memory("milk"), id=id))


def instructed(_: object, __: str) -> Doing:
    return Scope(), {"canary100z"}, SetDirective("be kind")


def everything(_: object, __: str) -> Doing:
    marks = {"canary99z", "canary102z", "canary200z", "canary201z", "canary202z", "canary203z"}
    return ANNA, marks, ForgetOwner(at=NOON, by="canary99z")


@pytest.mark.soak
@pytest.mark.requirement("MEM-3")
@pytest.mark.parametrize("doing", [few, many, corrected, instructed, everything], ids=lambda doing: doing.__name__)
async def test_a_kill_at_any_step_leaves_all_or_nothing(
    tmp_path: Path, disk: Disk, doing: Callable[[dict[str, PutMemory | PutEvent], str], Doing]
) -> None:
    """Of what was acknowledged nothing, of what was on its way all or nothing, and the store is sound. Every seventh step
    is looked at, and the last two; in the soak every third, and it kills processes anywhere."""
    (folder := tmp_path / "live").mkdir()
    scope, marks, change = doing(*await lived_in(folder))
    left_behind(folder, marks)
    film = Filming(folder, tmp_path, going=marks)
    store = opened(folder, vfs=disk.name)
    disk.before = film.take
    await store.within(scope).commit(writing(change))
    film.gone, film.going = marks, set()
    film.take()
    await store.close()
    disk.before = lambda growth: None
    film.take()
    assert len(film.taken) >= 40  # of each of five: more than 200
    for copy, gone, going in [*film.taken[: -2 : 3 if whole() else 7], *film.taken[-2:]]:
        again = opened(copy, vfs=disk.name)
        assert await again.within(Scope()).scrub() == ""
        unwell = [finding for finding in (await again.check()).findings if not finding[2]]
        await again.close()
        kept = told(copy)
        assert unwell == []
        assert not kept & gone, f"{copy.name}: forgotten, and there"
        assert kept & going in (set(), going), f"{copy.name}: half forgotten"
        assert canaries(copy) == kept, f"{copy.name}: in a file, and not in the store"
