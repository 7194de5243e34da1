"""Roundtrip: export → import → export is byte-identical over generated stores; time and memory to move 100,000 messages.

Each case is a store of a few orgs, agents and users in which random calls record, remember, supersede, contradict, derive,
resolve, update, pin, vote, forget (single things, sessions, whole owners), set directives, ingest documents, push tasks, edit
blocks, relate entities and learn patterns, with texts of several scripts, hostile texts, lone surrogates, tool calls and long
messages. `verify` must find nothing in it. Its export is cut at a random line and imported, which has to be
refused; then the whole of it is imported into the same store, exported, and imported again. All exports must be equal, of the
whole store and of each scope, and the second import must add nothing. With 0 differences in N cases the true rate is below 3/N
at 95 % confidence.

`--messages` measures instead: the command `germane export` of a store of so many messages, and `germane import` into a new one,
each in a process of its own: wall time, processor time, and the peak of its memory.

    python -m bench roundtrip [--count 1000] [--seed 1]
    python -m bench roundtrip --messages 100000
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from bench.budget import text
from bench.corpus import conversations
from bench.machine import describe
from germane import Agent, Clock, Germane, GermaneError, InvalidInput
from germane.api.verbs.transfer import Restored
from germane.transfer.lines import written
from germane_testing.builders import Hashed

__all__ = ["difference", "fill", "main"]

_HOSTILE = (
    "</germane>\u202e",
    "\x00\x1b[2J\x7f",
    "\ud800 half",
    "a\u0301" * 40,
    '{"type": "header"}\n',
    "\u2028\ufeff",
    "ünï 猫 🧵",
)
_SCOPES = (
    ("default", "default", None),
    ("default", "default", "ada"),
    ("default", "default", "bob"),
    ("acme", "support", "ada"),
)
_KINDS = ("fact", "preference", "procedure", "behavior", "episode", "note")


def _words(random: Random, longest: int = 12) -> str:
    hostile = random.choice(_HOSTILE) if random.random() < 0.3 else ""
    return f"{text(random, longest)}{hostile}" or "x"


def _valid(random: Random) -> str:
    """A text that a memory may hold: without lone surrogates, and not blank."""
    return _words(random).encode("utf-8", "replace").decode() + "."


def _message(random: Random, number: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": random.choice(("user", "assistant")), "content": _words(random)}
    if random.random() < 0.4:
        message["id"] = f"m{number}"
    if random.random() < 0.3:
        message["created_at"] = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=random.randint(0, 10_000), microseconds=7)
    if random.random() < 0.3:
        message["name"] = random.choice(("Ana", "猫", "<b>"))
    if random.random() < 0.05:
        message["content"] = text(random, 40) * 200
    if random.random() < 0.1:
        call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": '{"at": 1.5}'}}
        message |= {"role": "assistant", "tool_calls": [call]}
    return message


async def _remember(agent: Agent, random: Random) -> None:
    kind = random.choice(_KINDS)
    fields: dict[str, Any] = {"tags": random.sample(("b", "a", "ç d"), random.randint(0, 2)), "pinned": random.random() < 0.1}
    fields |= {"sensitivity": random.choice(("public", "private", "sensitive")), "confidence": random.random()}
    if random.random() < 0.2:
        fields["expires_at"] = datetime(2030, 1, 1, tzinfo=UTC)
    if kind == "fact":
        value: Any = random.choice((_valid(random), None, 7, -0.0, [1, {"a": None}], True))
        await agent.remember(kind="fact", key=random.choice(("city", "ключ")), value=value, **fields)
        return
    if kind in ("note", "procedure") and random.random() < 0.5:
        fields["title"] = _valid(random)
    await agent.remember(_valid(random), kind=kind, agent_wide=random.random() < 0.2, **fields)


async def _contradict(agent: Agent, random: Random) -> None:
    """Remembers what is nearly the same but for a number, or a second value of a fact at once; resolves some of it."""
    for _ in range(random.randint(1, 3)):
        number = random.randint(10, 12)
        await agent.remember(f"The budget for the kitchen of the house in Leith is {number},000 euros")
    if random.random() < 0.5:
        now = datetime(2026, 4, 1, tzinfo=UTC)
        for value in random.sample(range(9), 2):
            await agent.remember(kind="fact", key="floor", value=value, valid_from=now)
    for found in await agent.memories.review():
        if random.random() < 0.5:
            await agent.memories.resolve(found.id, keep=random.choice(("both", found.older.id, found.newer.id)))


async def _act(agent: Agent, random: Random) -> None:
    """Something done, and what was to be done: typed events, the task stack, a pattern."""
    session = random.choice(("s1", "s2"))
    content = random.choice((_words(random), {"command": _words(random), "exit": 1}))
    await agent.events.record(random.choice(("shell_exec", "decision")), content, session=session, outcome=_valid(random)[:40])
    if random.random() < 0.5:
        await agent.tasks.push(_valid(random), session=session)
    else:
        await agent.tasks.pop(_valid(random), session=session)
    learned = await agent.graph.patterns.learn(_valid(random), keywords=("deploy", "redis"))
    await agent.graph.patterns.apply_result(learned.id, random.random() < 0.5)


async def _relate(agent: Agent, random: Random) -> None:
    names = random.sample(("Ana", "Leith", "猫", "Bob Ito", "Atlas"), 2)
    one, other = [await agent.graph.add(random.choice(("person", "place")), name, aliases=[f"{name} X"]) for name in names]
    related = await agent.graph.relate(one.id, "knows", other.id)
    match random.randrange(4):
        case 0:
            await agent.graph.merge(one.id, other.id)
        case 1:
            await agent.graph.unrelate(related.id)
        case 2:
            await agent.graph.forget([other.id])


async def _write(agent: Agent, random: Random) -> None:
    """Documents, blocks and the archive."""
    source, label = f"/guide{random.randint(1, 2)}.md", f"notes/n{random.randint(1, 3)}"
    await agent.documents.ingest(text=f"# Guide\n\n{_valid(random)}\n\n{_valid(random) * 40}", source=source)
    await agent.blocks.archive(_valid(random), {"page": random.randint(1, 9)})
    match random.randrange(5):
        case 0:
            await agent.documents.forget(source)
        case 1:
            await agent.blocks.create(label, text=_valid(random), type=random.choice(("working", "core", "archival")))
        case 2:
            await agent.blocks.append(label, _valid(random))
        case 3:
            await agent.blocks.undo(label)
        case 4:
            await agent.blocks.delete(label)


async def _some_message(agent: Agent, random: Random) -> list[str]:
    """The id of one of the agent's own messages, often of the last one of a session; none where it has none."""
    lines = [line async for line in agent.export() if line["type"] == "message" and line["user"] == agent.scope.user]
    return [random.choice((lines[-1], random.choice(lines)))["germane_id"]] if lines else []


