"""Kills: kills processes while they forget, and searches the files for forgotten content after the store is opened again.

    python -m bench kills [--count 2000] [--seed 1]

A process records, remembers, derives memories from messages and from other memories, has a language model's answers stored,
records contradictions, corrects, replaces directives, keeps what was injected for a turn, stores passages of documents,
entities with relations, tasks, what compactions took out and their summaries, and forgets one item, several, or all of a user.
With a message of a conversation its line in the outline has to go, and what compactions kept of that conversation. Every text,
name, key and id contains a unique mark; what was injected has a mark of its own, which has to go when one of its items does,
and so has a memory that derives from what is forgotten, directly or through others. The process is killed (SIGKILL) while it
forgets: every other time at a random moment, otherwise before a random write to a file. Then the store is opened and closed,
and all files are searched for marks. No mark may be found that the store doesn't list, nor any that was reported as forgotten;
of the interrupted forgetting all marks or none may be left. The same store is used for the next round.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from bench.disk import Disk
from bench.kept_things import KeptThing, other_thing
from bench.machine import describe
from germane.clock import Clock
from germane.extraction.llm.answer import Accepted
from germane.extraction.llm.plans import store_accepted
from germane.extraction.llm.queue import BeginQueue, ReleaseClaim, lease_next
from germane.kinds.events.reads import PutEvent
from germane.kinds.injections import Injection, PutInjection
from germane.kinds.memories.directive import SetDirective
from germane.kinds.memories.forgetting import forget
from germane.kinds.memories.reads import ForgetOwner, PutConflict, PutMemory
from germane.kinds.tasks.plans import new_frame, push_task
from germane.stores.sqlite.store import SqliteStore
from germane.types.candidate import Provenance
from germane.types.plan import Change, Plan, store_change
from germane.types.scope import Scope
from germane.types.trace import InjectedItem
from germane_testing.builders import NOON, Hashed, a_memory, an_event, writing

__all__ = ["Killed", "kills", "main"]

_MARK = re.compile(rb"canary\d+z")
_LIVES = 25
"""Kills after which a new store is created."""
_MOMENTS = 0.03
"""Upper bound of the random delay, in seconds after the forgetting began, before a process is killed."""
_STEPS = 400
"""Upper bound of the random file write at which a process kills itself."""
_SOURCES = ("memory", "event")
"""What a memory may derive from here, and what is injected."""
_SIZES = (3, 3, 15, 15, 60, 400, 1500)
"""The words of the generated texts."""


@dataclass(slots=True)
class Killed:
    """How many were killed, and what was found: marks in a file though forgotten, forgettings half done, stores that weren't
    sound, or not done with scrubbing after the opening and one try."""

    kills: int = 0
    forgettings: int = 0
    midway: int = 0
    marks: int = 0
    left: int = 0
    half: int = 0
    unsound: int = 0

    @property
    def clean(self) -> bool:
        return not (self.left or self.half or self.unsound)


@dataclass
class _Life:
    """The process's reports: one line before and one after each forgetting."""

    gone: set[str] = field(default_factory=set)
    going: set[str] = field(default_factory=set)

    def heard(self, said: bytes) -> None:
        for line in said.splitlines(keepends=True):
            if not line.endswith(b"\n"):
                return  # killed in the middle of a word
            word, marks = json.loads(line)
            if word == "gone":
                self.gone |= set(marks)
            self.going = set(marks) if word == "going" else set()


class _Injected(NamedTuple):
    """The record of a text that holds these items, and its own mark."""

    scope: Scope
    mark: str
    ids: frozenset[str]


