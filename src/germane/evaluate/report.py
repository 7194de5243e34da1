"""Report: everything that one evaluation found, and under what circumstances."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from germane.evaluate.answered import Answered
from germane.evaluate.dataset import Dropped
from germane.evaluate.figures import Figure
from germane.evaluate.latency import Latency
from germane.evaluate.prefix import Reuse

__all__ = ["Report", "Run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What was measured, with what, when and where. `embedder` is its identity, such as `static/l2_supercat/256`; `relevance`
    names a model that was given, empty where settings or germane's own decide; `resampled` says what the intervals draw:
    conversations or questions; `asked` is how many of the data set's questions were; `tokenizer` says how tokens were counted,
    such as `o200k` or `o200k×1.45 (estimate)`; `warnings` are what germane warns of, such as an unknown model."""

    version: str
    date: datetime
    machine: str
    dataset: str
    format: str
    conversations: int
    messages: int
    questions: int
    asked: int
    dropped: tuple[Dropped, ...]
    strategy: str
    embedder: str
    relevance: str
    model: str
    tokenizer: str
    budgets: tuple[int, ...]
    ks: tuple[int, ...]
    clocks: tuple[str, ...]
    deadline: float | None
    latency_deadline: float
    resampled: str
    seed: int
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """`figures` are the means, `answered` what they are the means of, one for each clock and question; `latency` and `reuse`
    are empty where they weren't measured."""

    run: Run
    figures: tuple[Figure, ...]
    latency: tuple[Latency, ...]
    reuse: Reuse | None
    answered: tuple[Answered, ...]

    def figure(self, metric: str, at: int, *, clock: str | None = None, category: str = "") -> Figure:
        """One of the means; the first clock's where none is named. Raises `KeyError` where it wasn't measured."""
        wanted = (self.run.clocks[0] if clock is None else clock, category, metric, at)
        for figure in self.figures:
            if (figure.clock, figure.category, figure.metric, figure.at) == wanted:
                return figure
        raise KeyError(wanted)

    @property
    def categories(self) -> tuple[str, ...]:
        """Those that were asked, where there are several."""
        found = tuple(sorted({answered.category for answered in self.answered if answered.category}))
        return found if len(found) > 1 else ()

    @property
    def faults(self) -> tuple[Answered, ...]:
        """Answers in which germane fell back: they count as they are, and shouldn't be there."""
        return tuple(answered for answered in self.answered if answered.fault)

    def __repr__(self) -> str:
        run = self.run
        return f"<Report {run.dataset} {run.asked} questions {run.strategy} {run.embedder}>"
