"""Run: `evaluate`, which records each conversation, asks its questions and measures the answers."""

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
from germane.evaluate.figures import enough_conversations, figures
from germane.evaluate.latency import Timed, latencies
from germane.evaluate.passes import Passes, Steps, calls_to_replay
from germane.evaluate.prefix import ReplayedCall, prefix_reuse
from germane.evaluate.question_clock import CLOCKS, QuestionClock
from germane.evaluate.replay import AGENT
from germane.evaluate.report import Report, Run
from germane.evaluate.sample import select_questions
from germane.pipeline.gather.source import SourceFactory
from germane.ports.embedder import Embedder
from germane.search.relevance import Relevance
from germane.settings.settings import Settings
from germane.types.strategy import Strategy

__all__ = ["BUDGETS", "DEADLINE", "KS", "evaluate"]

BUDGETS = (250, 500, 1_000, 2_000, 4_000)
KS = (5, 10, 20, 50)
DEADLINE = 0.048
"""Default deadline of the latency pass, in seconds."""

_NONCE_KEY = b"the same in all runs"
"""Fixed, because a random key changes the token count of the nonce from run to run."""


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
    """Measures how well and how fast a strategy and an embedder find the evidence of the data set's questions.

    Each conversation is recorded in a store of its own, in memory. Each question is asked within each of `budgets` (tokens of
    all the added text) and by each of `clocks` (`end+1h`, `today` or an ISO time). `ks` are the ranks at which recall is taken.

    - `categories`, `limit`: ask only questions of these categories; ask at most `limit` questions, spread evenly.
    - `deadline`: seconds for each answer; by default recall waits for every source and latency is measured under `DEADLINE`.
    - `quick`: skip the latency pass, and the replay that measures prefix reuse.
    - `settings`, `sources`, `relevance`: as `Germane.open` takes them.
    - `seed`: of the resampling that makes the intervals. The same seed gives the same intervals.
    - `progress`: called as `progress(done, total)` after each step.

    Raises `InvalidInput` for wrong arguments, and what `Germane.open` raises, such as `UnknownName` and `MissingExtra`.
    """
    clock = clock or Clock()
    now = clock.now()
    budgets, ks = _ascending("budgets", budgets), _ascending("ks", ks)
    question_clocks = [QuestionClock.of(name, now) for name in dict.fromkeys(clocks)]
    if not question_clocks:
        raise InvalidInput("clocks must name at least one, such as end+1h")
    chosen = select_questions(dataset, limit=limit, categories=categories)
    if not isinstance(settings, Settings):
        settings = Settings.load(settings, os.environ)
    settings = replace(settings, nonce_key=settings.nonce_key or _NONCE_KEY)
    passes = Passes(
        asker=Asker(strategy=strategy, model=model, budgets=budgets, deadline=deadline),
        question_clocks=question_clocks,
        latency_deadline=None if quick else DEADLINE if deadline is None else deadline,
        replayed={} if quick else calls_to_replay(chosen),
        clock=clock,
        steps=Steps(progress),
    )
    passes.steps.total = passes.count(chosen)
    answered: list[Answered] = []
    timed: list[Timed] = []
    calls: list[ReplayedCall] = []
    setup = _Setup()
    for conversation in chosen.conversations:
        opened = Germane.open(
            ":memory:", settings=settings, embedder=embedder, sources=sources, relevance=relevance, clock=clock
        )
        async with opened as germane:
            setup = await _Setup.of(germane, passes.asker)
            agent = germane.agent(AGENT)
            calls += await passes.record_conversation(germane, conversation)
            timed += await passes.time_questions(agent, conversation)
            answered += await passes.ask_questions(agent, conversation)
    clock_names = tuple(question_clock.name for question_clock in question_clocks)
    answered.sort(key=lambda answer: clock_names.index(answer.clock))
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
        strategy=setup.strategy,
        embedder=setup.embedder,
        relevance="" if relevance is None else str(relevance),
        model=model,
        tokenizer=setup.tokenizer,
        budgets=budgets,
        ks=ks,
        clocks=clock_names,
        deadline=deadline,
        latency_deadline=DEADLINE if deadline is None else deadline,
        resampled="conversations" if enough_conversations(answered) else "questions",
        seed=seed,
        warnings=setup.warnings,
    )
    return Report(
        run=run,
        figures=figures(answered, budgets=budgets, ks=ks, seed=seed),
        latency=latencies(timed),
        reuse=prefix_reuse(calls),
        answered=tuple(answered),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setup:
    """Strategy, embedder and tokenizer of the evaluation, as germane itself names them."""

    strategy: str = ""
    embedder: str = ""
    tokenizer: str = ""
    warnings: tuple[str, ...] = ()

    @classmethod
    async def of(cls, germane: Germane, asker: Asker) -> _Setup:
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
