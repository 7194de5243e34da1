"""Recorder and kills: what waits survives restarts and kills, is taken over by other workers, and is stored once (PROXY-1)."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from germane import Agent, Clock, Germane
from germane.errors import StoreUnavailable
from germane.service.proxy.recorder import entry_of
from germane.service.proxy.spool import Spool
from support.calendar import Calendar, Opening
from support.proxied_turns import (
    ProxiedTurns,
    assistant,
    chat_answer,
    failing,
    human,
    made_call,
    proxied,
    spool_of,
    texts,
)

pytestmark = pytest.mark.requirement("PROXY-1")


async def test_what_waits_survives_a_restart(
    opening: Opening, calendar: Calendar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opening() as germane:
        agent = germane.agent("support", org="acme", user="caroline")
        with failing(monkeypatch, StoreUnavailable("no")):
            worker = ProxiedTurns(germane, calendar.clock, tmp_path / "spool")
            worker.recorder.open()
            for number in range(5):
                call = made_call("openai", [human(f"question {number}")])
                worker.recorder.offer(worker.turn(agent, "s", call, chat_answer(f"answer {number}")))
            await worker.recorder.close(0.05)
    async with opening() as germane, proxied(germane, calendar.clock, tmp_path / "spool") as worker:
        agent = germane.agent("support", org="acme", user="caroline")
        assert await worker.recorder.flush(20)
        assert worker.recorder.counts.recorded == 5
        assert await texts(agent, "s") == [f"{kind} {number}" for number in range(5) for kind in ("question", "answer")]
    assert not (tmp_path / "spool").exists()


async def test_an_entry_that_was_recorded_before_a_kill_changes_nothing(
    germane: Germane, agent: Agent, calendar: Calendar, tmp_path: Path
) -> None:
    """The process may die between the commit and the removal of the entry."""
    history = list[dict[str, Any]]()
    kept = list[bytes]()
    async with proxied(germane, calendar.clock) as worker:
        for number in range(4):
            history.append(human("ok"))
            turn = worker.turn(agent, "s", made_call("openai", [*history]), chat_answer("Good."))
            kept += filter(None, [entry_of(turn, worker.sessions)])
            worker.recorder.offer(turn)
            history.append(assistant("Good."))
            assert await worker.recorder.flush(20)
            calendar.advance(minutes=number)
    before = await texts(agent, "s")
    left = Spool(tmp_path / "spool")
    left.open(0)
    for content in kept:
        left.put(content)
    left.close()
    async with proxied(germane, calendar.clock, tmp_path / "spool") as worker:
        assert await worker.recorder.flush(20)
        assert worker.recorder.counts.recorded == 4
    assert await texts(agent, "s") == before == ["ok", "Good."] * 4


async def test_a_damaged_entry_is_set_aside(germane: Germane, agent: Agent, calendar: Calendar, tmp_path: Path) -> None:
    """Whole by its checksum, but not of this form, or damaged on disk."""
    left = Spool(tmp_path / "spool")
    left.open(0)
    for content in (b"", b"[]", b"[1,2]\n{}", b'["acme","support","caroline","s","UTC"]\n{"at": 1}', b"\xff\xfe"):
        left.put(content)
    entry = left.put(b"x")
    assert entry is not None
    assert entry.path is not None
    entry.path.write_bytes(b"x")
    left.close()
    async with proxied(germane, calendar.clock, tmp_path / "spool") as worker:
        assert await worker.recorder.flush(20)
        counts = worker.recorder.counts
    assert (counts.waiting, counts.dropped["broken"]) == (0, 6)


@pytest.mark.parametrize("fails", [True, False], ids=["store fails", "store works"])
async def test_a_kill_loses_nothing_that_was_spooled_and_stores_nothing_twice(
    opening: Opening, tmp_path: Path, fails: bool
) -> None:
    """A process that is killed in the middle of writing and recording; another one takes its entries over."""
    async with opening():
        pass
    db = tmp_path / "germane.db"
    assert await asyncio.to_thread(killed_after, 40, db, fails) == 40
    async with opening(clock=Clock()) as germane:
        agent = germane.agent("support", org="acme", user="caroline")
        async with proxied(germane, Clock(), spool_of(db)) as worker:
            assert await worker.recorder.flush(60)
            assert sum(worker.recorder.counts.dropped.values()) == 0
        for session in range(3):
            stored = await texts(agent, f"s{session}")
            turns = [number for number in range(60) if number % 3 == session]
            expected = [f"{kind} {number}" for number in turns for kind in ("question", "answer")]
            assert stored == expected[: len(stored)]
            assert len(stored) >= 2 * sum(number < 40 for number in turns)
    assert not spool_of(db).exists()


async def test_two_workers_record_side_by_side(opening: Opening, calendar: Calendar, tmp_path: Path) -> None:
    """Each has a queue of its own; a conversation that goes from one to the other stays one session."""
    async with opening() as one, opening() as two:
        history = list[dict[str, Any]]()
        async with (
            proxied(one, calendar.clock, tmp_path / "spool") as first,
            proxied(two, calendar.clock, tmp_path / "spool") as second,
        ):
            sessions = set()
            for number in range(6):
                worker = (first, second)[number % 2]
                agent = worker.germane.agent("support", org="acme", user="caroline")
                sessions.add(await worker.talk(agent, history, f"question {number}", f"answer {number}"))
            assert len(sessions) == 1
            agent = one.agent("support", org="acme", user="caroline")
            assert await texts(agent, sessions.pop()) == [message["content"] for message in history]


def killed_after(spooled: int, db: Path, fails: bool) -> int:
    """Kills a process once it has put so many turns into the spool. Returns how many it had."""
    code = "import asyncio, pathlib, sys; from support.proxied_turns import write_turns; "
    code += f"asyncio.run(write_turns(pathlib.Path(sys.argv[1]), 60, failing={fails}))"
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(db)],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    found = 0
    while found < spooled and process.stdout.readline() == "put\n":
        found += 1
    process.kill()
    process.communicate()
    return found
