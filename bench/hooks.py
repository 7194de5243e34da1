"""Hooks: what hooks add to a prompt in a coding agent, with the local service there, absent, starting and hung; its memory.

    python -m bench hooks [--prompts 500] [--messages 1000] [--calls 1000] [--restarts 50] [--json]

The local service is a process of its own in a folder of its own. A prompt is sent by HTTP, with a new connection each, and by
the command, a new process each, as clients do. Every question is asked once. A restart is a client's MCP server that is
started, lists its tools and ends. Requirements: HOOK-1, HOOK-2.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil

from bench.corpus import conversations, endless
from bench.machine import describe
from bench.quantiles import quantile
from germane import Germane
from germane.service.hooks.projects import PERSON, project_of
from germane.service.local import caller
from germane.service.local.caller import ServiceState, call, read_state
from germane.service.local.main import started, stop

__all__ = ["main"]

_WARM = 50
_HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


class _Machine:
    """A folder for the service, a project, and a client's events in it."""

    def __init__(self, place: Path) -> None:
        self.folder, self.project = place / "data", place / "shop"
        (self.project / ".git").mkdir(parents=True)
        self.folder.mkdir(mode=0o700)
        self.environment = {
            **os.environ,
            "GERMANE_HOME": str(self.folder),
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        os.environ.update(self.environment)

    async def fill(self, count: int) -> None:
        async with Germane.open(self.folder / "germane.db") as germane:
            agent = germane.agent(project_of(str(self.project)).agent, user=PERSON)
            for session, messages in conversations(count, seed=3):
                await agent.record([{"role": one.role, "content": one.content} for one in messages], session=session)

    def event(self, session: str, name: str, **fields: Any) -> bytes:
        base = {"session_id": session, "transcript_path": "", "cwd": str(self.project), "hook_event_name": name}
        return json.dumps({**base, **fields}).encode()

    def by_http(self, state: ServiceState, event: bytes) -> int:
        """Returns the number of bytes of the answer."""
        status, answer = call(state, f"/hooks/claude-code?protocol={caller.PROTOCOL}", event, 10.0)
        assert status == 200, answer
        return len(answer)

    def by_command(self, event: bytes) -> int:
        program = [sys.executable, "-I", "-S", str(Path(caller.__file__).resolve()), "codex"]
        ran = subprocess.run(program, input=event, capture_output=True, env=self.environment, check=True)
        return len(ran.stdout)

    def restart(self) -> None:
        """A client that starts its MCP server, and ends it."""
        messages = [
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _HELLO},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}},
        ]
        lines = b"".join(json.dumps(message).encode() + b"\n" for message in messages)
        program = [sys.executable, "-P", "-m", "germane.service.local.relay", str(self.project)]
        ran = subprocess.run(program, input=lines, capture_output=True, env=self.environment, check=True)
        assert len(ran.stdout.splitlines()) == 2, ran.stdout

    def processes(self) -> list[psutil.Process]:
        found = []
        for process in psutil.process_iter(["cmdline", "environ"]):
            own = (process.info["environ"] or {}).get("GERMANE_HOME") == str(self.folder)
            if own and "germane.service.local" in " ".join(process.info["cmdline"] or ()):
                found.append(process)
        return found


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - began)


def _prompts(machine: _Machine, questions: Iterator[str], count: int) -> list[bytes]:
    return [
        machine.event(f"s{number % 20}", "UserPromptSubmit", prompt=question)
        for number, question in enumerate(islice(questions, count))
    ]


def _measured(machine: _Machine, given: argparse.Namespace) -> dict[str, Any]:
    questions = endless(2000, seed=11)
    event = next(iter(_prompts(machine, questions, 1)))
    found: dict[str, Any] = {"absent": _timed(lambda: machine.by_command(event))}
    found["starting"] = _timed(lambda: machine.by_command(event))
    state = started(str(machine.folder), 60.0)
    for prompt in _prompts(machine, questions, _WARM):
        machine.by_http(state, prompt)
    sizes: list[int] = []

    def sent(prompt: bytes) -> None:
        sizes.append(machine.by_http(state, prompt))

    service = psutil.Process(state.pid)
    began = sum(service.cpu_times()[:2])
    found["http"] = [_timed(partial(sent, one)) for one in _prompts(machine, questions, given.prompts)]
    found["processor"] = 1000 * (sum(service.cpu_times()[:2]) - began) / given.prompts
    found["with text"] = sum(size > 2 for size in sizes) / len(sizes)
    found["command"] = [_timed(partial(machine.by_command, one)) for one in _prompts(machine, questions, given.prompts // 4)]
    machine.restart()
    before = service.memory_info().rss
    names = ("UserPromptSubmit", "PostToolUse", "Stop", "SubagentStop")
    for number, question in enumerate(islice(questions, given.calls)):
        machine.by_http(state, machine.event(f"r{number % 50}", names[number % 4], prompt=question))
    for _ in range(given.restarts):
        machine.restart()
    found["memory"] = {"before": before, "after": service.memory_info().rss, "processes": len(machine.processes())}
    os.kill(state.pid, signal.SIGSTOP)
    found["hung"] = [_timed(lambda: machine.by_command(event)) for _ in range(5)]
    while read_state(str(machine.folder)).pid in (0, state.pid):
        time.sleep(0.05)
    found["replaced"] = _timed(lambda: machine.by_http(started(str(machine.folder), 60.0), event))
    return found


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="bench hooks")
    parser.add_argument("--prompts", type=int, default=500)
    parser.add_argument("--messages", type=int, default=1000)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--restarts", type=int, default=50)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    with TemporaryDirectory() as place:
        machine = _Machine(Path(place))
        try:
            asyncio.run(machine.fill(given.messages))
            found = _measured(machine, given)
        finally:
            stop(str(machine.folder))
    if given.json:
        print(json.dumps({"machine": describe(), **found}))
        return
    print(describe())
    print(f"\n{given.messages:,} messages; {found['with text']:.0%} of the prompts got a text; milliseconds\n")
    for name, what in (("http", "prompt by HTTP"), ("command", "prompt by the command")):
        print(f"{what:<28} p50 {quantile(found[name], 50):7.1f}   p99 {quantile(found[name], 99):7.1f}")
    print(f"{'processor time of a prompt':<28}     {found['processor']:7.1f}")
    print(f"{'service absent':<28}     {found['absent']:7.1f}\n{'service starting':<28}     {found['starting']:7.1f}")
    print(f"{'service hung, then again':<28}     " + "  ".join(f"{one:.1f}" for one in found["hung"]))
    memory = found["memory"]
    grown = (memory["after"] - memory["before"]) / 2**20
    print(f"\nafter {given.calls:,} calls and {given.restarts} restarts: {memory['processes']} process(es),")
    print(f"{memory['after'] / 2**20:.0f} MB, {grown:+.1f} MB")
