"""Answers: processor time of an assembly over real conversations, and how much of what is found is read and shown.

    python -m bench answers ../shared/data/locomo-dev [--questions 100] [--rounds 3]

Each conversation of the data set is recorded in a store of its own, and its questions are asked one at a time with the
defaults. A round asks all questions; the quickest round counts, as nothing makes a round quicker than the code is. CPU time is
that of all threads. Unlike the generated corpus of `latency`, here some messages answer and most don't.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from bench.machine import describe
from germane import Germane
from germane_eval.dataset import Conversation
from germane_eval.formats import load

__all__ = ["main"]


class _Answered(NamedTuple):
    """Means over the questions of one conversation; `milliseconds` of processor time for each."""

    milliseconds: float
    found: float
    read: float
    shown: float


async def _ask(conversation: Conversation, questions: int, rounds: int) -> _Answered:
    async with Germane.open(":memory:") as germane:
        agent = germane.agent()
        for session, messages in conversation.sessions.items():
            await agent.record(messages, session=session)
        await agent.warm()
        texts = [question.text for question in conversation.questions[:questions]]
        best = _Answered(float("inf"), 0, 0, 0)
        for number in range(rounds + 1):
            found, read, shown = [0.0], [0.0], [0.0]
            began = time.process_time()
            for text in texts:
                asked = [{"role": "user", "content": text + " " * number}]
                context = await agent.assemble(asked, model="gpt-4o", deadline=None)
                read.append(len(context.trace.chosen) + len(context.trace.left_out))
                found.append(read[-1] + len(context.trace.unread))
                shown.append(len(context.items))
            spent = 1000 * (time.process_time() - began) / len(texts)
            if number:  # the first round warms up
                best = min(best, _Answered(spent, fmean(found[1:]), fmean(read[1:]), fmean(shown[1:])))
        return best


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench answers", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--questions", type=int, default=100, help="of each conversation")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    print(describe())
    print("| conversation | messages | processor | found | read | shown |\n|---|---|---|---|---|---|")
    rows = []
    for conversation in load(options.data).conversations:
        rows.append(asyncio.run(_ask(conversation, options.questions, options.rounds)))
        size, row = sum(map(len, conversation.sessions.values())), rows[-1]
        print(f"| {conversation.name} | {size:,} | {row[0]:.1f} ms | {row[1]:.0f} | {row[2]:.0f} | {row[3]:.0f} |", flush=True)
    means = [fmean(column) for column in zip(*rows, strict=True)]
    print(f"| mean | | {means[0]:.1f} ms | {means[1]:.0f} | {means[2]:.0f} | {means[3]:.0f} |")


if __name__ == "__main__":
    main()
