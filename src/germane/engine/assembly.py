"""Assembly: what one assembly knows while it runs, and when its answer is due.

`engine.answer` makes the context of an assembly, however far the assembly got.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from germane.clock import Clock
from germane.engine.earlier_injections import NO_EARLIER_TEXTS, EarlierTexts, kept_injection, next_injection
from germane.engine.turns import prefixes
from germane.kinds.injections import PutInjection
from germane.stages.gather.builtin import NOTHING_TO_OFFER
from germane.stages.gather.gather import Gathered
from germane.stages.measure import Measured
from germane.stages.pack.pack import Packing
from germane.stages.write.layout import Format, RenderedContext
from germane.types.budget import Budget, Need, TokenPrice, price_asked, price_of_effort
from germane.types.candidate import Candidate, Scored
from germane.types.reports import HistoryReport
from germane.types.request import Request
from germane.types.strategy import Strategy
from germane.types.trace import SourceReport

_COMPLETE = NOTHING_TO_OFFER | {"no_vector", "unused"}
"""Reasons of what was skipped for which the answer is complete: of a source, and of the query's vector."""
_BESIDE_SOURCES = frozenset({"directive", "embedding", "injections"})
"""Reports that aren't those of sources of candidates."""


class Late(Exception):
    """The answer is due now: the assembly is given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an assembly decided: enough to write the same text into another copy of the request. `gathered` holds no candidates;
    `available` counts those that were above the floor."""

    gathered: Gathered
    available: int
    packing: Packing
    written: RenderedContext
    standing: EarlierTexts = NO_EARLIER_TEXTS
    need: Need | None = None


