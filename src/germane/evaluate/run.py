"""Run: one evaluation from end to end: each conversation into a store of its own, its questions asked, the answers measured."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from germane.agent import Agent
from germane.clock import Clock
from germane.errors import InvalidInput
from germane.evaluate.answered import Answered
from germane.evaluate.ask import Asker
from germane.evaluate.dataset import Conversation, Dataset
from germane.evaluate.figures import enough, figures
from germane.evaluate.fill import fill
from germane.evaluate.latency import Timed, latencies
from germane.evaluate.prefix import Call, reuse
from germane.evaluate.replay import AGENT, replay, tail
from germane.evaluate.report import Report, Run
from germane.evaluate.sample import narrowed, spread
from germane.evaluate.when import CLOCKS, When, ends
from germane.gather.source import SourceFactory
from germane.germane import Germane
from germane.ports.embedder import Embedder
from germane.settings import Settings
from germane.strategy import Strategy

__all__ = ["BUDGETS", "DEADLINE", "KS", "evaluate"]

BUDGETS = (250, 500, 1_000, 2_000, 4_000)
KS = (5, 10, 20, 50)
DEADLINE = 0.048
"""Under which latency is measured, in seconds, unless another is given."""

_REPLAYED = 500
"""Calls over the whole data set that prefix reuse is told from, at least twenty of each conversation that is replayed."""
_FEWEST = 20
_WARMING = 5


async def evaluate(
    dataset: Dataset,
    *,
    strategy: str | Strategy = "compact",
    embedder: str | Embedder | None = None,
    model: str = "gpt-4o",
    budgets: Sequence[int] = BUDGETS,
    ks: Sequence[int] = KS,
    clocks: Sequence[str] = CLOCKS,
    categories: Collection[str] | None = None,
    limit: int | None = None,
    deadline: float | None = None,
    quick: bool = False,
    settings: Settings | str | Path | None = None,
    sources: Mapping[str, SourceFactory] | None = None,
    seed: int = 0,
    clock: Clock | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Measure how well and how fast this strategy and this embedder find the evidence of the data set's questions.

    Each conversation is recorded into a store of its own, in memory. Each question is asked within each budget (tokens of all
    the added text), by each clock (`end+1h`, `today` or an ISO time), without a deadline unless one is given (seconds).
    `quick` leaves out what recall doesn't need: the pass that measures latency under a deadline, and the replay that measures
    how much of the prompts a provider could reuse. `limit` asks so many questions, spread evenly. `progress(done, total)` is
    told of each step. Raises `InvalidInput`, `UnknownName`, `MissingExtra` and what opening raises.
    """
    clock = clock or Clock()
    now = clock.now()
    budgets, ks = _ascending("budgets", budgets), _ascending("ks", ks)
    whens = [When.of(name, now) for name in dict.fromkeys(clocks)]
    if not whens:
        raise InvalidInput("clocks must name at least one, such as end+1h")
    chosen = narrowed(dataset, limit=limit, categories=categories)
    asker = Asker(strategy=strategy, model=model, budgets=budgets, deadline=deadline)
    evaluation = _Evaluation(
        asker=asker,
        whens=whens,
        latency_deadline=None if quick else DEADLINE if deadline is None else deadline,
        replayed=_replayed(chosen, quick),
        clock=clock,
        steps=_Steps(progress),
    )
    evaluation.steps.total = evaluation.measure(chosen)
    answered, timed, calls, name, identity = [], [], [], "", ""
    for conversation in chosen.conversations:
        async with Germane.open(":memory:", settings=settings, embedder=embedder, sources=sources, clock=clock) as germane:
            name = germane.strategies.find(strategy).name
            identity = identity or await _identity(germane)
            calls += await evaluation.hear(germane, conversation)
            agent = germane.agent(AGENT)
            timed += await evaluation.time(agent, conversation)
            answered += await evaluation.ask(agent, conversation)
    answered.sort(key=lambda one: [when.name for when in whens].index(one.clock))
    run = Run(
        version=version("germane"),
        date=now,
        machine=f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}",
        dataset=dataset.name,
        format=dataset.format,
        conversations=len(chosen.conversations),
        messages=sum(len(said) for conversation in chosen.conversations for said in conversation.sessions.values()),
        questions=sum(len(conversation.questions) for conversation in dataset.conversations),
        asked=sum(len(conversation.questions) for conversation in chosen.conversations),
        dropped=tuple(dataset.dropped),
        strategy=name,
        embedder=identity,
        model=model,
        budgets=budgets,
        ks=ks,
        clocks=tuple(when.name for when in whens),
        deadline=deadline,
        latency_deadline=DEADLINE if deadline is None else deadline,
        resampled="conversations" if enough(answered) else "questions",
        seed=seed,
    )
    return Report(
        run=run,
        figures=figures(answered, budgets=budgets, ks=ks, seed=seed),
        latency=latencies(timed),
        reuse=reuse(calls),
        answered=tuple(answered),
    )