class _Child:
    """The process that is to be killed."""

    def __init__(self, store: SqliteStore, out: int, rng: random.Random, number: int) -> None:
        self._store, self._out, self._rng = store, out, rng
        self._numbers, self._session = count(number), f"session {number}"
        self._kept: list[KeptThing] = []
        self._injected: list[_Injected] = []
        self.forgetting = False

    async def live(self) -> None:
        await self._store.commit(store_change(BeginQueue()))
        users = [Scope(), *(Scope(user=self._mark()) for _ in range(2))]
        while True:
            scope = self._rng.choice(users)
            await self._keep(scope)
            await self._inject(scope)
            await self._extract()
            act = self._rng.random()
            if act < 0.3:
                await self._forget([self._rng.choice(self._kept)])
            elif act < 0.4:
                await self._forget([one for one in self._kept if one.scope == scope][:9])
            elif act < 0.6:
                await self._correct()
            elif act < 0.75:
                old, new = self._mark(), self._mark()
                await self._commit(scope, SetDirective(old))
                await self._take(scope, {old}, SetDirective(new))
            elif act < 0.85 and scope.user is not None:
                marks = {scope.user, *(mark for one in self._kept if one.scope == scope for mark in one.marks)}
                marks |= {one.mark for one in self._injected if one.scope == scope}
                self._kept = [one for one in self._kept if one.scope != scope]
                self._injected = [one for one in self._injected if one.scope != scope]
                users[users.index(scope)] = Scope(user=self._mark())
                await self._take(scope, marks, ForgetOwner(at=NOON, by=scope.user))

    def _mark(self) -> str:
        return f"canary{next(self._numbers)}z"

    def _text(self, mark: str) -> str:
        return " ".join([mark, *(f"w{self._rng.randrange(999)}" for _ in range(self._rng.choice(_SIZES)))])

    async def _keep(self, scope: Scope) -> None:
        changes: list[Change] = []
        for _ in range(self._rng.randrange(1, 12)):
            mark = self._mark()
            user: dict[str, Any] = {"user": scope.user}
            if self._rng.random() < 0.5:
                own = [one for one in self._kept if one.scope == scope and one.kind in _SOURCES]
                sources = [one.id for one in self._rng.sample(own, min(len(own), self._rng.choice((0, 0, 1, 2))))]
                memory = a_memory(self._text(mark), "fact", key=mark, tags=(mark,), derived_from=tuple(sources), **user)
                changes.append(PutMemory(memory, restored=self._rng.random() < 0.2))
                self._kept.append(KeptThing(scope, memory.id, {mark}, "memory", memory.content_hash, frozenset(sources)))
                if memories := [one for one in own if one.kind == "memory"]:
                    older = self._rng.choice(memories).id
                    changes.append(PutConflict(older=older, newer=memory.id, reason="number", at=NOON))
            elif self._rng.random() < 0.4:
                event = an_event(self._text(mark), session=mark, name=mark, message_id=mark, raw={"content": mark}, **user)
                changes.append(PutEvent(event))
                self._kept.append(KeptThing(scope, event.id, {mark}, "event", event.content_hash))
            else:
                made = other_thing(scope, mark, self._text(mark), self._rng, next(self._numbers), self._mark)
                changes += made.changes
                self._kept += made.kept
        await self._commit(scope, *changes)
        if self._rng.random() < 0.3:
            mark = self._mark()
            frame = new_frame(self._text(mark)[:4_000], session=mark, user=scope.user, at=NOON)
            await self._store.within(scope).commit(push_task(frame))
            self._kept.append(KeptThing(scope, frame.id, {mark}, "task", 0))

    async def _extract(self) -> None:
        """Stores what a language model could have answered about the messages that wait, or gives them back."""
        at = datetime.now(UTC)
        claim = await self._store.commit(lease_next("me", now=at, until=at + timedelta(minutes=10), within=None, eager=True))
        if claim is None:
            return
        scope = Scope(user=claim.scope.user)
        known = [turn for turn in claim.turns if any(one.id == turn.id for one in self._kept)]
        if not known or self._rng.random() < 0.3:
            retry_at = None if self._rng.random() < 0.5 else at
            await self._store.commit(store_change(ReleaseClaim(claim=claim, reason="no JSON", retry_at=retry_at)))
            return
        mark, source = self._mark(), known[0].id
        memory = a_memory(self._text(mark), derived_from=(source,), user=scope.user, provenance=Provenance(refs=(mark,)))
        stored = await self._store.within(scope).commit(store_accepted(claim, Accepted([memory])))
        if stored is not None and stored.memories:
            self._kept.append(KeptThing(scope, memory.id, {mark}, "memory", memory.content_hash, frozenset({source})))

    async def _inject(self, scope: Scope) -> None:
        """Keeps a text that holds up to four items, as an assembly of the scope would."""
        seen = [one for one in self._kept if one.scope in (scope, Scope()) and one.kind in _SOURCES]
        if not seen:
            return
        chosen, mark = self._rng.sample(seen, min(len(seen), self._rng.randrange(1, 5))), self._mark()
        items = tuple(
            InjectedItem(handle=f"m{number}", id=one.id, content_hash=one.content_hash, source="memories")
            for number, one in enumerate(chosen, start=1)
        )
        injection = Injection(
            turn=str(next(self._numbers)),
            said="said",
            occurrence=1,
            text=" ".join([mark, *sorted(inside for one in chosen for inside in one.marks)]),
            tokens=7,
            tokenizer="o200k",
            last_handle=len(items),
            items=items,
            created_at=NOON,
        )
        await self._commit(scope, PutInjection(self._session, injection))
        self._injected.append(_Injected(scope, mark, frozenset(one.id for one in chosen)))

    def _withdrawn(self, ids: Sequence[str]) -> set[str]:
        """The marks of the records that go with these items, and are known no more."""
        gone = [one for one in self._injected if not one.ids.isdisjoint(ids)]
        self._injected = [one for one in self._injected if one not in gone]
        return {one.mark for one in gone}

    async def _correct(self) -> None:
        memories = [one for one in self._kept if one.kind == "memory"]
        if memories:
            chosen, new = self._rng.choice(memories), self._mark()
            memory = a_memory(self._text(new), "fact", key=new, id=chosen.id, user=chosen.scope.user)
            self._kept[self._kept.index(chosen)] = chosen._replace(
                marks={new}, content_hash=memory.content_hash, sources=frozenset()
            )
            await self._take(chosen.scope, chosen.marks | self._withdrawn([chosen.id]), PutMemory(memory))

    async def _forget(self, things: list[KeptThing]) -> None:
        """Forgets by ids, and with them what derives from them."""
        for scope in dict.fromkeys(one.scope for one in things):
            ids = [one.id for one in things if one.scope == scope]
            gone, before = set(ids), 0
            if any(one.kind == "talk" for one in self._kept if one.id in gone and one.scope == scope):
                gone.add("talk")
            while len(gone) > before:
                before = len(gone)
                gone |= {one.id for one in self._kept if one.scope == scope and one.sources & gone}
            went = [one for one in self._kept if one.id in gone]
            marks = {mark for one in went for mark in one.marks} | self._withdrawn(sorted(gone))
            self._kept = [one for one in self._kept if one.id not in gone]
            await self._take(scope, marks, forget(ids=ids, scope=scope, at=NOON))

    async def _take(self, scope: Scope, marks: set[str], change: Change | Plan[Any]) -> None:
        self._say("going", marks)
        self.forgetting = True
        plan = writing(change) if isinstance(change, Change) else change
        await self._store.within(scope).commit(plan)
        self.forgetting = False
        self._say("gone", marks)

    async def _commit(self, scope: Scope, *changes: Change) -> None:
        await self._store.within(scope).commit(writing(*changes))

    def _say(self, word: str, marks: set[str]) -> None:
        os.write(self._out, json.dumps([word, sorted(marks)]).encode() + b"\n")


