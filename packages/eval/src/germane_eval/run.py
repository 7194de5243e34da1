"""Run: `evaluate`, which records each conversation, asks its questions and measures the answers."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from germane.api.germane import Germane
from germane.catalog.profiles import Price
from germane.clock import Clock
from germane.errors import InvalidInput
from germane.ports.models import Embedder
from germane.search.relevance import Relevance
from germane.settings.settings import Settings
from germane.stages.gather.source import SourceFactory
from germane.types.budget import Effort, price_of_effort
from germane.types.checks import check_whole_number
from germane.types.strategy import Strategy
from germane_eval.answers import Answered
from germane_eval.dataset import CLOCKS, Dataset, QuestionClock, select_questions
from germane_eval.everyday import RequestAnswer, TurnAnswer, request_figures, turn_figures, turns_by_conversation
from germane_eval.metrics import ReplayedCall, Timed, amounts, cost, enough_conversations, figures, latencies, prefix_reuse
from germane_eval.passes import Asker, Passes, Steps, calls_to_replay
from germane_eval.report import Report, Run

BUDGETS = (250, 500, 1_000, 2_000, 4_000)
KS = (5, 10, 20, 50)
DEADLINE = 0.048
"""Default deadline of the latency pass, in seconds."""

_NONCE_KEY = b"the same in all runs"
"""Fixed, because a random key changes the token count of the nonce from run to run."""


async def evaluate(
    dataset: Dataset,
    *,
    strategy: str | Strategy | None = None,
    embedder: str | Embedder | None = None,
    model: str = "gpt-4o",
    budgets: Sequence[int] | None = None,
    ks: Sequence[int] = KS,
    efforts: Sequence[Effort | float] = (),
    clocks: Sequence[str] = CLOCKS,
    categories: Collection[str] | None = None,
    limit: int | None = None,
    deadline: float | None = None,
    talk: int | None = None,
    quick: bool = False,
    without_need: bool | None = None,
    turns: int | None = None,
    settings: Settings | str | Path | None = None,
    sources: Mapping[str, SourceFactory] | None = None,
    relevance: Relevance | str | Path | None = None,
    seed: int = 0,
    clock: Clock | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Measures how well and how fast a strategy and an embedder find the evidence of the data set's questions.

    Each conversation is recorded in a store of its own, in memory. Each question is asked within each of `budgets` (tokens of
    all the added text) and by each of `clocks` (`end+1h`, `today` or an ISO time), and at the first clock also without a
    budget. `ks` are the ranks at which recall is taken. The requests of everyday data are the turns of conversations, asked by
    the first clock alone, without a budget and within each.

    - `strategy`: by default `compact`, and for everyday data `default`.
    - `budgets`: by default `BUDGETS`, and none for everyday data with `quick`.
    - `efforts`: of the assemblies without a budget, `low`, `medium`, `high` or numbers; by default the strategy's own.
    - `categories`, `limit`: ask only questions of these categories; ask at most `limit` questions, spread evenly.
    - `deadline`: seconds for each answer; by default recall waits for every source and latency is measured under `DEADLINE`.
    - `talk`: number of requests that share a conversation, in everyday data; by default each opens its own.
    - `quick`: skip the latency pass, the replay that measures prefix reuse, and the turns without need.
    - `without_need`: ask turns that no memory helps with, spread over the conversations; by default unless `quick`. `turns`
      limits their number.
    - `settings`, `sources`, `relevance`: as `Germane.open` takes them.
    - `seed`: of the resampling that makes the intervals. The same seed gives the same intervals.
    - `progress`: called as `progress(done, total)` after each step.

    Raises `InvalidInput` for wrong arguments, and what `Germane.open` raises, such as `UnknownName` and `MissingExtra`.
    """
    clock = clock or Clock()
    now = clock.now()
    talk = _talk(dataset, talk, efforts)
    if strategy is None:
        strategy = "default" if dataset.everyday else "compact"
    if budgets is None:
        budgets = () if dataset.everyday and quick else BUDGETS
    budgets, ks = _ascending("budgets", budgets, least=int(not dataset.everyday)), _ascending("ks", ks)
    question_clocks = [QuestionClock.of(name, now) for name in dict.fromkeys(clocks)]
    if not question_clocks:
        raise InvalidInput("clocks must name at least one, such as end+1h")
    for effort in efforts:
        price_of_effort(effort)
    if turns is not None:
        check_whole_number("turns", turns, 1)
    chosen = select_questions(dataset, limit=limit, categories=categories)
    if not isinstance(settings, Settings):
        settings = Settings.load(settings, os.environ)
    settings = replace(settings, nonce_key=settings.nonce_key or _NONCE_KEY)
    with_turns = not quick if without_need is None else without_need
    passes = Passes(
        asker=Asker(strategy=strategy, model=model, budgets=budgets, efforts=tuple(efforts) or (None,), deadline=deadline),
        question_clocks=question_clocks[:1] if dataset.everyday else question_clocks,
        latency_deadline=None if quick else DEADLINE if deadline is None else deadline,
        replayed={} if quick else calls_to_replay(chosen),
        talk=talk,
        turns=turns_by_conversation([conversation.name for conversation in chosen.conversations], turns) if with_turns else {},
        clock=clock,
        steps=Steps(progress),
    )
    passes.steps.total = passes.count(chosen)
    results = await Results.of(
        chosen,
        passes,
        lambda: Germane.open(
            ":memory:", settings=settings, embedder=embedder, sources=sources, relevance=relevance, clock=clock
        ),
    )
    whole, price = enough_conversations(results.answered), results.circumstances.price
    run = Run(
        version=version("germane"),
        date=now,
        machine=machine(),
        dataset=dataset.name,
        format=dataset.format,
        conversations=len(chosen.conversations),
        messages=sum(len(said) for conversation in chosen.conversations for said in conversation.sessions.values()),
        questions=sum(len(conversation.questions) for conversation in dataset.conversations),
        asked=sum(len(conversation.questions) for conversation in chosen.conversations),
        dropped=tuple(dataset.dropped),
        strategy=results.circumstances.strategy,
        embedder=results.circumstances.embedder,
        relevance="" if relevance is None else str(relevance),
        model=model,
        tokenizer=results.circumstances.tokenizer,
        budgets=budgets,
        ks=ks,
        clocks=tuple(one.name for one in passes.question_clocks),
        deadline=deadline,
        latency_deadline=DEADLINE if deadline is None else deadline,
        resampled="conversations" if whole else "questions",
        seed=seed,
        warnings=results.circumstances.warnings,
        talk=talk,
    )
    return Report(
        run=run,
        figures=figures(results.answered, budgets=budgets, ks=ks, seed=seed),
        amounts=amounts(results.answered, price=price, whole=whole, seed=seed),
        requests=request_figures(results.requests, seed),
        asked_requests=results.requests,
        turns=turn_figures(results.turns, seed),
        latency=latencies(results.timed),
        reuse=prefix_reuse(results.calls),
        cost=cost(results.calls, price),
        answered=results.answered,
        asked_turns=results.turns,
    )


