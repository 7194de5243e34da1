"""Serving: several germane processes over one file; each question goes to the process with the fewest open questions.

A question is sent through the pipe and the answer's metadata comes back. The messages don't: `bench.service` measures their
cost.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from bench.corpus import queries
from bench.filled import AGENT
from germane import Agent, Germane

__all__ = ["Answer", "Servers"]

_WARM = 300
"""Warm-up questions: what is compiled, loaded or cached at first use is there when measuring starts."""
_DUE = 0.047
"""Seconds from a request's due time until its answer must be sent; time spent waiting reduces the rest."""
_LEAST, _MOST = 0.005, 60.0
"""Seconds that an assembly accepts as a deadline; a question with less time left gets the fallback's answer."""
_PATIENCE = 30.0
_QUIET = ("no_session", "no_query")


class Answer(NamedTuple):
    """The degradation level and the reason if it isn't 0."""

    level: int
    reasons: list[str]


class Servers:
    """Several server processes over one file."""

    def __init__(self, servers: list[_Server]) -> None:
        self._servers = servers

    @classmethod
    @asynccontextmanager
    async def open(cls, path: Path, count: int, strategy: str = "default") -> AsyncIterator[Servers]:
        """Starts and warms the processes, and ends them with the block. Raises `RuntimeError` if one fails to start."""
        async with AsyncExitStack() as stack:
            servers = [await stack.enter_async_context(_Server.started(path, strategy, seed)) for seed in range(count)]
            for server in servers:
                await server.ready()
            yield cls(servers)

    async def ask(self, question: str, due: float) -> Answer:
        """`due` by `time.perf_counter`, which all processes of a machine share: from then the server counts its deadline.
        Raises `RuntimeError` when the server has ended."""
        return await min(self._servers, key=lambda server: server.waiting).ask(question, due)


class _Server:
    """One process that reads one line per question and answers in any order."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._stdin, self._stdout = process, process.stdin, process.stdout
        self._open: dict[int, asyncio.Future[Answer]] = {}
        self._asked = 0
        self._reader: asyncio.Task[None] | None = None

    @classmethod
    @asynccontextmanager
    async def started(cls, path: Path, strategy: str, seed: int) -> AsyncIterator[_Server]:
        command = [sys.executable, "-m", "bench.serving", str(path), "--strategy", strategy, "--seed", str(seed)]
        pipe = asyncio.subprocess.PIPE
        server = cls(await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe))
        try:
            yield server
        finally:
            await server._end()

    @property
    def waiting(self) -> int:
        return len(self._open)

    async def ready(self) -> None:
        if not await self._stdout.readline():
            raise RuntimeError("a server ended before it was ready; what it said is on standard error")
        self._reader = asyncio.create_task(self._read())

    async def ask(self, question: str, due: float) -> Answer:
        if self._reader is None or self._reader.done():
            raise RuntimeError("a server has ended")
        self._asked += 1
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._open[self._asked] = answer
        self._stdin.write(json.dumps([self._asked, question, due]).encode() + b"\n")
        return await answer

    async def _read(self) -> None:
        while line := await self._stdout.readline():
            number, *answer = json.loads(line)
            self._open.pop(number).set_result(Answer(*answer))
        for left in self._open.values():
            left.set_exception(RuntimeError("a server ended before it answered"))

    async def _end(self) -> None:
        self._stdin.close()
        done, _ = await asyncio.wait([asyncio.ensure_future(self._process.wait())], timeout=_PATIENCE)
        if not done:
            self._process.kill()
            await self._process.wait()
        if self._reader is not None:
            await self._reader


async def _serve(path: Path, strategy: str, seed: int) -> None:
    loop, lines = asyncio.get_running_loop(), asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async with Germane.open(path) as germane:
        agent = germane.agent(AGENT)
        await agent.warm()
        for _, question in queries(_WARM, seed=1000 + seed):
            await _answer(agent, strategy, question, time.perf_counter())
        _say("ready")
        under_way = set[asyncio.Task[None]]()

        async def reply(number: int, question: str, due: float) -> None:
            _say([number, *await _answer(agent, strategy, question, due)])

        while line := await lines.readline():
            task = asyncio.create_task(reply(*json.loads(line)))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
        await asyncio.gather(*under_way)


async def _answer(agent: Agent, strategy: str, question: str, due: float) -> Answer:
    left = min(_MOST, _DUE - (time.perf_counter() - due))
    asked = [{"role": "user", "content": question}]
    if left < _LEAST:
        context = await agent.fallback(asked, model="gpt-4o", strategy=strategy)
    else:
        context = await agent.assemble(asked, model="gpt-4o", strategy=strategy, deadline=left)
    metadata = context.metadata
    missing = [one for one in metadata.sources if one.status != "ok" and one.reason not in _QUIET]
    reasons = [f"{one.name} {one.status} {one.reason}".strip() for one in missing]
    return Answer(metadata.degradation_level, [*filter(None, [metadata.fallback_reason]), *reasons])


def _say(what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.serving", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--strategy", default="default")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    asyncio.run(_serve(options.path, options.strategy, options.seed))