class Assembly:
    """Mutable. One request, one task."""

    def __init__(self, request: Request, strategy: Strategy, clock: Clock) -> None:
        self.request, self.strategy = request, strategy
        self.measured: Measured | None = None
        self.gathered: Gathered | None = None
        self.outcome: Outcome | None = None
        self.written = RenderedContext(attribution={})
        self.standing = NO_EARLIER_TEXTS
        self.binds = False
        """Whether the texts of earlier calls must stand whatever fails: the model binds its thinking to what stands before it,
        and the session's texts stay with their turns (INJECT-10)."""
        self.key = b""
        """Of the hashes of such texts."""
        self.known = NO_EARLIER_TEXTS
        """What stands in the prompt of a session where the assembly ends early: as it was last known, then as it was read."""
        self.read = False
        """Whether the session's records were read."""
        self.untouched = False
        """Whether no text could be written into the messages at all."""
        self.last_directive: str | None = None
        """The directive that such a session was last sent with; None where it isn't known."""
        self.shown = ""
        """germane's text that the caller's system prompt came with: it stands where the directive can't be had."""
        self.tokens = 0
        self.reason = ""
        self.level = 0
        self.cached = False
        self.hurried = False
        """Whether the items were packed the quick way, or left out because the gate didn't answer in time."""
        self.cut = False
        """Whether searches were for the best few results, as calls waited that would have been late, and found as many."""
        self.directive: str | None = ""
        self.history: HistoryReport | None = None
        self._clock = clock
        self._timings: list[tuple[str, float]] = []

    @property
    def cap(self) -> int:
        """The most tokens that may be added: the request's own limit, else the strategy's."""
        return self.strategy.cap if self.request.max_tokens is None else self.request.max_tokens

    @property
    def price(self) -> float | None:
        """The price of a token (AMOUNT-1): by the call's effort, else by the strategy's where the call gives no budget. None
        where the budget is to be used."""
        if self.request.effort is not None:
            return price_of_effort(self.request.effort)
        if self.request.max_tokens is not None or self.strategy.effort is None:
            return None
        return price_of_effort(self.strategy.effort)

    @property
    def budget(self) -> Budget | None:
        """The tokens of the request and of what may be added; None before they are known."""
        return None if self.measured is None else self.measured.budget

    @property
    def packing(self) -> Packing | None:
        """What was packed; None where the assembly ended before."""
        return None if self.outcome is None else self.outcome.packing

    @property
    def need(self) -> Need | None:
        """P(need); None where it wasn't assessed."""
        return None if self.outcome is None else self.outcome.need

    @property
    def reports(self) -> tuple[SourceReport, ...]:
        """What became of each source; empty where the assembly ended before."""
        return () if self.gathered is None else self.gathered.reports

    @property
    def timings(self) -> tuple[tuple[str, float], ...]:
        """The stages that ended, each with its seconds."""
        return tuple(self._timings)

    @property
    def shallow(self) -> bool:
        """Whether the context may lack what is further down than was searched. Where nothing of the best that was searched for
        goes in, nothing further down would have."""
        chosen = () if self.packing is None else self.packing.chosen
        return self.cut and any(not item.scored.candidate.required for item in chosen)

    def token_price(self, ranked: Sequence[Scored], need: Need, gathered: Gathered, *, divided: bool) -> TokenPrice | None:
        """What a token costs this request, whose candidates must stand in score order; None where the budget is to be used."""
        if self.price is None:
            return None
        if divided:
            return TokenPrice.of_clauses(self.price, ranked, need.probability)
        asked = price_asked(self.price, asks=gathered.query.asks, broad=gathered.query.broad)
        return TokenPrice.of(asked, ranked, need.probability, unread=gathered.unread)

    @contextmanager
    def stage(self, name: str, deadline: Deadline) -> Iterator[None]:
        """Times a stage, also one that fails. Raises `Late` after it when the answer is due."""
        began = self._clock.steady()
        try:
            yield
        finally:
            now = self._clock.steady()
            self._timings.append((name, now - began))
        if deadline.missed(now):
            raise Late

    def finish(self, outcome: Outcome, *, cached: bool = False) -> None:
        """The assembly succeeded: degradation level 0 with every source, 1 with some, or where it was hurried or shallow."""
        self.outcome, self.gathered, self.cached = outcome, outcome.gathered, cached
        self.directive = None if outcome.gathered.directive is None else outcome.gathered.directive.text
        self.written, self.standing = outcome.written, outcome.standing
        self.tokens = outcome.packing.tokens + outcome.standing.tokens
        self.reason = "hurried" if self.hurried else "shallow" if self.shallow else ""
        self.level = 1 if self.reason or any(map(_missing, outcome.gathered.reports)) else 0

    def directive_only(self, directive: str | None, layout: Format, reason: str) -> None:
        """Degradation level 2: no memories. Level 3 where the directive is unknown (None) or doesn't fit."""
        self.messages_only(reason)
        self.directive = directive
        if directive is None or self.measured is None:
            return
        tokens = layout.total(directive, ()) if directive else 0
        if tokens <= (self.cap if self.binds else self.measured.budget.available - self.standing.cost):
            self.written = layout.write(directive, ()) if directive else RenderedContext(attribution={})
            self.tokens, self.level = tokens + self.standing.tokens, 2

    def messages_only(self, reason: str) -> None:
        """Degradation level 3: the messages as the caller sent them, with the texts of earlier calls as far as these are known.
        A model that binds its thinking needs them (INJECT-10), and the provider's cache holds them."""
        self.standing = self.known
        self.written, self.outcome, self.directive = RenderedContext(attribution={}, stable=self.shown), None, ""
        self.tokens = self.standing.tokens
        self.reason, self.level = reason, 3

    def give_up(self, reason: str) -> None:
        """As `messages_only`, where no text can be written into the messages at all."""
        self.known, self.shown, self.untouched = replace(self.known, texts=()), "", True
        self.messages_only(reason)

    def prefixes(self) -> dict[int, str]:
        """A hash of all text of germane's up to each turn, as it stands in this prompt (INJECT-10)."""
        texts = {text.turn: text.text for text in self.standing.texts}
        if self.standing.newest is not None and self.written.late:
            texts[self.standing.newest.index] = self.written.late
        return prefixes(self.standing.turns, self.written.stable, texts, self.key)

    def injection(self, registered: Set[str], now: datetime) -> PutInjection | None:
        """The record of what was injected for the newest turn (INJECT-6), where one is to be kept."""
        session = self.request.scope.session
        if session is None:
            return None
        prefix = ""
        if self.binds and self.standing.newest is not None:
            prefix = self.prefixes()[self.standing.newest.index]
            if self.standing.new is None:
                name = "" if self.measured is None else self.measured.tokenizer.name
                return kept_injection(self.standing, session, prefix=prefix, tokenizer=name, now=now)
        if self.outcome is None or self.measured is None:
            return None
        late, tokenizer = self.written.late, self.measured.tokenizer
        shown = [out.scored.candidate for out in self.outcome.packing.refused if out.reason == "already_shown"]
        return next_injection(
            self.standing,
            session,
            late,
            self.written.items,
            shown,
            tokens=tokenizer.count(late) if late else 0,
            tokenizer=tokenizer.name,
            registered=registered,
            now=now,
            prefix=prefix,
        )


