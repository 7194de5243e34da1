"""TurnFigure: what is added to turns that need no memory: how many of them get items, and how many tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from germane.evaluate.interval import intervals, resampling_groups
from germane.evaluate.need.turns import TurnWithoutNeed, turns
from germane.evaluate.sample import spread_evenly

__all__ = ["TurnAnswer", "TurnFigure", "turn_figures", "turns_by_conversation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnAnswer:
    """What one assembly added to a turn without need, asked in the store of one conversation."""

    id: int
    """Of the turn."""
    language: str
    kind: str
    conversation: str
    tokens: int
    """Tokens of all the added text but what always stands, wrapper and directive included. Where nothing else is added, the
    wrapper belongs to what always stands, and this is 0."""
    items: int
    """Number of items that were searched for: without the directive, and without what is pinned, required or always stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFigure:
    """Means over `count` turns without need: all of them, or those of one kind or one language."""

    by: Literal["all", "kind", "language"]
    name: str
    """The kind or the language; empty for all turns."""
    count: int
    tokens: float
    """Mean number of added tokens."""
    share: float
    """The share of the turns that got any item, [0, 1]. `low` and `high` bound the middle 95 % of its resampled means, and are
    None for fewer than five turns."""
    low: float | None
    high: float | None


def turns_by_conversation(names: Sequence[str], limit: int | None = None) -> dict[str, list[TurnWithoutNeed]]:
    """At most `limit` turns of the half `report`, evenly picked: of n conversations, turn i goes to conversation i mod n."""
    asked = turns("report") if limit is None else spread_evenly(turns("report"), limit)
    return {name: list(asked[index :: len(names)]) for index, name in enumerate(names)}


def turn_figures(answers: Sequence[TurnAnswer], seed: int = 0) -> tuple[TurnFigure, ...]:
    """The figures of all turns, then of each kind and of each language, the worst first. Empty without answers."""
    if not answers:
        return ()
    by_kind: dict[str, list[TurnAnswer]] = {}
    by_language: dict[str, list[TurnAnswer]] = {}
    for answer in answers:
        by_kind.setdefault(answer.kind, []).append(answer)
        by_language.setdefault(answer.language, []).append(answer)
    kinds = [_figure("kind", name, alike, seed) for name, alike in by_kind.items()]
    languages = [_figure("language", name, alike, seed) for name, alike in by_language.items()]
    return (_figure("all", "", answers, seed), *sorted(kinds, key=_worst), *sorted(languages, key=_worst))


def _figure(by: Literal["all", "kind", "language"], name: str, answers: Sequence[TurnAnswer], seed: int) -> TurnFigure:
    rows = [(one.tokens, one.items > 0) for one in answers]
    drawn = resampling_groups([""] * len(rows), whole=False)
    tokens, share = intervals(np.array(rows, dtype=np.float64), drawn, seed)
    return TurnFigure(by=by, name=name, count=share.count, tokens=tokens.mean, share=share.mean, low=share.low, high=share.high)


def _worst(figure: TurnFigure) -> tuple[float, float, str]:
    return (-figure.share, -figure.tokens, figure.name)
