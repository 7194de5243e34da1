"""Survival: whether constraints and artifacts survive compaction, and what notes and summaries cost.

    python -m bench survival [--count 500] [--rounds 1 3 10] [--max-tokens 6000] [--show 5]
    python -m bench survival --held-out

Each generated conversation (`germane_eval.survival`) is compacted in so many rounds: in each round a further part of it is
there, and the result of the round before is what goes on (`kept`), or the whole history is compacted anew (`whole`). The scores
read the messages of the last round alone. `summary` has no messages: the text of `extractive_summary`, built on the one before
in each round. `python -m bench survival --speed` prints the time of notes and summary over 5,000 messages.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from statistics import median
from time import process_time
from typing import Any

from bench.machine import describe
from germane.compaction.notes import ExchangeNotes
from germane.compaction.reading.exchange import read_exchange
from germane.compaction.summary_text import extractive_summary, notes_of_summary
from germane.dialects.registry import dialect, parse_all
from germane.integrations import compact
from germane.types.message import Message, Wire
from germane_eval.survival import SurvivalConversation, lost_artifacts, lost_constraints, survival_conversations
from germane_eval.survival.conversations import Split

__all__ = ["main"]

_MODEL = "gpt-4o"
_SUMMARY_TOKENS = 2_000
Output = str | list[Any]
Way = Callable[[SurvivalConversation, int, int], tuple[Output, int]]
"""From a conversation, a number of rounds and a number of tokens to what is left, and the number of outputs that were wrong."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench survival", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--rounds", type=int, nargs="+", default=[1, 3, 10])
    parser.add_argument("--max-tokens", type=int, default=6_000)
    parser.add_argument("--held-out", action="store_true", help="phrases that no rule was written from")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=0, help="print so much of what each way lost")
    parser.add_argument("--speed", action="store_true")
    options = parser.parse_args(arguments)
    if options.speed:
        return _speed()
    split: Split = "held_out" if options.held_out else "development"
    conversations = list(survival_conversations(options.count, split=split, seed=options.seed))
    print(f"{len(conversations)} conversations, {split}, {options.max_tokens} tokens", flush=True)
    print(
        "| rounds | way | constraints | artifacts | file, error, decision, task, id | wrong |",
        "|---|---|---|---|---|---|",
        sep="\n",
    )
    wrong = 0
    for rounds in options.rounds:
        for name, way in WAYS.items():
            wrong += _measured(name, way, conversations, rounds, options.max_tokens, options.show)
    return int(wrong > 0)


def _measured(
    name: str, way: Way, conversations: Sequence[SurvivalConversation], rounds: int, max_tokens: int, show: int
) -> int:
    expected, lost = Counter[str](), Counter[str]()
    wrong = 0
    for one in conversations:
        output, faults = way(one, rounds, max_tokens)
        wrong += faults
        artifacts_gone = lost_artifacts(output, one.artifacts)
        gone: list[tuple[str, object]] = [("constraint", each) for each in lost_constraints(output, one.constraints)]
        gone += [(each.kind, each) for each in artifacts_gone]
        expected["constraint"] += len(one.constraints)
        expected.update(each.kind for each in one.artifacts)
        lost.update(kind for kind, _ in gone)
        for _, what in gone[: max(0, show)]:
            print(f"    {one.name} ({one.language}) lost {what}")
            show -= 1
    kinds = ("file", "error", "decision", "task", "id")
    artifacts = 1 - sum(lost[kind] for kind in kinds) / max(1, sum(expected[kind] for kind in kinds))
    each = ", ".join(f"{100 - 100 * lost[kind] / max(1, expected[kind]):.1f}" for kind in kinds)
    constraints = 100 - 100 * lost["constraint"] / max(1, expected["constraint"])
    print(f"| {rounds} | {name} | {constraints:.1f} | {100 * artifacts:.1f} | {each} | {wrong} |", flush=True)
    return wrong


def _parts(count: int, rounds: int) -> Iterator[tuple[int, int]]:
    """What each round adds, from and to."""
    for place in range(rounds):
        yield place * count // rounds, (place + 1) * count // rounds


def _turns(messages: Sequence[dict[str, Any]], rounds: int) -> Iterator[tuple[int, int]]:
    """The messages that each round adds: an agent compacts before it asks its model, when its calls have their results."""
    begun = 0
    for _, end in _parts(len(messages), rounds):
        while end < len(messages) and messages[end]["role"] == "tool":
            end += 1
        yield begun, end
        begun = end


def _kept(one: SurvivalConversation, rounds: int, max_tokens: int) -> tuple[Output, int]:
    messages, wrong = list[Any](), 0
    for start, end in _turns(one.messages, rounds):
        result = compact([*messages, *one.messages[start:end]], model=_MODEL, max_tokens=max_tokens)
        messages = result.messages
        wrong += _is_wrong(messages, result.fits)
    return messages, wrong


def _whole(one: SurvivalConversation, rounds: int, max_tokens: int) -> tuple[Output, int]:
    messages, wrong = list[Any](), 0
    for _, end in _turns(one.messages, rounds):
        result = compact(one.messages[:end], model=_MODEL, max_tokens=max_tokens)
        messages = result.messages
        wrong += _is_wrong(messages, result.fits)
    return messages, wrong


def _is_wrong(messages: list[Any], fits: bool) -> int:
    return int(not fits or bool(dialect("openai").problems(Wire(messages=messages))))


def _summary(one: SurvivalConversation, rounds: int, max_tokens: int) -> tuple[Output, int]:
    notes, text, wrong = [read_exchange(each) for each in _exchanges(parse_all(one.messages))], "", 0
    for start, end in _parts(len(notes), rounds):
        text = extractive_summary([*notes_of_summary(text), *notes[start:end]], _SUMMARY_TOKENS, _tokens)
        wrong += _tokens(text) > _SUMMARY_TOKENS
    return text, wrong


WAYS: dict[str, Way] = {"kept": _kept, "whole": _whole, "summary": _summary}


def _tokens(text: str) -> int:
    """A quarter of the UTF-8 bytes."""
    return (len(text.encode()) + 3) // 4


def _exchanges(messages: Sequence[Message]) -> list[list[Message]]:
    found = list[list[Message]]()
    for message in messages:
        if message.role == "user" or not found:
            found.append([])
        found[-1].append(message)
    return found


def _speed() -> int:
    """The CPU time of notes and of a summary over 5,000 messages, of a worst case too."""
    messages = [message for one in survival_conversations(30) for message in parse_all(one.messages)][:5_000]
    exchanges = _exchanges(messages)
    notes = list[ExchangeNotes]()
    reading, writing = list[float](), list[float]()
    for _ in range(5):
        begun = process_time()
        notes = [read_exchange(each) for each in exchanges]
        reading.append(process_time() - begun)
        begun = process_time()
        extractive_summary(notes, _SUMMARY_TOKENS, _tokens)
        writing.append(process_time() - begun)
    print(describe())
    print(f"{len(messages)} messages, {len(exchanges)} exchanges: notes {1000 * median(reading):.0f} ms")
    print(f"summary of {_SUMMARY_TOKENS} tokens: {1000 * median(writing):.0f} ms")
    alone = [
        Message.of(message.role, "don't " * 3_000 if message.role == "user" else message.text) for message in messages[:50]
    ]
    begun = process_time()
    read_exchange(alone)
    print(f"50 messages, those of the user full of words that rules know: {1000 * (process_time() - begun):.0f} ms")
    return 0
