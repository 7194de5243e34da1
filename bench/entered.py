"""Entered: how many modules of germane a warm call enters: an assembly, and the recording of one exchange.

A reader of one call has to open these modules. Functions are counted in all threads, by the file in which each stands; a class
or a module that is only imported isn't entered. The store has 40 messages and a few memories, and each call was made once
before.

    python -m bench entered          the figures
    python -m bench entered --list   and the names of the modules
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import germane
from bench.machine import describe
from germane import Agent, Germane

__all__ = ["main"]

_HOME = f"{Path(germane.__file__).parent}/"
_MESSAGES = 40
_WORDS = ("greyhound", "oolong tea", "cello", "grey sofa", "night train", "sourdough", "lighthouse", "bicycle")


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench entered", description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the names of the modules too")
    given = parser.parse_args(arguments)
    print(describe())
    with TemporaryDirectory() as folder:
        for name, modules in asyncio.run(_measured(Path(folder))):
            print(f"{name}: {len(modules)} modules")
            if given.list:
                print(*(f"  {module}" for module in sorted(modules)), sep="\n")


async def _measured(folder: Path) -> list[tuple[str, set[str]]]:
    note = _Note()
    async with await Germane.open(folder / "store.db") as opened:
        agent = opened.agent("bench", user="ann")
        await agent.record([_message(number) for number in range(_MESSAGES)], session="before")
        await agent.remember("Ann's greyhound is called Biscuit")
        return [
            ("one assembly", await note.of(lambda number: _assembled(agent, number))),
            ("one recording", await note.of(lambda number: _recorded(agent, number))),
        ]


class _Note:
    """Notes the modules whose functions are called, in this thread and in those that start from now on: so it is made before a
    store is opened, whose threads stay."""

    def __init__(self) -> None:
        self._found: set[str] | None = None
        threading.setprofile(self._called)

    async def of(self, call: Callable[[int], Awaitable[None]]) -> set[str]:
        """The modules that the second call enters, by their paths in the package. Work that goes on after an answer, such as
        counts that are written a second later, isn't waited for."""
        await call(0)
        found = self._found = set[str]()
        sys.setprofile(self._called)
        try:
            await call(1)
        finally:
            sys.setprofile(None)
            self._found = None
        return found

    def _called(self, frame: FrameType, event: str, _: object) -> None:
        if self._found is not None and event == "call" and (file := frame.f_code.co_filename).startswith(_HOME):
            self._found.add(file.removeprefix(_HOME))


async def _assembled(agent: Agent, number: int) -> None:
    question = f"What did I say about the {_WORDS[number]}?"
    await agent.assemble([{"role": "user", "content": question}], model="gpt-4o", session="now", deadline=None)


async def _recorded(agent: Agent, number: int) -> None:
    await agent.record([_message(2 * number), _message(2 * number + 1)], session="now")


def _message(number: int) -> dict[str, str]:
    word = _WORDS[number % len(_WORDS)]
    return {"role": ("user", "assistant")[number % 2], "content": f"Number {number}: I thought of the {word} again today."}
