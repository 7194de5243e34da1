"""Proxy: what the way through `germane proxy` costs, what is late when germane fails, and how much of a prompt's prefix stays.

    python -m bench proxy [--size 100000] [--calls 400] [--streams 50] [--faults 10000] [--replay ../shared/data/locomo-dev]
                          [--folder PATH] [--only added|streams|faults|kills|replay]

Client, proxy and model server are processes of their own on loopback. Calls go directly and through the proxy by turns, so that
what disturbs the machine disturbs both. *Added*: time to the first byte of the answer's body, of a call that asks something new
of a store of `--size` messages; `off` is with `X-Germane-Skip`. *Streams*: time of an event from the server's write to the
client's read, of so many streams at once, each with an event each 50 ms. *Faults*: calls while the engine, the search for the
session and the recording fail, hang, block or wait at random, and once more while nothing can be written to the disk; each must
reach the server with its question, at most 5 ms after the deadline of 48 ms. *Kills*: one worker of two is killed every four
seconds, and OpenAI's library tries again as it does. *Replay*: each session of a data set is told turn by turn, and then its
questions are asked, ten to a session; the share of the bytes of each prompt that are the beginning of the next one's.
Requirements: PROXY-1, PROXY-2.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from bench.corpus import queries
from bench.filled import AGENT, folder, store
from bench.machine import describe
from bench.quantiles import quantile
from germane import Message
from germane_eval.dataset import Conversation
from germane_eval.formats import load

__all__ = ["main"]

_WARM = 20
_DEADLINE_MS, _LATE_MS = 48.0, 5.0
_EVENTS, _PAUSE = 40, 0.05
_BETWEEN_KILLS = 4.0
"""Seconds, in which the other worker has begun again: with both gone nobody can answer."""
_BETWEEN = 0.05
"""Seconds between two calls. The turn before is recorded meanwhile, as it is while a person or a model thinks."""
_PARTS = ("added", "streams", "faults", "kills", "replay")


@contextmanager
def _process(*module: str, deadline_ms: float = _DEADLINE_MS) -> Iterator[str]:
    """Runs a module of Python, and yields the first line that it prints."""
    given = {**os.environ, "GERMANE_SERVE_DEADLINE_MS": f"{deadline_ms:g}", "GERMANE_SERVE_LOG_LEVEL": "error"}
    process = subprocess.Popen([sys.executable, "-m", *module], stdout=subprocess.PIPE, text=True, env=given)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.communicate()


@contextmanager
def _proxied(path: Path, server: str, *, deadline_ms: float = _DEADLINE_MS) -> Iterator[int]:
    """A proxy over a store in front of the server; yields its port."""
    command = ("germane.cli", "--db", str(path), "--json", "proxy", "--port", "0", "--upstream", f"llm={server}")
    with _process(*command, deadline_ms=deadline_ms) as line:
        yield int(json.loads(line)["http"].rpartition(":")[2])


@dataclass
class _Answer:
    headers: dict[str, str]
    first: int
    """When the first byte of the body came, in nanoseconds."""
    delays: list[float] = field(default_factory=list)
    """Of each event, milliseconds from its write to its read."""


@dataclass
class _Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def ask(self, path: str, body: bytes, **headers: object) -> _Answer:
        """Sends a call and reads the whole answer. Raises where there is none, or it isn't whole."""
        written = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        head = f"POST {path}/v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n{written}"
        self.writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        first, *lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        found = dict(line.lower().split(": ", 1) for line in lines if ": " in line)
        if " 200 " not in first:
            raise ConnectionError(first)
        answer = _Answer(found, 0)
        if "content-length" in found:
            data = await self.reader.readexactly(1)
            answer.first = time.monotonic_ns()
            await self.reader.readexactly(int(found["content-length"]) - len(data))
            return answer
        while size := int(await self.reader.readuntil(b"\r\n"), 16):
            data = await self.reader.readexactly(size + 2)
            now = time.monotonic_ns()
            answer.first = answer.first or now
            for event in data.decode().split("\n\n"):
                if event.startswith("data: {"):
                    wrote = int(json.loads(event[6:])["choices"][0]["delta"]["content"])
                    answer.delays.append((now - wrote) / 1e6)
        await self.reader.readuntil(b"\r\n")
        return answer


@asynccontextmanager
async def _connected(port: int) -> AsyncIterator[_Connection]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
    try:
        yield _Connection(reader, writer)
    finally:
        writer.close()


def _body(*messages: dict[str, str], stream: bool = False) -> bytes:
    given: dict[str, object] = {"model": "gpt-4o", "messages": messages, **({"stream": True} if stream else {})}
    return json.dumps(given, separators=(",", ":")).encode()


def _asking(text: str, *, stream: bool = True) -> bytes:
    return _body({"role": "user", "content": text}, stream=stream)


