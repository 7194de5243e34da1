"""Recall: how much of the evidence of a question is in the context, within so many tokens of added text.

    python -m bench recall ../shared/data/locomo-dev --strategy compact

Conversations in LoCoMo's format, categories 1 to 4. Each is recorded into a store of its own; every question is asked without
a deadline, once with the clock an hour after the last message and once today; what is counted is all the text that germane
adds, wrapper included. A shortened message earns the share of it that is shown. Evidence ids are split and normalised, those
that dangle are dropped.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import mean

from germane import Agent, Germane, Message
from germane.cli.imports.locomo import questions, read_locomo
from germane.cli.imports.row import Turn

_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
_ID = re.compile(r"D:?(\d+):(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    sessions: Mapping[str, Sequence[Message]]
    asked: Sequence[tuple[str, frozenset[str], int]]
    """Question, ids of the messages that hold the answer, category."""

    @property
    def ends(self) -> datetime:
        return max(message.created_at or datetime.min for said in self.sessions.values() for message in said).replace(
            tzinfo=UTC
        )


def load(path: Path) -> Iterator[Conversation]:
    """The LoCoMo files of a folder, or the one file."""
    for file in sorted(path.glob("*.json")) if path.is_dir() else [path]:
        document = json.loads(file.read_text("utf-8"))
        sessions: dict[str, list[Message]] = defaultdict(list)
        for row in read_locomo(document, file.stem):
            if isinstance(row, Turn):
                sessions[row.session].append(row.message)
        known = {message.id for said in sessions.values() for message in said}
        asked = []
        for one in questions(document):
            ids = {f"D{int(s)}:{int(n)}" for given in one.evidence for s, n in _ID.findall(given)} & known
            if ids and one.category in _CATEGORIES:
                asked.append((one.question, frozenset(ids), one.category))
        yield Conversation(sessions=sessions, asked=asked)


async def measured(agent: Agent, question: str, wanted: frozenset[str], *, tokens: int, strategy: str, at: datetime) -> float:
    """The share of the evidence that is in the context."""
    context = await agent.assemble(
        [{"role": "user", "content": question}], model="gpt-4o", at=at, deadline=None, max_tokens=tokens, strategy=strategy
    )
    if context.metadata.fallback_reason or context.metadata.total_tokens_injected > tokens:
        raise AssertionError(f"{context.metadata.fallback_reason or 'over budget'}: {question}")
    return sum(item.share for item in context.items if item.provenance.message_id in wanted) / len(wanted)


async def run(options: argparse.Namespace) -> None:
    shares: dict[tuple[str, int], list[float]] = defaultdict(list)
    kinds: dict[tuple[str, int], list[float]] = defaultdict(list)
    for conversation in load(options.data):
        async with Germane.open(":memory:", embedder=options.embedder) as germane:
            agent = germane.agent("bench")
            for session, said in conversation.sessions.items():
                await agent.record(said, session=session)
            clocks = {"an hour after": conversation.ends + timedelta(hours=1), "today": datetime.now(UTC)}
            for clock, at in clocks.items():
                for question, wanted, category in conversation.asked:
                    for tokens in options.tokens:
                        got = await measured(agent, question, wanted, tokens=tokens, strategy=options.strategy, at=at)
                        shares[clock, tokens].append(got)
                        if tokens == 1000:
                            kinds[clock, category].append(got)
        print(f"{len(shares[clock, options.tokens[0]]):>5} questions", flush=True)
    print(
        f"\nstrategy {options.strategy}, embedder {options.embedder}: percent of evidence within so many tokens of added text"
    )
    print(f"{'clock':<15}" + "".join(f"{tokens:>8}" for tokens in options.tokens) + "   all of it in 1,000")
    for clock in ("an hour after", "today"):
        row = "".join(f"{100 * mean(shares[clock, tokens]):8.1f}" for tokens in options.tokens)
        whole = 100 * mean(value > 0.999 for value in shares.get((clock, 1000), [0.0]))
        print(f"{clock:<15}{row}{whole:12.1f}")
    for category, name in _CATEGORIES.items():
        row = "  ".join(f"{clock} {100 * mean(kinds[clock, category]):5.1f}" for clock in clocks if kinds[clock, category])
        print(f"{name:<15}{row}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench recall", description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="a folder of LoCoMo files, or one")
    parser.add_argument("--strategy", default="compact")
    parser.add_argument("--embedder", default="static")
    parser.add_argument("--tokens", type=int, nargs="+", default=[250, 500, 1000, 2000, 4000])
    asyncio.run(run(parser.parse_args(arguments)))


if __name__ == "__main__":
    main()
