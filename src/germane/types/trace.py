"""Trace: what happened during one assembly, for people and programs. Holds every candidate, in or out (ENGINE-5)."""

from __future__ import annotations

from dataclasses import dataclass, field

from germane.types.amount import Cut, Need
from germane.types.budget import Budget
from germane.types.candidate import Chosen, LeftOut
from germane.types.earlier import EarlierInjection
from germane.types.metadata import SourceReport, Status
from germane.types.query import Query
from germane.types.unread import Unread

__all__ = ["SourceReport", "Status", "Trace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """`timings` are seconds by stage; `warnings` are sentences for a person, such as an unknown model's; `gap` is how much more
    expected relevant items another packing could show at most, None where nobody asked (PACK-6); `cut` says what a token had to
    bring and which item came nearest, None where the budget was to be used (AMOUNT-2)."""

    strategy: str
    model: str
    tokenizer: str
    query: Query | None = None
    budget: Budget | None = None
    chosen: tuple[Chosen, ...] = ()
    gap: float | None = None
    need: Need | None = None
    cut: Cut | None = None
    left_out: tuple[LeftOut, ...] = ()
    unread: tuple[Unread, ...] = ()
    """What the searches found and nobody read, as it couldn't be worth its tokens; the most probable first."""
    sources: tuple[SourceReport, ...] = ()
    timings: tuple[tuple[str, float], ...] = ()
    warnings: tuple[str, ...] = field(default=())
    earlier: tuple[EarlierInjection, ...] = ()
    """Texts that stand in the prompt since earlier calls, by turn."""
