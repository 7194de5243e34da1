"""Query: what the task at hand asks for. The stage `read` makes it of the request; stores and sources understand it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta, tzinfo
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, get_args

from germane.clock import zone
from germane.types.candidate import SENSITIVITIES, Sensitivity
from germane.types.checks import check_entries, check_flag, check_moment, check_some_of, check_text
from germane.types.limits import COUNT, ID, IDS, NAME, NAMES, TAG, Limit

_INSTANT = timedelta(microseconds=1)
_LISTS: Mapping[str, tuple[Limit, Limit]] = MappingProxyType(
    dict.fromkeys(("kinds", "event_types", "entity_types", "sensitivities"), (NAMES, NAME))
    | {"tags": (NAMES, TAG), "exclude": (IDS, ID)}
)
"""Filters that are lists: the limit of their entries, and of each entry's characters."""

Intent = Literal["fix", "explain", "question", "action", "other"]
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
else:
    Vector = Any  # the client has filters, but no numpy


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Filters that every source obeys (GATHER-4). None filters nothing; an empty tuple of `sensitivities` allows nothing.

    `since` and `until` are inclusive. `kinds` are memory kinds; `event_types` such as `user_message`.
    """

    since: datetime | None = None
    until: datetime | None = None
    kinds: tuple[str, ...] | None = None
    event_types: tuple[str, ...] | None = None
    entity_types: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    """A candidate needs one of them."""
    sensitivities: tuple[Sensitivity, ...] = ("public", "private")
    exclude: frozenset[str] = frozenset()
    """Ids of germane's, or the caller's own message ids."""
    session: str | None = None
    task: str | None = None
    with_ended: bool = False
    """Includes memories that are superseded or no longer valid. Forgotten ones are gone."""

    def within(self, since: datetime, until: datetime) -> Filters:
        """The filters, narrowed to these moments, both included."""
        latest = since if self.since is None else max(since, self.since)
        return replace(self, since=latest, until=until if self.until is None else min(until, self.until))

    def __post_init__(self) -> None:
        """Lists become tuples. Raises `InvalidInput` naming the filter that can't be used."""
        for name, (maximum, each) in _LISTS.items():
            value = getattr(self, name)
            if value is None and name not in ("sensitivities", "exclude"):
                continue
            found = check_entries(f"filters.{name}", value, maximum, each)
            object.__setattr__(self, name, frozenset(found) if name == "exclude" else found)
        check_some_of("filters.sensitivities", self.sensitivities, get_args(Sensitivity))
        for name in ("since", "until"):
            if (value := getattr(self, name)) is not None:
                check_moment(f"filters.{name}", value)
        for name in ("session", "task"):
            if (value := getattr(self, name)) is not None:
                check_text(f"filters.{name}", value, ID)
        check_flag("filters.with_ended", self.with_ended)


EVERY_SENSITIVITY = Filters(sensitivities=SENSITIVITIES)
"""Allows all levels: for what a scope does with its own."""


