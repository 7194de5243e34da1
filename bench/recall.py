"""Recall: how much of the evidence of a question is in the context, within so many tokens of added text.

    python -m bench recall ../shared/data/locomo-dev --strategy compact

Labelled conversations in any format that `germane.evaluate.formats` reads. Each is recorded into a store of its own; every
question is asked without a deadline, once with the clock an hour after the last message and once today; what is counted is all
the text that germane adds, wrapper included. A shortened message earns the share of it that is shown.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import mean

from germane import Agent, Germane
from germane.evaluate.dataset import Conversation
from germane.evaluate.fill import fill
from germane.evaluate.formats import load


async def measured(agent: Agent, question: str, wanted: frozenset[str], *, tokens: int, strategy: str, at: datetime) -> float:
    """The share of the evidence that is in the context."""
    context = await agent.assemble(
        [{"role": "user", "content": question}], model="gpt-4o", at=at, deadline=None, max_tokens=tokens, strategy=strategy
    )
    if context.metadata.fallback_reason or context.metadata.total_tokens_injected > tokens:
        raise AssertionError(f"{context.metadata.fallback_reason or 'over budget'}: {question}")
    return sum(item.share for item in context.items if item.provenance.message_id in wanted) / len(wanted)


def ends(conversation: Conversation) -> datetime:
    """The time of the last message; now where none has one."""
    said = [message.created_at for messages in conversation.sessions.values() for message in messages]
    return max((time for time in said if time is not None), default=datetime.now(UTC))


async def run(options: argparse.Namespace) -> None:
    shares: dict[tuple[str, int], list[float]] = defaultdict(list)
    kinds: dict[tuple[str, str], list[float]] = defaultdict(list)
    for conversation in load(options.data).conversations:
        async with Germane.open(":memory:", embedder=options.embedder) as germane:
            agent = germane.agent("bench")
            await fill(agent, conversation)
            clocks = {"an hour after": ends(conversation) + timedelta(hours=1), "today": datetime.now(UTC)}
            for clock, at in clocks.items():
                for asked in conversation.questions:
                    for tokens in options.tokens:
                        got = await measured(agent, asked.text, asked.evidence, tokens=tokens, strategy=options.strategy, at=at)
                        shares[clock, tokens].append(got)
                        if tokens == 1000:
                            kinds[clock, asked.category].append(got)
        print(f"{len(shares[clock, options.tokens[0]]):>5} questions", flush=True)
    print(
        f"\nstrategy {options.strategy}, embedder {options.embedder}: percent of evidence within so many tokens of added text"
    )
    print(f"{'clock':<15}" + "".join(f"{tokens:>8}" for tokens in options.tokens) + "   all of it in 1,000")
    for clock in ("an hour after", "today"):
        row = "".join(f"{100 * mean(shares[clock, tokens]):8.1f}" for tokens in options.tokens)
        whole = 100 * mean(value > 0.999 for value in shares.get((clock, 1000), [0.0]))
        print(f"{clock:<15}{row}{whole:12.1f}")
    for category in sorted({category for _, category in kinds}):
        row = "  ".join(f"{clock} {100 * mean(kinds[clock, category]):5.1f}" for clock in clocks if kinds[clock, category])
        print(f"{category:<25}{row}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench recall", description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="a data set: a folder or a file")
    parser.add_argument("--strategy", default="compact")
    parser.add_argument("--embedder", default="static")
    parser.add_argument("--tokens", type=int, nargs="+", default=[250, 500, 1000, 2000, 4000])
    asyncio.run(run(parser.parse_args(arguments)))


if __name__ == "__main__":
    main()