def kills(wanted: int, seed: int) -> Killed:
    """Repeats until that many processes were killed during a forgetting."""
    found, rng, told = Killed(), random.Random(seed), 0
    while found.midway < wanted:
        with tempfile.TemporaryDirectory() as folder:
            for life in range(_LIVES):
                if found.midway < wanted:
                    _kill(Path(folder), random.Random(rng.random()), found, 100_000 * (life + 1))
        if found.midway - told >= 250:
            told = found.midway
            print(f"{told:,} of {wanted:,}", file=sys.stderr, flush=True)
    return found


def _kill(folder: Path, rng: random.Random, found: Killed, number: int) -> None:
    life, (said, out) = _Life(), os.pipe()
    at = rng.randrange(_STEPS) if rng.random() < 0.5 else None
    child = os.fork()
    if not child:
        _lived(folder, said, out, rng, number, at)
    os.close(out)
    heard, forgettings = b"", rng.randrange(1, 5)
    while said_now := os.read(said, 1 << 16):
        heard += said_now
        if at is None and heard.count(b'"going"') >= forgettings:
            time.sleep(rng.random() * _MOMENTS)
            os.kill(child, signal.SIGKILL)
            at = 0
    os.close(said)
    os.waitpid(child, 0)
    life.heard(heard)
    found.kills += 1
    found.midway += bool(life.going)
    found.forgettings += bool(life.gone)
    found.marks += len(life.gone | life.going)
    found.unsound += not asyncio.run(_opened_again(folder))
    kept = _told(folder)
    there = {mark.decode() for path in folder.iterdir() for mark in _MARK.findall(path.read_bytes())}
    found.left += len(there - kept) + len(kept & life.gone)
    found.half += kept & life.going not in (set(), life.going)


