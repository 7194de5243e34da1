"""Report: the result of one evaluation, with the circumstances of the run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from germane.evaluate.amount import Amount
from germane.evaluate.answered import Answered
from germane.evaluate.cost import Cost
from germane.evaluate.dataset import Dropped
from germane.evaluate.everyday.request_figures import RequestFigure
from germane.evaluate.everyday.talk import OPEN, RequestAnswer
from germane.evaluate.figures import Figure
from germane.evaluate.latency import Latency
from germane.evaluate.need.turn_figures import TurnAnswer, TurnFigure
from germane.evaluate.prefix import Reuse

__all__ = ["Report", "Run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The circumstances of one evaluation: data, options, versions and machine."""

    version: str
    """Of germane."""
    date: datetime
    machine: str
    dataset: str
    format: str
    conversations: int
    messages: int
    questions: int
    """Questions in the data set."""
    asked: int
    """Questions that were asked of them."""
    dropped: tuple[Dropped, ...]
    strategy: str
    embedder: str
    """Its identity, such as `static/l2_supercat/256`."""
    relevance: str
    """The relevance model that was given; empty where the settings or germane's default decide."""
    model: str
    tokenizer: str
    """How tokens were counted, such as `o200k` or `o200k×1.45 (estimate)`."""
    budgets: tuple[int, ...]
    """Tokens."""
    ks: tuple[int, ...]
    clocks: tuple[str, ...]
    deadline: float | None
    """Seconds for each answer; None waits for every source."""
    latency_deadline: float
    """Seconds for each answer of the latency pass."""
    resampled: str
    """What the intervals draw: `conversations` or `questions`."""
    seed: int
    warnings: tuple[str, ...]
    """Germane's warnings, such as one about an unknown model."""
    talk: int | None = None
    """Requests that share a conversation, in everyday data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of one evaluation."""

    run: Run
    figures: tuple[Figure, ...]
    """The mean of each metric."""
    latency: tuple[Latency, ...]
    """Empty where latency wasn't measured."""
    reuse: Reuse | None
    """None where prefix reuse wasn't measured."""
    answered: tuple[Answered, ...]
    """The single results behind the means, one for each clock and question; empty for everyday data."""
    amounts: tuple[Amount, ...] = ()
    """What is added without a budget, for each effort and category."""
    requests: tuple[RequestFigure, ...] = ()
    """What a person's requests are shown, without a budget and within each; empty for other than everyday data."""
    asked_requests: tuple[RequestAnswer, ...] = ()
    """The single results behind `requests`."""
    turns: tuple[TurnFigure, ...] = ()
    """What is added to turns that need no memory; empty where none were asked."""
    asked_turns: tuple[TurnAnswer, ...] = ()
    """The single results behind `turns`."""
    cost: Cost | None = None
    """None where prefix reuse wasn't measured or no price is known."""

    def figure(self, metric: str, at: int, *, clock: str | None = None, category: str = "") -> Figure:
        """The mean of `metric` at a budget or k; by default at the first clock and over all categories. Raises `KeyError`
        where it wasn't measured."""
        wanted = (self.run.clocks[0] if clock is None else clock, category, metric, at)
        for figure in self.figures:
            if (figure.clock, figure.category, figure.metric, figure.at) == wanted:
                return figure
        raise KeyError(wanted)

    def amount(self, effort: str = "", *, category: str = "") -> Amount:
        """What is added without a budget, by default with the strategy's own effort and over all categories. Raises `KeyError`
        where it wasn't measured."""
        for amount in self.amounts:
            if (amount.effort, amount.category) == (effort, category):
                return amount
        raise KeyError((effort, category))

    def request(self, category: str = "", *, budget: int = OPEN) -> RequestFigure | None:
        """What requests of a category are shown, by default all of them, without a budget; None where that wasn't measured."""
        wanted = ("category" if category else "all", category, budget)
        return next((figure for figure in self.requests if (figure.by, figure.name, figure.budget) == wanted), None)

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories of the questions, sorted; empty where there is only one."""
        found = tuple(sorted({answered.category for answered in self.answered if answered.category}))
        return found if len(found) > 1 else ()

    @property
    def faults(self) -> tuple[Answered, ...]:
        """Answers for which germane fell back. They count in the means like all others."""
        return tuple(answered for answered in self.answered if answered.fault)

    def __repr__(self) -> str:
        run = self.run
        return f"<Report {run.dataset} {run.asked} questions {run.strategy} {run.embedder}>"