def _line(name: str, values: list[float], least: list[float] | None = None) -> None:
    p50, p99 = quantile(values, 50), quantile(values, 99)
    added = "" if least is None else f"   added {p50 - quantile(least, 50):+7.2f} {p99 - quantile(least, 50):+8.2f}"
    print(f"{name:<26}p50 {p50:8.2f}  p99 {p99:8.2f} ms{added}")


# Time to the first byte, and of each event.


async def _added(direct: int, through: int, calls: int) -> None:
    took: dict[str, list[float]] = defaultdict(list)
    reasons: Counter[str] = Counter()
    own = f"/proxy/llm/agent:{AGENT}"
    async with _connected(direct) as one, _connected(through) as other:
        for number, (_, text) in enumerate(queries(_WARM + calls, seed=9)):
            body = _asking(text)
            for name, connection, path, skips in (
                ("direct", one, "", "false"),
                ("through, off", other, own, "true"),
                ("through, with memory", other, own, "false"),
            ):
                await asyncio.sleep(_BETWEEN)
                began = time.monotonic_ns()
                answer = await connection.ask(path, body, x_germane_skip=skips)
                if number >= _WARM:
                    took[name].append((answer.first - began) / 1e6)
                    if name == "through, with memory":
                        reasons[answer.headers.get("x-germane-fallback", "")] += 1
    for name, values in took.items():
        _line(name, values, took["direct"])
    print(f"fell back: {dict(reasons)}")


async def _streams(direct: int, through: int, streams: int) -> None:
    async def one(port: int, path: str, text: str, number: int) -> list[float]:
        await asyncio.sleep(_PAUSE * number / streams)  # providers don't write all streams at the same moment
        async with _connected(port) as connection:
            body = _asking(text)
            return (await connection.ask(path, body, x_events=_EVENTS, x_pause=_PAUSE)).delays

    texts = [text for _, text in queries(streams, seed=12)]
    own = f"/proxy/llm/agent:{AGENT}"
    found: dict[str, list[float]] = {}
    for name, port, path in (("direct", direct, ""), ("through", through, own)) * 2:
        delays = await asyncio.gather(*(one(port, path, text, number) for number, text in enumerate(texts)))
        found[name] = [each for of_stream in delays for each in of_stream]
    for name, values in found.items():
        _line(f"an event, {name}", values, found["direct"])


# Calls while germane fails.


async def _faults(port: int, count: int, at_once: int = 8) -> int:
    """Returns how many calls weren't as promised."""
    texts = iter([text for _, text in queries(count, seed=10)])
    late, added, reasons, lost = 0, list[float](), Counter[str](), 0
    own = f"/proxy/llm/agent:{AGENT}"

    async def some(number: int) -> None:
        nonlocal late, lost
        async with _connected(port) as connection:
            for text in texts:
                mark = f"mark{number}x{len(added)}"
                began = time.monotonic_ns()
                try:
                    answer = await connection.ask(own, _asking(f"{text} {mark}", stream=False), x_mark=mark)
                except (OSError, EOFError) as error:
                    print(f"lost: {error!r}", file=sys.stderr)
                    lost += 1
                    return
                milliseconds = (int(answer.headers["x-came"]) - began) / 1e6
                added.append(milliseconds)
                late += milliseconds > _DEADLINE_MS + _LATE_MS
                lost += answer.headers["x-asked"] != "1"
                reasons[answer.headers.get("x-germane-fallback", "none")] += 1

    await asyncio.gather(*map(some, range(at_once)))
    _line(f"{len(added):,} calls reached the server", added)
    print(f"lost {lost}, more than {_LATE_MS:g} ms after the deadline {late}; {dict(reasons.most_common())}")
    return late + lost + (len(added) < count)


# Calls while workers are killed.


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _kills(path: Path, server: str, count: int, at_once: int = 4) -> int:
    """Returns how many calls of OpenAI's library, which tries twice more, got no answer while one worker of two is killed
    every four seconds."""
    from openai import OpenAI, OpenAIError

    http, grpc = _free_port(), _free_port()
    command = [sys.executable, "-m", "germane.cli", "--db", str(path), "--json", "serve", "--workers", "2"]
    command += ["--http", f"127.0.0.1:{http}", "--grpc", f"127.0.0.1:{grpc}", "--upstream", f"llm={server}"]
    environ = {**os.environ, "GERMANE_SERVE_LOG_LEVEL": "error"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environ)
    failed, kills, took = 0, 0, list[float]()
    try:
        assert process.stdout is not None
        process.stdout.readline()
        with OpenAI(base_url=f"http://127.0.0.1:{http}/proxy/llm/agent:{AGENT}/v1", api_key="none") as client:

            def ask(text: str) -> bool:
                began = time.perf_counter()
                try:
                    client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": text}])
                except OpenAIError as error:
                    print(f"no answer: {error!r} {error.__cause__!r}", file=sys.stderr)
                    return False
                took.append(1000 * (time.perf_counter() - began))
                return True

            with ThreadPoolExecutor(at_once) as pool:
                answers = [pool.submit(ask, text) for _, text in queries(count, seed=14)]
                while not all(one.done() for one in answers):
                    time.sleep(_BETWEEN_KILLS)
                    workers = [one for one in psutil.Process(process.pid).children() if "spawn_main" in " ".join(one.cmdline())]
                    if len(workers) == 2:
                        workers[kills % 2].kill()
                        kills += 1
                failed = sum(not one.result() for one in answers)
    finally:
        process.terminate()
        process.communicate()
    _line(f"{count:,} calls, {kills} kills", took)
    print(f"{failed} got no answer")
    return failed