@dataclass(slots=True)
class _Steps:
    """How far it is."""

    progress: Callable[[int, int], None] | None
    total: int = 0
    done: int = 0

    def __call__(self, count: int = 1) -> None:
        self.done += count
        if self.progress:
            self.progress(self.done, self.total)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evaluation:
    asker: Asker
    whens: Sequence[When]
    latency_deadline: float | None
    replayed: Mapping[str, int]
    clock: Clock
    steps: _Steps

    def measure(self, dataset: Dataset) -> int:
        """All the steps there are."""
        each = len(self.whens) + (self.latency_deadline is not None)
        asked = sum(len(conversation.questions) for conversation in dataset.conversations)
        calls = 0
        for conversation in dataset.conversations:
            if most := self.replayed.get(conversation.name, 0):
                calls += sum(map(len, tail(conversation, most).values()))
        return each * asked + calls + sum(map(_pieces, dataset.conversations))

    async def hear(self, germane: Germane, conversation: Conversation) -> list[Call]:
        """Record it all, the last part of it turn by turn where it is to be replayed."""
        if most := self.replayed.get(conversation.name, 0):
            return await replay(
                germane, conversation, strategy=self.asker.strategy, model=self.asker.model, most=most, progress=self.steps
            )
        await fill(germane.agent(AGENT), conversation, progress=self.steps)
        return []

    async def time(self, agent: Agent, conversation: Conversation) -> list[Timed]:
        """Before the questions are asked for their own sake, so that nothing of them is remembered."""
        if self.latency_deadline is None:
            return []
        await agent.warm()
        end, when = ends(conversation), self.whens[0]
        for number in range(_WARMING):
            await agent.assemble([{"role": "user", "content": f"warming up {number}"}], model=self.asker.model)
        timed = []
        for question in conversation.questions:
            at = when.at(question, end)
            timed.append(await self.asker.time(agent, question, at=at, deadline=self.latency_deadline, clock=self.clock))
            self.steps()
        return timed

    async def ask(self, agent: Agent, conversation: Conversation) -> list[Answered]:
        answered, end = [], ends(conversation)
        for when in self.whens:
            for question in conversation.questions:
                at = when.at(question, end)
                answered.append(await self.asker.ask(agent, question, conversation=conversation.name, clock=when.name, at=at))
                self.steps()
        return answered


def _replayed(dataset: Dataset, quick: bool) -> dict[str, int]:
    """How many calls of which conversations."""
    if quick:
        return {}
    chosen = spread(dataset.conversations, _REPLAYED // _FEWEST)
    return {conversation.name: _REPLAYED // len(chosen) for conversation in chosen}


async def _identity(germane: Germane) -> str:
    checkup = await germane.check()
    return next((finding for name, finding, _ in checkup.findings if name == "vectors"), "")


def _pieces(conversation: Conversation) -> int:
    """Messages and memories."""
    return sum(map(len, conversation.sessions.values())) + len(conversation.memories)


def _ascending(name: str, numbers: Sequence[int]) -> tuple[int, ...]:
    if not numbers or any(isinstance(one, bool) or not isinstance(one, int) or one < 1 for one in numbers):
        raise InvalidInput(f"{name} must be whole numbers from 1, at least one, not {list(numbers)!r}")
    return tuple(sorted(set(numbers)))