async def fill(germane: Germane, random: Random, steps: int) -> None:
    """Does `steps` random things in a store."""
    for number in range(steps):
        org, name, user = random.choice(_SCOPES)
        agent = germane.agent(name, org=org, user=user)
        kept = [memory.id for memory in (await agent.memories.list(limit=20)).memories if memory.user == user]
        match random.randrange(16):
            case 0 | 1 | 2 | 3:
                talk = [_message(random, 100 * number + place) for place in range(random.randint(1, 5))]
                await agent.record(talk, session=random.choice(("s1", "s2", "с 3")), channel=random.choice((None, "mail")))
            case 4 | 5:
                await _remember(agent, random)
            case 6 if kept and random.random() < 0.5:
                await agent.remember(_valid(random), derived_from=random.sample(kept, 1))
            case 7 if kept:
                said = None if random.random() < 0.5 else _valid(random)
                await agent.memories.update(random.choice(kept), said, confidence=0.5, tags=["new"])
            case 8 if kept:
                await agent.feedback(random.sample(kept, 1), helpful=random.random() < 0.5)
            case 9 if kept:
                await agent.forget([random.choice(kept)], by="me", reason=random.choice(("", "asked")))
            case 10 if random.random() < 0.6:
                await agent.forget(await _some_message(agent, random))
            case 10:
                await agent.forget(session=random.choice(("s1", "s2")))
            case 11 if random.random() < 0.3:
                await agent.forget(everything=True)
            case 12:
                await _contradict(agent, random)
            case 13 | 14 | 15:
                with suppress(GermaneError):  # there may be no such block, no task to end, a name that is two entities'
                    await random.choice((_act, _relate, _write))(agent, random)
            case _:
                await agent.directive(random.choice(("", _valid(random))))


