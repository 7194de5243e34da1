"""Run: one evaluation from end to end: each conversation into a store of its own, its questions asked, the answers measured."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from germane.api.germane import Germane
from germane.clock import Clock
from germane.errors import InvalidInput
from germane.evaluate.answered import Answered
from germane.evaluate.ask import Asker
from germane.evaluate.dataset import Dataset
from germane.evaluate.figures import enough, figures
from germane.evaluate.latency import Timed, latencies
from germane.evaluate.passes import Passes, Steps, replayed
from germane.evaluate.prefix import Call, reuse
from germane.evaluate.replay import AGENT
from germane.evaluate.report import Report, Run
from germane.evaluate.sample import narrowed
from germane.evaluate.when import CLOCKS, When
from germane.pipeline.gather.source import SourceFactory
from germane.ports.embedder import Embedder
from germane.search.relevance import Relevance
from germane.settings.settings import Settings
from germane.types.strategy import Strategy

__all__ = ["BUDGETS", "DEADLINE", "KS", "evaluate"]

BUDGETS = (250, 500, 1_000, 2_000, 4_000)
KS = (5, 10, 20, 50)
DEADLINE = 0.048
"""Under which latency is measured, in seconds, unless another is given."""

_NONCE_KEY = b"the same in all runs"
"""A random one costs a token more or less from run to run."""


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
    relevance: Relevance | str | Path | None = None,
    seed: int = 0,
    clock: Clock | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Measure how well and how fast this strategy and this embedder find the evidence of the data set's questions.

    Each conversation is recorded into a store of its own, in memory. Each question is asked within each budget (tokens of all
    the added text), by each clock (`end+1h`, `today` or an ISO time), without a deadline unless one is given (seconds).
    `quick` leaves out what recall doesn't need: the pass that measures latency under a deadline, and the replay that measures
    how much of the prompts a provider could reuse. `limit` asks so many questions, spread evenly. `progress(done, total)` is
    told of each step; `settings`, `sources` and `relevance` are as `Germane.open` takes them. Raises `InvalidInput`,
    `UnknownName`, `MissingExtra` and what opening raises.
    """
    clock = clock or Clock()
    now = clock.now()
    budgets, ks = _ascending("budgets", budgets), _ascending("ks", ks)
    whens = [When.of(name, now) for name in dict.fromkeys(clocks)]
    if not whens:
        raise InvalidInput("clocks must name at least one, such as end+1h")
    chosen = narrowed(dataset, limit=limit, categories=categories)
    if not isinstance(settings, Settings):
        settings = Settings.load(settings, os.environ)
    settings = replace(settings, nonce_key=settings.nonce_key or _NONCE_KEY)
    passes = Passes(
        asker=Asker(strategy=strategy, model=model, budgets=budgets, deadline=deadline),
        whens=whens,
        latency_deadline=None if quick else DEADLINE if deadline is None else deadline,
        replayed={} if quick else replayed(chosen),
        clock=clock,
        steps=Steps(progress),
    )
    passes.steps.total = passes.count(chosen)
    answered: list[Answered] = []
    timed: list[Timed] = []
    calls: list[Call] = []
    means = _Means()
    for conversation in chosen.conversations:
        opened = Germane.open(
            ":memory:", settings=settings, embedder=embedder, sources=sources, relevance=relevance, clock=clock
        )
        async with opened as germane:
            means = await _Means.of(germane, passes.asker)
            agent = germane.agent(AGENT)
            calls += await passes.hear(germane, conversation)
            timed += await passes.time(agent, conversation)
            answered += await passes.ask(agent, conversation)
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
        strategy=means.strategy,
        embedder=means.embedder,
        relevance="" if relevance is None else str(relevance),
        model=model,
        tokenizer=means.tokenizer,
        budgets=budgets,
        ks=ks,
        clocks=tuple(when.name for when in whens),
        deadline=deadline,
        latency_deadline=DEADLINE if deadline is None else deadline,
        resampled="conversations" if enough(answered) else "questions",
        seed=seed,
        warnings=means.warnings,
    )
    return Report(
        run=run,
        figures=figures(answered, budgets=budgets, ks=ks, seed=seed),
        latency=latencies(timed),
        reuse=reuse(calls),
        answered=tuple(answered),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Means:
    """With what it is measured, as germane itself names it."""

    strategy: str = ""
    embedder: str = ""
    tokenizer: str = ""
    warnings: tuple[str, ...] = ()

    @classmethod
    async def of(cls, germane: Germane, asker: Asker) -> _Means:
        asked = [{"role": "user", "content": "warming up"}]
        context = await germane.agent("nobody").assemble(asked, model=asker.model, deadline=None, strategy=asker.strategy)
        findings = {name: finding for name, finding, _ in (await germane.check()).findings}
        trace = context.trace
        return cls(
            strategy=trace.strategy, embedder=findings.get("vectors", ""), tokenizer=trace.tokenizer, warnings=trace.warnings
        )


def _ascending(name: str, numbers: Sequence[int]) -> tuple[int, ...]:
    if not numbers or any(isinstance(one, bool) or not isinstance(one, int) or one < 1 for one in numbers):
        raise InvalidInput(f"{name} must be whole numbers from 1, at least one, not {list(numbers)!r}")
    return tuple(sorted(set(numbers)))