def _lived(folder: Path, said: int, out: int, rng: random.Random, number: int, at: int | None) -> None:
    """The life of the process, which ends by SIGKILL: by its own hand at step `at` of its forgettings."""
    os.close(said)
    disk, steps = Disk("killing"), count()

    async def live() -> None:
        store = SqliteStore.open(folder / "a.db", embedder=Hashed(), clock=Clock(), vfs=None if at is None else disk.name)
        child = _Child(store, out, rng, number)

        def before(_: int) -> None:
            if child.forgetting and next(steps) == at:
                os.kill(os.getpid(), signal.SIGKILL)

        disk.before = before
        await child.live()

    try:
        asyncio.run(live())
    except BaseException as error:  # a child must never come back as its parent
        print(repr(error), file=sys.stderr, flush=True)
    finally:
        os._exit(1)


async def _opened_again(folder: Path) -> bool:
    """Whether the store was sound and finished its scrubbing at the first try."""
    store = SqliteStore.open(folder / "a.db", embedder=Hashed(), clock=Clock())
    waiting_for = await store.within(Scope()).scrub()
    sound = (await store.check()).healthy
    sound = sound and not [
        name for name, _, fine in (await store.verify()).findings if name in ("orphans", "archive") and not fine
    ]
    await store.close()
    return sound and not waiting_for


def _told(folder: Path) -> set[str]:
    """The marks in any row of the store."""
    connection = apsw.Connection(str(folder / "a.db"))
    tables = [str(name) for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    rows = "".join(repr(list(connection.execute(f"SELECT * FROM {table}"))) for table in tables)
    connection.close()
    return {mark.decode() for mark in _MARK.findall(rows.encode("utf-8", "surrogatepass"))}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench kills", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    print(describe())
    found = kills(options.count, options.seed)
    print(
        f"{found.kills:,} kills, {found.midway:,} in the middle of a forgetting, {found.forgettings:,} after others were done"
    )
    print(f"{found.marks:,} forgotten texts and names looked for in every file after the next opening")
    print(f"{found.left:,} found, {found.half:,} half forgotten, {found.unsound:,} stores not sound or not done")
    return 0 if found.clean else 1