@dataclass(frozen=True, slots=True)
class Term:
    """One word of the query. `word` is folded; the index may hold the word under any of `stems`."""

    word: str
    stems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Days:
    """Days that the query names, both ends included, in the scope's zone. `grain` is the unit that the query used."""

    first: date
    last: date
    grain: Literal["day", "week", "month", "year"] = "day"

    def bounds(self, zone: tzinfo) -> tuple[datetime, datetime]:
        """The moments at which the days begin and end, the end excluded: a day may have 23 or 25 hours."""
        return datetime.combine(self.first, time(), zone), datetime.combine(self.last + timedelta(days=1), time(), zone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """Days named by an event ("the night before Grandpa moved in"): those from `first` to `last` days away from its own day;
    with a `weekday` (Monday is 0), the nearest such day among them."""

    event: str
    """The words that name the event."""
    terms: tuple[Term, ...]
    first: int
    last: int
    weekday: int | None = None

    def days(self, on: date) -> Days:
        """The days meant where the event was on this day. Raises `OverflowError` beyond the calendar."""
        first, last = on + timedelta(days=self.first), on + timedelta(days=self.last)
        if self.weekday is None:
            return Days(first=first, last=last)
        if self.last < 0:
            day = last - timedelta(days=(last.weekday() - self.weekday) % 7)
        else:
            day = first + timedelta(days=(self.weekday - first.weekday()) % 7)
        return Days(first=day, last=day)


@dataclass(frozen=True, slots=True, kw_only=True)
class DayAsked:
    """What a request asks of the user's own past, or of the past in general: what was said, done or known then."""

    days: tuple[Days, ...]
    """Past days that it names, none after the day asked on."""
    anchors: tuple[Anchor, ...] = ()
    topic: tuple[Term, ...] = ()
    """The terms that say what is asked about besides the days; none for "what did I say yesterday"."""
    answers: bool = False
    """It asks for what the assistant said."""


Embed = Callable[[Callable[[str], Sequence[str]]], tuple[Vector | None, str | None]]
"""Returns a query's vector, or None, and the embedder's identity. The argument returns the speakers' names that a text may
hold; it is called where they can be read. The work is done once for all searches of a request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """`text` is the question; the other fields were read out of it."""

    text: str
    at: datetime
    """The time asked about, aware, UTC (SCOPE-4)."""
    dated: bool = False
    """The caller gave `at`: what was said later isn't known."""
    terms: tuple[Term, ...] = ()
    """Distinct, in the order of the text, without stop words."""
    phrases: tuple[str, ...] = ()
    """Quoted texts."""
    identifiers: tuple[str, ...] = ()
    """Paths, URLs, symbols and error codes, verbatim."""
    names: tuple[str, ...] = ()
    """Capitalised words, and runs of them, that may name a person or a thing."""
    days: tuple[Days, ...] = ()
    zone: str = "UTC"
    """The time zone that `days` are days of."""
    asked_day: DayAsked | None = None
    """Set where the request asks about a past day or span that it names."""
    intent: Intent = "other"
    event_types: tuple[str, ...] = ()
    borrowed: int = 0
    """How many of `terms`, the last ones, come from the turns before: the question itself says too little."""
    words: int = 0
    """Words of the question, as it came."""
    question: bool = False
    """The question asks something: it ends as a question does, or begins as one."""
    personal: bool = False
    """The question speaks of the user's own affairs, of somebody known, or of what was said before."""
    asks_when: bool = False
    """The question asks for a time: when, how long, what date …"""
    asks_name: bool = False
    """The question asks for a name: who, where, which book …"""
    broad: bool = False
    """The question asks for a summary, an overview or an order of events."""
    filters: Filters = field(default_factory=Filters)
    vector: Vector | None = field(default=None, compare=False, repr=False)
    """Unit length. None before embedding, and where embedding took too long."""
    embed: Embed | None = field(default=None, compare=False, repr=False)
    """Set where the search itself is to make the vector, in its own thread."""
    model: str | None = None
    """The identity of the embedder that made `vector`. Vectors of different embedders are never compared (SEARCH-3)."""
    min_relevance: float = 0.0
    """Estimated P(relevant) below which the caller drops results: of those a search needs to return only the best few."""
    price: float = 0.0
    """What a token must bring, as a share of the relevant items to be expected (AMOUNT-1): results that can't are returned
    `Unread`. 0: all results are read."""
    texts: bool = True
    """Whether the caller needs the texts of what is found: without them a search may return all its results `Unread`."""
    leading: int = COUNT.maximum
    spread: float = 0.0
    """The caller uses no more than the best `leading` results, which it orders anew by at most `spread` log-odds: of those that
    can't be among them a search needs to return none."""

    @property
    def asks(self) -> bool:
        """Whether the request wants something: it asks, or it gives an order."""
        return self.question or self.intent != "other" or self.asked_day is not None

    @property
    def said_by_then(self) -> Filters:
        """The filters for messages, of which those said after a time that was asked about aren't known (GATHER-6)."""
        until = self.filters.until
        if not self.dated or (until is not None and until <= self.at):
            return self.filters
        return replace(self.filters, until=self.at)

    @property
    def only_days(self) -> bool:
        """Whether the request asks for nothing but what was on days that it names: no word of it is worth a search."""
        return self.asked_day is not None and not self.asked_day.topic and not self.asked_day.anchors

    def of_its_days(self, filters: Filters) -> Filters:
        """The filters for what a search finds: of a request that asks for nothing but some days, nothing of other days."""
        if self.asked_day is None or not self.only_days:
            return filters
        bounds = [days.bounds(zone(self.zone)) for days in self.asked_day.days]
        since, until = min(first for first, _ in bounds), max(last for _, last in bounds) - _INSTANT
        return filters.within(since, until)

    @property
    def blank(self) -> bool:
        return not self.terms and not self.identifiers

    @property
    def searchable(self) -> bool:
        """Whether a search can go by anything: words, a vector, or a text to make the vector of."""
        return not self.blank or self.vector is not None or (self.embed is not None and bool(self.text.strip()))
