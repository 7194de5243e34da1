"""Strategy: which sources run, and how candidates are weighed, packed and written. Frozen data, from code or TOML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, isclose
from types import MappingProxyType
from typing import Literal, get_args

from germane.errors import InvalidInput, Phrase, quoted
from germane.types.budget import Effort, price_of_effort
from germane.types.candidate import Sensitivity
from germane.types.checks import (
    check_entries,
    check_flag,
    check_number,
    check_one_of,
    check_some_of,
    check_table,
    check_text,
    check_type,
    check_whole_number,
)
from germane.types.limits import COUNT, LABEL, NAME, NAMES, TAG
from germane.types.query import Intent

Detail = Literal["id", "confidence", "score"]
Form = Literal["log-odds", "linear"]
Packer = Literal["auto", "density", "exact", "rank"]
Placement = Literal["append", "first", "split"]
Shortening = Literal["breadcrumb", "excerpt", "none", "summary"]

HALF_LIVES: Mapping[str, float] = MappingProxyType(
    {"factual": 180.0, "procedural": 120.0, "preference": 45.0, "behavioral": 30.0, "episodic": 14.0, "event": 1.0}
)
"""Days (SCORE-3)."""
_MIN_HALF_LIFE = 1 / 86_400
"""Days, i.e. one second. Dividing an age by a shorter half-life overflows."""
_MAX_DEPTH, _MAX_FAN_OUT = 10, 1000
"""The largest depth and fan-out of a walk through the graph."""
_MAX_PERCENT = 100.0001
"""Percentages that add up to 100, but for rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePlan:
    """One source of a strategy: at most `limit` candidates, within `timeout` seconds (None: as long as gathering lasts)."""

    name: str
    limit: int = 50
    timeout: float | None = None
    keywords: bool = True
    vectors: bool = True
    """Whether a searching source may use keywords, and vectors."""

    def __post_init__(self) -> None:
        check_text("name", self.name, NAME)
        where = f"sources.{self.name}"
        check_whole_number(f"{where}.limit", self.limit, 0, COUNT.maximum)
        if self.timeout is not None and self.timeout != inf:
            check_number(f"{where}.timeout", self.timeout, 0, above=True, unit="seconds")
        check_flag(f"{where}.keywords", self.keywords)
        check_flag(f"{where}.vectors", self.vectors)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The weights of a score's parts (SCORE-1). In the linear form the five sum to 1. In the log-odds form `relevance` is
    unused, and each other weight is by how many log-odds its part moves the score between its lowest and its highest value."""

    relevance: float = 0.40
    recency: float = 0.25
    usefulness: float = 0.20
    confidence: float = 0.10
    frequency: float = 0.05

    def check(self, form: Form) -> None:
        """Raises `InvalidInput` when the weights don't fit the form."""
        values = (self.relevance, self.recency, self.usefulness, self.confidence, self.frequency)
        for name, value in zip(Weights.__slots__, values, strict=True):
            check_number(f"weights.{name}", value, 0, 10)
        if form == "linear" and not isclose(sum(values), 1.0, abs_tol=1e-6):
            raise InvalidInput(f"must sum to 1 in the linear form, not {sum(values):.4f}", path="weights")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """A limit on a group of items; None is no limit, 0 is nothing (BUD-6)."""

    items: int | None = None
    chars: int | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("items", self.items), ("chars", self.chars), ("tokens", self.tokens)):
            if value is not None:
                check_whole_number(name, value, 0, COUNT.maximum)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """How sources and kinds share the budget (BUD-6). `sources` are percentages of the token budget by source; other sources
    may use what one leaves. `kinds` are hard caps by category or kind; `total` caps everything. A kind in `pools` has no cap of
    its own and counts against that of the kind it names; a source in `source_pools` likewise counts against the percentage of
    the source it names. Characters are those of the lines as written, those of `total`
    include the wrapper."""

    sources: Mapping[str, float] = field(default_factory=dict)
    kinds: Mapping[str, Cap] = field(default_factory=dict)
    total: Cap = field(default_factory=Cap)
    pools: Mapping[str, str] = field(default_factory=dict)
    source_pools: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given = check_table("shares.sources", self.sources).items()
        if sum(check_number(f"shares.sources.{name}", share, 0, 100) for name, share in given) > _MAX_PERCENT:
            shown = ", ".join(f"{name}: {quoted(share)}" for name, share in self.sources.items())
            raise InvalidInput("are percentages of at most 100 together, not {}", Phrase(shown), path="shares.sources")
        for kind, cap in check_table("shares.kinds", self.kinds).items():
            check_type(f"shares.kinds.{kind}", cap, Cap, "a Cap")
        check_type("shares.total", self.total, Cap, "a Cap")
        for kind, pool in check_table("shares.pools", self.pools).items():
            if kind in self.kinds or pool not in self.kinds:
                problem = "must have no cap of its own, and name a kind that has one, not {}"
                raise InvalidInput(problem, pool, path=f"shares.pools.{kind}")
        for source, pool in check_table("shares.source_pools", self.source_pools).items():
            if source in self.sources or pool not in self.sources:
                problem = "must have no share of its own, and name a source that has one, not {}"
                raise InvalidInput(problem, pool, path=f"shares.source_pools.{source}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """`form` and `weights` say how parts become a score, `floor` drops what scores below it, `format` is a registered format's
    name, `details` are what it writes of each item besides its text (INJECT-8; not every format can), `cap` bounds what germane
    adds when the caller doesn't (tokens, BUD-5). `packer` is `density` (greedy by log-odds − 0.7 ln(tokens + 2)), `exact` (the
    most probability that fits, PACK-6), `auto` (exact where room is short, else density): these three for the log-odds form
    only where they add up probabilities; or `rank` (greedy in score order)."""

    name: str
    sources: tuple[SourcePlan, ...]
    form: Form = "log-odds"
    weights: Weights = field(default_factory=Weights)
    half_lives: Mapping[str, float] = field(default_factory=lambda: HALF_LIVES)
    floor: float = 0.0005
    packer: Packer = "density"
    shorten: Shortening = "excerpt"
    """What is shown of an item that is too long to go in whole: `excerpt` (what stands around the query's terms, else the
    beginning), `summary` (the same around terms, else the sentences that say most), `breadcrumb` (one line that says what there
    is and how long, to be expanded later), `none` (nothing). What is required is never reduced to less than a summary."""
    format: str = "xml"
    details: tuple[Detail, ...] = ()
    placement: Placement = "first"
    shares: Shares = field(default_factory=Shares)
    cap: int = 8000
    need: float = 0.0
    """The threshold on P(need), below which nothing that was searched for goes in; 0 never holds anything back."""
    clauses: bool = False
    """Whether messages of chats with an assistant are shown clause by clause: those that hold what the request needs."""
    profile: int = 0
    """The tokens that the profile may take: the source `profile` offers its lines; 0 shows none."""
    effort: Effort | float | None = None
    """How readily tokens are spent (`types/budget.py`); None uses the budget up."""
    fact_keys: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    """Facts and tags that the structured source fetches by name, besides what is pinned; they go in as required."""
    sensitivities: tuple[Sensitivity, ...] | None = None
    """What may be shown at most, whatever the request's filters allow; None leaves it to them. Empty allows nothing."""
    depth: int = 2
    fan_out: int = 20
    """Steps, and relations of one entity, that the source `relations` walks from the entities that the query names."""
    entity_types: tuple[str, ...] = ()
    """The types of entities to offer, unless the request's filters name others; empty: all."""
    intents: Mapping[Intent, tuple[str, ...]] = field(default_factory=dict)
    """The event types that matter to an intent, in place of the usual ones (SIG-2)."""
    word_boost: float = 0.0
    day_boost: float = 1.0
    """Linear form only (GRAPH-6): what a search found has its relevance multiplied by 1 + `word_boost` for each of the query's
    words in its text, and by `day_boost` where it is younger than a day; at most 1."""

    def __post_init__(self) -> None:
        check_text("name", self.name, NAME)
        check_text("format", self.format, NAME)
        if not isinstance(self.sources, tuple) or not all(isinstance(plan, SourcePlan) for plan in self.sources):
            raise InvalidInput(f"must be a tuple of SourcePlan, not {type(self.sources).__name__}", path="sources")
        check_type("weights", self.weights, Weights, "a Weights")
        check_type("shares", self.shares, Shares, "a Shares")
        object.__setattr__(self, "fact_keys", check_entries("fact_keys", self.fact_keys, NAMES, LABEL))
        object.__setattr__(self, "tags", check_entries("tags", self.tags, NAMES, TAG))
        object.__setattr__(self, "details", check_entries("details", self.details, NAMES, NAME))
        object.__setattr__(self, "entity_types", check_entries("entity_types", self.entity_types, NAMES, NAME))
        intents = {
            intent: check_entries(f"intents.{intent}", types, NAMES, NAME)
            for intent, types in check_table("intents", self.intents).items()
        }
        check_some_of("intents", intents, get_args(Intent))
        object.__setattr__(self, "intents", intents)
        if self.sensitivities is not None:
            allowed = check_entries("sensitivities", self.sensitivities, NAMES, NAME)
            check_some_of("sensitivities", allowed, get_args(Sensitivity))
            object.__setattr__(self, "sensitivities", allowed)
        check_some_of("details", self.details, get_args(Detail))
        for setting, value, allowed in (
            ("form", self.form, get_args(Form)),
            ("packer", self.packer, get_args(Packer)),
            ("placement", self.placement, get_args(Placement)),
            ("shorten", self.shorten, get_args(Shortening)),
        ):
            check_one_of(setting, value, allowed)
        if self.form == "linear" and self.packer in ("exact", "auto"):
            raise InvalidInput(
                "{} adds up probabilities, which the linear form has none of", self.packer, path="packer", advice="use 'rank'"
            )
        self.weights.check(self.form)
        check_whole_number("depth", self.depth, 0, _MAX_DEPTH)
        check_whole_number("fan_out", self.fan_out, 0, _MAX_FAN_OUT)
        check_number("word_boost", self.word_boost, 0, 1)
        check_number("day_boost", self.day_boost, 1, 10)
        if self.form != "linear" and (self.word_boost, self.day_boost) != (0, 1):
            path = "word_boost" if self.word_boost else "day_boost"
            raise InvalidInput("belongs to the linear form", path=path, advice="leave it out, or use form = 'linear'")
        check_number("floor", self.floor, 0, 1)
        check_whole_number("cap", self.cap, 0, COUNT.maximum)
        check_number("need", self.need, 0, 1)
        if self.effort is not None:
            price_of_effort(self.effort)
        for kind, days in check_table("half_lives", self.half_lives).items():
            known = days if days == inf else check_number(f"half_lives.{kind}", days, 0, above=True, unit="days")
            if known < _MIN_HALF_LIFE:
                raise InvalidInput("is shorter than a second: {} days", days, path=f"half_lives.{kind}")
