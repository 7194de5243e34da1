"""Outlining: processor time that the lines of outlines add to recording.

    python -m bench outlining [DATA ...] [--messages 2000] [--rounds 9]

Each conversation is recorded with the lines and without them (the store's function that makes them does nothing then), in
turn, the first of each pair being now the one and now the other. What counts is the ratio of a pair; its median is shown with
the smallest and the largest. Processor time is that of all threads. In the generated conversations and in talk between people
every message is a user's and has a line of its own; beside them a coding agent's, and those of the data sets given.
Requirements: HIST-5.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any, Final
from unittest import mock

from bench.compaction import coding_talk
from bench.corpus import conversations
from bench.ingest import Way, by_fifty, fifty_callers
from bench.machine import describe
from germane import Germane, Message
from germane.stores.sql import transaction
from germane_eval.dataset import Conversation
from germane_eval.formats import load

__all__ = ["main"]

Sessions = Sequence[tuple[str, list[Any]]]
"""Ids and messages, as `record` takes them."""

_WAYS: Final[Mapping[str, Way]] = {"calls of 50": by_fifty, "50 callers, one message a call": fifty_callers}
_LENGTH = 40
"""Messages of a session of the generated conversations."""


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench outlining", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, nargs="*", help="data sets that `germane eval` reads")
    parser.add_argument("--messages", type=int, default=2_000, help="of each data set")
    parser.add_argument("--rounds", type=int, default=9, help="pairs")
    options = parser.parse_args(arguments)
    print(describe())
    print("| messages | recorded by | without lines | with | ratio (of all pairs) |\n|---|---|---|---|---|")
    for name, sessions in _recorded(options.data, options.messages):
        for way, record in _WAYS.items():
            print(f"| {name} | {way} | {_pairs(record, sessions, options.rounds)} |", flush=True)


def _recorded(data: Sequence[Path], count: int) -> Iterator[tuple[str, Sessions]]:
    yield "generated", list(conversations(count, length=_LENGTH))
    talk = coding_talk(count // 4)
    yield "a coding agent's", [(f"s{start}", talk[start : start + _LENGTH]) for start in range(0, len(talk), _LENGTH)]
    for path in data:
        dataset = load(path)
        yield dataset.name, list(_first(dataset.conversations, count))


def _first(given: Sequence[Conversation], count: int) -> Iterator[tuple[str, list[Message]]]:
    """The first sessions of each conversation, so many that they have about an equal part of the messages."""
    for conversation in given:
        left = count // len(given)
        for session, messages in conversation.sessions.items():
            named = [replace(message, id=f"{conversation.name}/{message.id}") for message in messages[:left]]
            left -= len(named)
            if named:
                yield f"{conversation.name}/{session}", named


def _pairs(way: Way, sessions: Sessions, rounds: int) -> str:
    with_lines, without = list[float](), list[float]()
    for number in range(rounds + 1):
        order = (with_lines, without) if number % 2 else (without, with_lines)
        for spent in order:
            with nullcontext() if spent is with_lines else mock.patch.object(transaction, "write_outlines"):
                spent.append(asyncio.run(_cost(way, sessions)))
    ratios = [one / other for one, other in zip(with_lines[1:], without[1:], strict=True)]  # the first pair warms up
    found = f"{median(without[1:]):.3f} ms | {median(with_lines[1:]):.3f} ms"
    return f"{found} | **{median(ratios):.3f}** ({min(ratios):.3f} to {max(ratios):.3f})"


async def _cost(way: Way, sessions: Sessions) -> float:
    """Milliseconds of processor time of one message."""
    with tempfile.TemporaryDirectory() as folder:
        async with Germane.open(Path(folder) / "outlining.db") as germane:
            agent = germane.agent("bench")
            await agent.record([Message.of("user", "first")], session="warm-up")
            gc.collect()
            began = time.process_time()
            await way(agent, list(sessions))
            spent = time.process_time() - began
            return 1_000 * spent / sum(len(messages) for _, messages in sessions)
