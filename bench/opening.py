"""Opening: how long a new process takes until a store is open, and a command of the command line for the whole of its process.

    python -m bench opening [--messages 400] [--rounds 9]

Each round starts new processes on one store; byte code is compiled and files are in the system's cache, as from the second
start on. `import` is that of `germane.Germane`; an answer is a first assembly without a deadline.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from bench.corpus import conversations
from bench.machine import describe
from germane import Germane

__all__ = ["main"]

_PROGRAM = """
import asyncio, sys, time
began = time.perf_counter()
from germane import Germane
imported = time.perf_counter()
async def main():
    async with Germane.open(sys.argv[1]) as germane:
        opened = time.perf_counter()
        asked = [{"role": "user", "content": "What did she say about the harbour?"}]
        await germane.agent().assemble(asked, model="gpt-4o", deadline=None)
        print(imported - began, opened - imported, time.perf_counter() - opened)
asyncio.run(main())
"""
_PARTS = ("import", "opening", "the first answer")
_LENGTH = 40


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench opening", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--messages", type=int, default=400, help="in the store")
    parser.add_argument("--rounds", type=int, default=9, help="processes of each kind, after one that isn't counted")
    options = parser.parse_args(arguments)
    print(describe())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        asyncio.run(_fill(path, options.messages))
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = str(Path(folder) / "compiled")
        rounds = [_started(path, environment) for _ in range(options.rounds + 1)][1:]
    print(f"\na store of {options.messages} messages, {options.rounds} processes of each kind, in seconds: median, least, most")
    for name, values in zip((*_PARTS, "germane stats, whole process"), zip(*rounds, strict=True), strict=True):
        print(f"  {name:<30} {median(values):.2f}   {min(values):.2f} to {max(values):.2f}")


async def _fill(path: Path, messages: int) -> None:
    async with Germane.open(path) as germane:
        agent = germane.agent()
        for session, said in conversations(messages, length=_LENGTH):
            await agent.record(said, session=session)


def _started(path: Path, environment: Mapping[str, str]) -> tuple[float, ...]:
    """Returns the seconds of the parts, and those of a command."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(path)], env=environment, check=True, capture_output=True, text=True
    )
    began = time.perf_counter()
    command = [sys.executable, "-c", "from germane.cli import main; main()", "--db", str(path), "stats"]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return (*map(float, done.stdout.split()), time.perf_counter() - began)
