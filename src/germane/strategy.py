"""Strategy: which sources run, how they are weighed, packed and written. Frozen data, from code or TOML; no behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isclose, nan
from types import MappingProxyType
from typing import Literal, get_args

from germane.errors import InvalidInput

__all__ = ["HALF_LIVES", "Cap", "Form", "Packer", "Placement", "Shares", "SourcePlan", "Strategy", "Weights"]

Form = Literal["log-odds", "linear"]
Packer = Literal["auto", "density", "exact", "rank"]
Placement = Literal["first", "split"]

HALF_LIVES: Mapping[str, float] = MappingProxyType(
    {"factual": 180.0, "procedural": 120.0, "preference": 45.0, "behavioral": 30.0, "episodic": 14.0, "event": 1.0}
)
"""Days (SCORE-3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePlan:
    """One source's part: at most `limit` candidates, within `timeout` seconds (None: as long as gathering lasts)."""

    name: str
    limit: int = 50
    timeout: float | None = None
    keywords: bool = True
    vectors: bool = True
    """What a searching source may use."""

    def __post_init__(self) -> None:
        _count(f"source {self.name!r}: limit", self.limit)
        if self.timeout is not None and not _number(self.timeout) > 0:
            raise InvalidInput(f"source {self.name!r}: timeout must be above 0 seconds, not {self.timeout!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """SCORE-1. In the linear form the five sum to 1. In the log-odds form `relevance` is unused and the others are how
    many log-odds the part moves the score between its lowest and its highest value."""

    relevance: float = 0.40
    recency: float = 0.25
    usefulness: float = 0.20
    confidence: float = 0.10
    frequency: float = 0.05

    def check(self, form: Form) -> None:
        """Raises `InvalidInput` when the weights don't fit the form."""
        values = (self.relevance, self.recency, self.usefulness, self.confidence, self.frequency)
        if any(not 0 <= _number(value) <= 10 for value in values):
            raise InvalidInput(f"weights must lie between 0 and 10: {self}")
        if form == "linear" and not isclose(sum(values), 1.0, abs_tol=1e-6):
            raise InvalidInput(f"weights of the linear form must sum to 1, not {sum(values):.4f}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """A limit on a group of items; None is no limit, 0 is nothing (BUD-6)."""

    items: int | None = None
    chars: int | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("items", self.items), ("chars", self.chars), ("tokens", self.tokens)):
            if value is not None:
                _count(f"cap {name}", value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """How the budget is shared out (BUD-6). `sources` are percentages of the token budget by source; what one leaves unused
    is offered to the others. `kinds` are hard caps by category or kind; `total` caps everything."""

    sources: Mapping[str, float] = field(default_factory=dict)
    kinds: Mapping[str, Cap] = field(default_factory=dict)
    total: Cap = field(default_factory=Cap)

    def __post_init__(self) -> None:
        shares = [_number(share) for share in self.sources.values()]
        if not all(share >= 0 for share in shares) or sum(shares) > 100.0001:
            raise InvalidInput(f"shares of the sources are percentages of at most 100 together: {dict(self.sources)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """`form` and `weights` say how parts become a score, `floor` drops what scores below it, `format` is a registered format's
    name, `cap` bounds what germane adds when the caller doesn't (tokens, BUD-5). `packer` is `density` (greedy by log-odds
    − 0.7 ln(tokens + 2)), `exact` (the most probability that fits, PACK-6), `auto` (exact where room is short, else density):
    these three for the log-odds form only where they add up probabilities; or `rank` (greedy in score order)."""

    name: str
    sources: tuple[SourcePlan, ...]
    form: Form = "log-odds"
    weights: Weights = field(default_factory=Weights)
    half_lives: Mapping[str, float] = field(default_factory=lambda: HALF_LIVES)
    floor: float = 0.0005
    packer: Packer = "density"
    format: str = "xml"
    placement: Placement = "first"
    shares: Shares = field(default_factory=Shares)
    cap: int = 8000
    fact_keys: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    """Facts and tags that the structured source fetches by name, besides what is pinned; they go in as required."""

    def __post_init__(self) -> None:
        for setting, value, allowed in (
            ("form", self.form, get_args(Form)),
            ("packer", self.packer, get_args(Packer)),
            ("placement", self.placement, get_args(Placement)),
        ):
            if value not in allowed:
                raise InvalidInput(f"{setting} must be one of {', '.join(allowed)}, not {value!r}")
        if self.form == "linear" and self.packer in ("exact", "auto"):
            raise InvalidInput(f"packer {self.packer!r} adds up probabilities, which the linear form has none of: use 'rank'")
        self.weights.check(self.form)
        if not 0 <= _number(self.floor) <= 1:
            raise InvalidInput(f"floor must lie between 0 and 1, not {self.floor!r}")
        _count("cap", self.cap)
        if not all(_number(days) > 0 for days in self.half_lives.values()):
            raise InvalidInput(f"half-lives must be above 0 days: {dict(self.half_lives)}")


def _count(setting: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidInput(f"{setting} must be a whole number, 0 or more, not {value!r}")


def _number(value: object) -> float:
    """NaN for what is none, which lies in no range."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else nan
