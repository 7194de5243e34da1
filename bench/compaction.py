"""Compaction: the time that long conversations take, the cost of one more message, and how much of the prefix stays.

`python -m bench compaction`. The conversations are a coding agent's: the user's words, one call with its output, an answer.
Requirements: HIST-5. Times are processor time of this process, medians of several runs, with texts that were counted before
unless the line says otherwise: an agent counts each text once, when it comes.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import statistics
import time
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from germane import Germane
from germane.api.arguments import check_conversation
from germane.compaction.conversation import GrowingConversation
from germane.compaction.exchanges import Division
from germane.compaction.reading.results import facts_of
from germane.compaction.reading.statements import constraints_in
from germane.compaction.strategy import CompactionStrategy, Importance, Summarise, TimeDecay, Truncate
from germane.dialects.registry import parse_all
from germane.integrations import Compactor, compact
from germane.integrations.compactor import compactable
from germane.types.limits import MESSAGES
from germane_eval.metrics import ReplayedCall, common_prefix, prefix_reuse
from germane_testing.builders import Hashed

__all__ = ["coding_talk", "main"]

_MODEL = "gpt-4o"
_TEXT = """
the parser reads a block and returns its length while another worker waits for the queue to drain so that tests pass on every
platform including windows where paths differ and the cache is flushed before a rename of the index file
"""


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="bench compaction")
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args(list(arguments)).runs
    talk = coding_talk(1_250)
    print(f"{len(talk):,} messages, {compact(talk, model=_MODEL).tokens_before:,} tokens")
    made: Sequence[tuple[str, CompactionStrategy]] = (
        ("no summary (Truncate)", Truncate()),
        ("extractive summary (Summarise)", Summarise()),
    )
    for name, strategy in made:
        for budget in (8_000, 100_000):
            _line(name, budget, runs, talk, strategy)
    print("\nparts of a compaction of Truncate's")
    for name, part in _parts(talk).items():
        print(f"  {name:<32} {_median(part, runs):7.1f} ms")
    print("\none more message and one compaction, by the messages before")
    for count in (100, 1_000, 5_000):
        print(f"  {count:>5,}  {_one_more(talk[:count]):7.2f} ms")
    print("\nin a stored session, given whole (agent.conversations.compact, assemble): the first call, the next")
    for count in (100, 1_000, 5_000):
        print(f"  {count:>5,}  {asyncio.run(_stored(talk[:count]))}")
    print("\nprefix that a prompt shares with the one before, 500 turns")
    strategies: Sequence[CompactionStrategy] = (Summarise(), Truncate(), Importance(), TimeDecay())
    for strategy in strategies:
        share, moves = _reuse(coding_talk(500), strategy)
        print(f"  {type(strategy).__name__:<10} {share:6.1%}, {moves} moves")


def _line(name: str, budget: int, runs: int, talk: list[dict[str, Any]], strategy: CompactionStrategy) -> None:
    compaction = compact(talk, model=_MODEL, max_tokens=budget, strategy=strategy)
    taken = _median(lambda: compact(talk, model=_MODEL, max_tokens=budget, strategy=strategy), runs)
    print(
        f"  {name:<32} within {budget:>7,}: {taken:7.1f} ms → {compaction.tokens:,} tokens, {len(compaction.messages)} messages"
    )


def _parts(talk: list[dict[str, Any]]) -> dict[str, Callable[[], object]]:
    given = compactable(
        talk,
        model=_MODEL,
        max_tokens=8_000,
        provider=None,
        system=None,
        tools=(),
        strategy=Truncate(),
        archive=None,
        low_water=0.5,
        max_messages=None,
    )
    pairs = list(zip(given.messages, given.raws, strict=True))
    said = [message.text for message, _ in pairs if message.role == "user"]
    outputs = [result for message, _ in pairs for result in message.tool_results]
    fold = GrowingConversation(given.terms)
    for message, raw in pairs:
        fold.add(raw, message)

    def divided() -> None:
        division = Division()
        for message, raw in pairs:
            division.add(message, raw)

    return {
        "checking": lambda: check_conversation(talk, MESSAGES),
        "parsing": lambda: parse_all(talk, given.terms.measure.provider),
        "counting": lambda: [given.terms.measure.message(message, raw) for message, raw in pairs],
        "dividing": divided,
        "what the user demands": lambda: [constraints_in(text) for text in said],
        "facts of all outputs": lambda: [facts_of(result) for result in outputs],
        "the plan and its messages": fold.plan,
    }


def _one_more(before: Sequence[dict[str, Any]]) -> float:
    """Milliseconds of adding a message and compacting, the median over 200 messages, so that moves count with their share."""
    compactor = Compactor(model=_MODEL, max_tokens=16_000)
    compactor.extend(before)
    compactor.compact()
    taken: list[float] = []
    for message in coding_talk(50, seed=2):
        began = time.process_time()
        compactor.add(message)
        compactor.compact()
        taken.append((time.process_time() - began) * 1_000)
    return statistics.mean(taken)


async def _stored(before: list[dict[str, Any]]) -> str:
    """Milliseconds of the first compaction in a session, and of the next ones with an exchange more each, their median."""
    async with Germane.open(":memory:", embedder=Hashed(), freeze=False) as germane:
        agent, texts = germane.agent(user="bench"), list[str]()

        async def history(messages: Sequence[dict[str, Any]]) -> None:
            await agent.conversations.compact(messages, session="history", model=_MODEL, max_tokens=16_000)

        async def assembly(messages: Sequence[dict[str, Any]]) -> None:
            await agent.assemble(messages, session="assembly", model=_MODEL, history_tokens=16_000, deadline=None)

        for way in (history, assembly):
            talk, taken = list(before), list[float]()
            more = coding_talk(20, seed=3)
            for place in range(0, len(more), 4):
                began = time.process_time()
                await way(talk)
                taken.append((time.process_time() - began) * 1_000)
                talk += more[place : place + 4]
            texts.append(f"{taken[0]:7.0f}, then {statistics.median(taken[1:]):6.1f} ms")
    return "   ".join(texts)


def _reuse(talk: list[dict[str, Any]], strategy: CompactionStrategy) -> tuple[float, int]:
    """The share of each prompt's characters that the one before began with, over a conversation within 32,000 tokens; and how
    often the boundaries moved. A call is made at each of the user's turns."""
    compactor = Compactor(model=_MODEL, max_tokens=32_000, strategy=strategy)
    calls: list[ReplayedCall] = []
    before: list[str] = []
    moves = 0
    for message in talk:
        compactor.add(message)
        if message["role"] != "user":
            continue
        compaction = compactor.compact()
        texts = [repr(each) for each in compaction.messages]
        if before:
            prompt, common = sum(map(len, texts)), len(common_prefix(before, texts))
            calls.append(ReplayedCall(conversation="bench", prompt=prompt, common=common, own=prompt, own_common=common))
        before, moves = texts, compaction.trace.moves
    reuse = prefix_reuse(calls)
    return (0.0 if reuse is None else reuse.share), moves


def _median(run: Callable[[], object], runs: int) -> float:
    taken: list[float] = []
    for _ in range(runs):
        gc.collect()
        began = time.process_time()
        run()
        taken.append((time.process_time() - began) * 1_000)
    return statistics.median(taken)


def coding_talk(exchanges: int, seed: int = 1) -> list[dict[str, Any]]:
    """Four messages an exchange: words, a call, its output of about 150 tokens, an answer."""
    random, known = Random(seed), _TEXT.split()

    def said(words: int) -> str:
        return " ".join(random.choices(known, k=words))

    talk: list[dict[str, Any]] = []
    for number in range(exchanges):
        id, path = f"call_{seed}_{number}", f"src/{random.choice(known)}_{number % 40}.py"
        function = {"name": "read_file", "arguments": f'{{"path": "{path}"}}'}
        talk += [
            {"role": "user", "content": f"Please look at {path}: {said(20)}."},
            {"role": "assistant", "content": None, "tool_calls": [{"id": id, "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": id, "content": said(120)},
            {"role": "assistant", "content": f"I read {path}. {said(40)}."},
        ]
    return talk