# The prefix of prompts.


def _sessions(told: Conversation) -> Iterator[tuple[str, list[Message]]]:
    """The sessions of a conversation, and then its questions, ten to a session."""
    for name, said in told.sessions.items():
        yield f"{told.name}/{name}", list(said)
    asked = [Message.of("user", one.text, name="asking") for one in told.questions]
    for start in range(0, len(asked), 10):
        yield f"{told.name}/asked {start}", asked[start : start + 10]


async def _replay(port: int, sessions: list[tuple[str, list[Message]]]) -> None:
    kept = before = prompts = injected = 0
    async with _connected(port) as connection:
        for name, said in sessions:
            talk, speakers = list[dict[str, str]](), list(dict.fromkeys(one.name or one.role for one in said))
            for number, one in enumerate(said):
                if (one.name or one.role) != speakers[0]:
                    continue
                talk.append({"role": "user", "content": one.content})
                follows = said[number + 1] if number + 1 < len(said) else one
                reply = follows.content if follows.name != one.name else "I see."
                answer = await connection.ask(
                    f"/proxy/llm/agent:{name.partition('/')[0]}",
                    _body(*talk),
                    x_reply=reply.encode().hex(),
                    x_of=name.replace(" ", "-"),
                )
                kept, before = kept + int(answer.headers["x-kept"]), before + int(answer.headers["x-before"])
                prompts, injected = prompts + 1, injected + (answer.headers.get("x-germane-memories", "0") != "0")
                talk.append({"role": "assistant", "content": reply})
    print(
        f"{prompts:,} prompts of {len(sessions)} sessions, {injected:,} with something new: {100 * kept / before:.2f} % of the"
    )
    print("bytes of a session's prompts are the beginning of the next prompt")


def _copied(path: Path, own: Path) -> Path:
    """A copy of the store: what is recorded in it stays out of the next run."""
    return Path(shutil.copy(path, own / f"{time.monotonic_ns()}.db"))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench proxy")
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--calls", type=int, default=400)
    parser.add_argument("--streams", type=int, default=50)
    parser.add_argument("--faults", type=int, default=10_000)
    parser.add_argument("--replay", type=Path)
    parser.add_argument("--sessions", type=int, default=400)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", choices=_PARTS, action="append")
    given = parser.parse_args(arguments)
    parts = given.only or [part for part in _PARTS if part != "replay" or given.replay is not None]
    missed = 0
    print(describe())
    with folder(given.folder) as place, TemporaryDirectory() as own, _process("bench.model_server") as port:
        server = f"http://127.0.0.1:{port}"
        if {"added", "streams"} & {*parts}:
            path = _copied(store(place, given.size), Path(own))
            with _proxied(path, server) as through:
                if "added" in parts:
                    print(f"\ntime to the first byte, {given.size:,} messages, {given.calls} calls each")
                    asyncio.run(_added(int(port), through, given.calls))
                if "streams" in parts:
                    print(f"\n{given.streams} streams at once, {_EVENTS} events each, one each {1000 * _PAUSE:g} ms")
                    asyncio.run(_streams(int(port), through, given.streams))
        for full in (False, True) if "faults" in parts else ():
            path = _copied(store(place, 1000), Path(own))
            extra = ["--full"] if full else []
            with _process("bench.faulty_service", str(path), server, *extra) as where:
                print(f"\n{given.faults:,} calls while germane fails{', and nothing can be written' if full else ''}")
                missed += asyncio.run(_faults(int(where.rpartition(":")[2]), given.faults))
        if "kills" in parts:
            print("\nwhile one worker of two is killed every four seconds, with the retries of OpenAI's library")
            missed += _kills(_copied(store(place, 1000), Path(own)), server, given.faults)
        if "replay" in parts:
            talks = load(given.replay).conversations
            sessions = [session for one in talks for session in _sessions(one)]
            print()
            with _proxied(Path(own) / "replayed.db", server, deadline_ms=5000) as through:
                asyncio.run(_replay(through, sessions[: given.sessions]))
    return missed
