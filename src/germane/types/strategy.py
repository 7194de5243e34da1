"""Strategy: which sources run, and how candidates are weighed, packed and written. Frozen data, from code or TOML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isclose, nan
from types import MappingProxyType
from typing import Any, Literal, get_args

from germane.errors import InvalidInput, Phrase, quoted
from germane.types.budget import Effort, price_of_effort
from germane.types.candidate import Sensitivity
from germane.types.checks import check_entries, check_text
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
_MAX_WHOLE_NUMBER = 10**300
"""Whole numbers beyond this can't become a float."""


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
        check_text("source: name", self.name, NAME)
        _count(f"source {self.name!r}: limit", self.limit)
        if self.timeout is not None and not _number(self.timeout) > 0:
            raise InvalidInput("source {}: timeout must be above 0 seconds, not {}", self.name, self.timeout)
        for name, value in (("keywords", self.keywords), ("vectors", self.vectors)):
            if not isinstance(value, bool):
                raise InvalidInput(f"source {{}}: {name} must be true or false, not {{}}", self.name, value)


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
        if any(not 0 <= _number(value) <= 10 for value in values):
            raise InvalidInput("must lie between 0 and 10, not {}", Phrase(", ".join(map(quoted, values))), path="weights")
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
        shares = [_number(share) for share in _table("shares.sources", self.sources).values()]
        if not all(share >= 0 for share in shares) or sum(shares) > 100.0001:
            given = ", ".join(f"{name}: {quoted(share)}" for name, share in self.sources.items())
            raise InvalidInput("shares of the sources are percentages of at most 100 together, not {}", Phrase(given))
        for kind, cap in _table("shares.kinds", self.kinds).items():
            _is(f"shares.kinds.{kind}", cap, Cap)
        _is("shares.total", self.total, Cap)
        for kind, pool in _table("shares.pools", self.pools).items():
            if kind in self.kinds or pool not in self.kinds:
                raise InvalidInput(
                    f"shares.pools: {kind} must have no cap of its own, and name a kind that has one, not {{}}", pool
                )
        for source, pool in _table("shares.source_pools", self.source_pools).items():
            if source in self.sources or pool not in self.sources:
                raise InvalidInput(
                    f"shares.source_pools: {source} must have no share of its own, and name a source that has one, not {{}}",
                    pool,
                )


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
        _is("weights", self.weights, Weights)
        _is("shares", self.shares, Shares)
        object.__setattr__(self, "fact_keys", check_entries("fact_keys", self.fact_keys, NAMES, LABEL))
        object.__setattr__(self, "tags", check_entries("tags", self.tags, NAMES, TAG))
        object.__setattr__(self, "details", check_entries("details", self.details, NAMES, NAME))
        object.__setattr__(self, "entity_types", check_entries("entity_types", self.entity_types, NAMES, NAME))
        intents = {
            intent: check_entries(f"intents.{intent}", types, NAMES, NAME)
            for intent, types in _table("intents", self.intents).items()
        }
        if unknown := [one for one in intents if one not in get_args(Intent)]:
            raise InvalidInput(f"must be some of {', '.join(get_args(Intent))}, not {{}}", unknown[0], path="intents")
        object.__setattr__(self, "intents", intents)
        if self.sensitivities is not None:
            allowed = check_entries("sensitivities", self.sensitivities, NAMES, NAME)
            if unknown := [one for one in allowed if one not in get_args(Sensitivity)]:
                raise InvalidInput(
                    f"must be some of {', '.join(get_args(Sensitivity))}, not {{}}", unknown[0], path="sensitivities"
                )
            object.__setattr__(self, "sensitivities", allowed)
        if unknown := [one for one in self.details if one not in get_args(Detail)]:
            raise InvalidInput(f"must be some of {', '.join(get_args(Detail))}, not {{}}", unknown[0], path="details")
        for setting, value, allowed in (
            ("form", self.form, get_args(Form)),
            ("packer", self.packer, get_args(Packer)),
            ("placement", self.placement, get_args(Placement)),
            ("shorten", self.shorten, get_args(Shortening)),
        ):
            if value not in allowed:
                raise InvalidInput(f"must be one of {', '.join(allowed)}, not {{}}", value, path=setting)
        if self.form == "linear" and self.packer in ("exact", "auto"):
            raise InvalidInput(
                "packer {} adds up probabilities, which the linear form has none of", self.packer, advice="use 'rank'"
            )
        self.weights.check(self.form)
        for setting, count, most in (("depth", self.depth, _MAX_DEPTH), ("fan_out", self.fan_out, _MAX_FAN_OUT)):
            if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= most:
                raise InvalidInput(f"must be a whole number from 0 to {most:,}, not {{}}", count, path=setting)
        if not 0 <= _number(self.word_boost) <= 1 or not 1 <= _number(self.day_boost) <= 10:
            given = f"{quoted(self.word_boost)} and {quoted(self.day_boost)}"
            raise InvalidInput("word_boost must lie between 0 and 1, and day_boost between 1 and 10, not {}", Phrase(given))
        if self.form != "linear" and (self.word_boost, self.day_boost) != (0, 1):
            raise InvalidInput(
                "word_boost and day_boost belong to the linear form", advice="leave them out, or use form = 'linear'"
            )
        if not 0 <= _number(self.floor) <= 1:
            raise InvalidInput("must lie between 0 and 1, not {}", self.floor, path="floor")
        _count("cap", self.cap)
        if not 0 <= _number(self.need) <= 1:
            raise InvalidInput("must lie between 0 and 1, not {}", self.need, path="need")
        if self.effort is not None:
            price_of_effort(self.effort)
        if not all(_number(days) >= _MIN_HALF_LIFE for days in _table("half_lives", self.half_lives).values()):
            given = ", ".join(f"{kind}: {quoted(days)}" for kind, days in self.half_lives.items())
            raise InvalidInput("half-lives must be above 0 days, a second at least, not {}", Phrase(given))


def _count(setting: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= COUNT.maximum:
        raise InvalidInput(f"must be a whole number, 0 or more, at most {COUNT.maximum:,}, not {{}}", value, path=setting)


def _number(value: object) -> float:
    """The value as a float; NaN, which lies in no range, where it isn't a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return nan
    return float(value) if abs(value) <= _MAX_WHOLE_NUMBER or isinstance(value, float) else nan


def _table(setting: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise InvalidInput(f"must be a table of names, not {type(value).__name__}", path=setting)
    return value


def _is(setting: str, value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise InvalidInput(f"must be a {kind.__name__}, not {type(value).__name__}", path=setting)