async def _lines(exported: AsyncIterator[dict[str, Any]]) -> list[str]:
    return [written(line) async for line in exported]


def _opened(moment: list[datetime], path: str | Path = ":memory:") -> Germane:
    def now() -> datetime:
        moment[0] += timedelta(seconds=1, microseconds=13)
        return moment[0]

    return Germane.open(path, embedder=Hashed(), clock=Clock(now=now), freeze=False, warm=False)


async def difference(random: Random, steps: int) -> str:
    """What went wrong in one case; '' for nothing."""
    moment = [datetime(2026, 3, 1, tzinfo=UTC)]
    async with _opened(moment) as first, _opened(moment) as second:
        await fill(first, random, steps)
        if found := [said for _, said, fine in (await first.verify(full=True)).findings if not fine]:
            return f"the store is damaged: {found}"
        lines = await _lines(first.export())
        if len(lines) > 1:
            cut = random.randrange(1, len(lines))
            try:
                await second.restore(lines[:cut])
                return f"an export cut after {cut} lines was taken"
            except InvalidInput as error:
                if "cut off" not in str(error):
                    return f"a cut export was refused otherwise: {error}"
        await second.restore(lines)
        if await _lines(second.export()) != lines:
            return "the second export differs"
        again = await second.restore(lines)
        if replace(again, known=0, forgotten=0) != Restored() or await _lines(second.export()) != lines:
            return "importing again changed something"
        for org, name, user in _SCOPES:
            mine, theirs = (store.agent(name, org=org, user=user) for store in (first, second))
            if await _lines(mine.export()) != await _lines(theirs.export()):
                return "the export of a scope differs"
    return ""


async def _cases(count: int, seed: int) -> int:
    wrong = 0
    for number in range(count):
        if problem := await difference(Random(seed * 1_000_003 + number), 5 + number % 40):
            wrong += 1
            print(f"case {number}: {problem}")
    return wrong


async def _record(path: Path, messages: int) -> None:
    async with Germane.open(path, freeze=False, warm=False) as germane:
        agent = germane.agent(user="ada")
        for session, said in conversations(messages):
            await agent.record(said, session=session)


_LAUNCH = """
import os, sys, time
began = time.perf_counter()
child = os.posix_spawn(sys.executable, [sys.executable, "-m", "germane.cli", *sys.argv[1:]], os.environ)
_, status, usage = os.wait4(child, 0)
took = time.perf_counter() - began
processor = usage.ru_utime + usage.ru_stime
print(f"{took:.1f} s, {processor:.1f} s of processor time, peak {usage.ru_maxrss / 1024:.0f} MB")
sys.exit(status != 0)
"""
"""Runs the command from a small process: a process starts with the peak of the one that starts it."""


def _measured(arguments: Sequence[str]) -> str:
    """Runs the command in a process of its own. Returns what it took."""
    done = subprocess.run([sys.executable, "-c", _LAUNCH, *arguments, "--json"], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip().splitlines()[-1]


def _large(messages: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        first, second, lines = (Path(folder) / name for name in ("a.db", "b.db", "a.jsonl"))
        asyncio.run(_record(first, messages))
        print(f"export of {messages:,} messages: {_measured(('--db', str(first), 'export', str(lines), '--everything'))}")
        print(f"file: {lines.stat().st_size / 2**20:.0f} MB")
        print(f"import of them: {_measured(('--db', str(second), 'import', str(lines)))}")
        print(f"importing them again: {_measured(('--db', str(second), 'import', str(lines)))}")
        _measured(("--db", str(second), "export", f"{lines}.2", "--everything"))
        same = lines.read_bytes() == Path(f"{lines}.2").read_bytes()
        print("the export of the new store is byte-identical" if same else "the export of the new store DIFFERS")
        return int(not same)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench roundtrip", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--messages", type=int, default=0, help="measure time and memory of so many messages")
    options = parser.parse_args(arguments)
    print(describe())
    if options.messages:
        return _large(options.messages)
    wrong = asyncio.run(_cases(options.count, options.seed))
    print(f"{wrong} differences in {options.count:,} round trips of generated stores")
    return int(wrong > 0)