def _talk(dataset: Dataset, talk: int | None, efforts: Sequence[Effort | float]) -> int | None:
    """Requests that share a conversation; None for other than everyday data. Raises `InvalidInput` where an argument doesn't
    go with the data."""
    if dataset.everyday and efforts:
        raise InvalidInput("efforts aren't compared on everyday data: give a strategy of that effort")
    if not dataset.everyday and talk is not None:
        raise InvalidInput(f"talk is for everyday data: the questions of {dataset.format} data are asked alone")
    if talk is not None:
        check_whole_number("talk", talk, 1)
    return talk or 1 if dataset.everyday else None


def _ascending(name: str, numbers: Sequence[int], least: int = 1) -> tuple[int, ...]:
    """The numbers sorted, each once; at least `least` of them. Raises `InvalidInput`."""
    if len(numbers) < least:
        raise InvalidInput("is empty", path=name, advice="give at least one")
    return tuple(sorted({check_whole_number(f"{name}[{index}]", one, 1) for index, one in enumerate(numbers)}))


# The single results of all passes over all conversations, each of which has its own store.


_AGENT, _PERSON = "evaluated", "somebody"
"""Ids of the agent that records each conversation, and of its user in everyday data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The results that the figures of a report are made of."""

    circumstances: Circumstances
    calls: tuple[ReplayedCall, ...]
    timed: tuple[Timed, ...]
    answered: tuple[Answered, ...]
    """By clock, in the order of the clocks."""
    requests: tuple[RequestAnswer, ...]
    turns: tuple[TurnAnswer, ...]

    @classmethod
    async def of(cls, dataset: Dataset, passes: Passes, opened: Callable[[], Germane]) -> Results:
        """Runs the passes. `opened` opens an empty store."""
        calls: list[ReplayedCall] = []
        timed: list[Timed] = []
        answered: list[Answered] = []
        requests: list[RequestAnswer] = []
        turns: list[TurnAnswer] = []
        circumstances = Circumstances()
        for conversation in dataset.conversations:
            async with opened() as germane:
                circumstances = await Circumstances.of(germane, passes.asker)
                agent = germane.agent(_AGENT, user=_PERSON if dataset.everyday else None)
                calls += await passes.record_conversation(germane, agent, conversation)
                timed += await passes.time_questions(agent, conversation)
                answered += await passes.ask_questions(agent, conversation)
                requests += await passes.ask_requests(germane, agent, conversation)
                turns += await passes.ask_turns(agent, conversation)
        clocks = [question_clock.name for question_clock in passes.question_clocks]
        answered.sort(key=lambda answer: clocks.index(answer.clock))
        return cls(
            circumstances=circumstances,
            calls=tuple(calls),
            timed=tuple(timed),
            answered=tuple(answered),
            requests=tuple(requests),
            turns=tuple(turns),
        )


# Strategy, embedder, tokenizer and price of an evaluation, as germane itself knows them, and the machine.


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What is known only once a store is open."""

    strategy: str = ""
    embedder: str = ""
    tokenizer: str = ""
    warnings: tuple[str, ...] = ()
    price: Price | None = None
    """None where the price list and the settings have none for the model."""

    @classmethod
    async def of(cls, germane: Germane, asker: Asker) -> Circumstances:
        """Reads them from an assembly for an agent without data."""
        asked = [{"role": "user", "content": "warming up"}]
        context = await germane.agent("nobody").assemble(asked, model=asker.model, deadline=None, strategy=asker.strategy)
        findings = {name: finding for name, finding, _ in (await germane.check()).findings}
        trace = context.trace
        return cls(
            strategy=trace.strategy,
            embedder=findings.get("vectors", ""),
            tokenizer=trace.tokenizer,
            warnings=trace.warnings,
            price=germane.prices.find(asker.model),
        )


def machine() -> str:
    """The system, its processors and the Python version."""
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"