def counts_as_memory(candidate: Candidate) -> bool:
    """Whether the item counts among what was found: blocks and the task stack are shown whatever is stored."""
    return candidate.block is None and candidate.category != "task"


def unanswered(reports: Sequence[SourceReport]) -> str:
    """The fallback reason when every source that was called failed; empty when one has answered, or had nothing to offer."""
    called = [report for report in reports if report.name not in _BESIDE_SOURCES and report.reason not in _COMPLETE]
    if not all(map(_missing, called)):
        return ""
    if any(report.status == "timeout" for report in called):
        return "assembly_timeout"
    for report in called:
        if report.status == "error":
            return f"assembly_error:{'TypeError' if report.reason == 'garbage' else report.reason}"
    return "assembly_error:BreakerOpen" if any(report.reason in ("breaker", "shed") for report in called) else ""


def _missing(report: SourceReport) -> bool:
    return report.status != "ok" and report.reason not in _COMPLETE


# When the answer is due, and when gathering ends before that (ENGINE-2, ENGINE-10, GATHER-2).


MARGIN = 0.008
"""Seconds left for scoring, packing and writing after gathering, by deadlines of 20 to 80 ms."""
_SHORT_MARGIN_SHARE = 0.4
"""The share of a shorter deadline that is left for that."""
_LONG_MARGIN_SHARE, _MAX_MARGIN = 0.1, 0.050
"""The share of a longer deadline, and the most seconds: a source that hangs then costs no more than its own results, also on a
busy machine."""
_CLOSING_SECONDS = 0.002
"""Seconds before the answer is due at which no call is awaited any more: writing the directive alone takes that long."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """Points in time on the steady clock, in seconds. Both are None where the caller set no deadline."""

    answer: float | None
    gathered: float | None

    @classmethod
    def of(cls, began: float, seconds: float | None) -> Deadline:
        """Due `seconds` after `began`. Gathering ends a tenth of the time before, but 8 ms at least and 50 ms at most, and not
        before three fifths of the time."""
        if seconds is None:
            return cls(None, None)
        due = max(0.0, seconds)
        margin = min(_SHORT_MARGIN_SHARE * due, max(MARGIN, min(_MAX_MARGIN, _LONG_MARGIN_SHARE * due)))
        return cls(began + due, began + due - margin)

    def patience(self, now: float) -> float | None:
        """Seconds that a call may take whose answer is still to be written, at least 0; None without a deadline."""
        return None if self.answer is None else max(0.0, self.answer - _CLOSING_SECONDS - now)

    def gathering(self, now: float, share: float) -> float | None:
        """Seconds that are this share of the time left for gathering; None without a deadline."""
        return None if self.gathered is None else max(0.0, self.gathered - now) * share

    def closer(self, now: float, share: float) -> bool:
        """Whether less time is left than this share of the time after gathering."""
        return (
            self.answer is not None and self.gathered is not None and self.answer - now < share * (self.answer - self.gathered)
        )

    def missed(self, now: float) -> bool:
        """Whether the answer is overdue."""
        return self.answer is not None and now > self.answer
