"""Assembly: what is known so far of one assembly, and the context that comes of it, however far it got."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from germane.catalog.profile import Profile
from germane.clock import Clock
from germane.pipeline.deadline import Deadline
from germane.pipeline.format.layout import Format, RenderedContext
from germane.pipeline.gather.gather import Gathered
from germane.pipeline.inject.inject import inject, untouched
from germane.pipeline.pack.packing import Packing
from germane.ports.tokenizer import Tokenizer
from germane.types.budget import Budget
from germane.types.context import Context, Metadata
from germane.types.request import Request
from germane.types.strategy import Strategy
from germane.types.trace import SourceReport, Trace

__all__ = ["PROPAGATED", "Assembly", "Late", "Outcome", "unanswered"]

PROPAGATED: tuple[type[BaseException], ...] = (KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError)
"""What propagates from an assembly. Everything else is answered, also what isn't an `Exception`: a library that panics."""

_FINE = frozenset({"no_query", "no_session", "no_vector"})
"""Reasons to skip a source that take nothing away."""


class Late(Exception):
    """The answer is due; what has been done so far is no use any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an assembly decided: enough to write the same text into another copy of the request."""

    gathered: Gathered
    available: int
    packing: Packing
    written: RenderedContext


class Assembly:
    """Mutable, of one request, never shared."""

    def __init__(self, request: Request, strategy: Strategy, clock: Clock) -> None:
        self.request, self.strategy = request, strategy
        self.profile: Profile | None = None
        self.tokenizer: Tokenizer | None = None
        self.budget: Budget | None = None
        self.layout: Format | None = None
        self.gathered: Gathered | None = None
        self.outcome: Outcome | None = None
        self.written = RenderedContext(attribution={})
        self.tokens = 0
        self.reason = ""
        self.level = 0
        self.cached = False
        self.directive: str | None = ""
        self._clock = clock
        self._timings: list[tuple[str, float]] = []

    @contextmanager
    def stage(self, name: str, deadline: Deadline) -> Iterator[None]:
        """Times a stage, one that fails too, and raises `Late` after it when the answer is due."""
        began = self._clock.steady()
        try:
            yield
        finally:
            now = self._clock.steady()
            self._timings.append((name, now - began))
        if deadline.missed(now):
            raise Late

    def finish(self, outcome: Outcome, *, cached: bool = False) -> None:
        """All went well, with every source or with some."""
        self.outcome, self.gathered, self.cached = outcome, outcome.gathered, cached
        self.directive = outcome.gathered.directive
        self.written, self.tokens = outcome.written, outcome.packing.tokens
        self.level = 1 if any(map(_missing, outcome.gathered.reports)) else 0

    def directive_only(self, directive: str | None, reason: str) -> None:
        """Without any memory; `directive` is None when it couldn't be had."""
        self.alone(reason)
        self.directive = directive
        if directive is None or self.layout is None or self.budget is None:
            return
        tokens = self.layout.total(directive, ()) if directive else 0
        if tokens <= self.budget.available:
            self.written, self.tokens = self.layout.write(directive, ()) if directive else self.written, tokens
            self.level = 2

    def alone(self, reason: str) -> None:
        """The messages as they came."""
        self.written, self.tokens, self.outcome, self.directive = RenderedContext(attribution={}), 0, None, ""
        self.reason, self.level = reason, 3

    def context(self) -> Context:
        if self.strategy.placement == "split":
            stable, late = self.written.stable, self.written.late
        else:
            stable, late = self.written.text, ""
        try:
            injected = inject(self.request, stable, late, placement=self.strategy.placement)
        except PROPAGATED:
            raise
        except BaseException as error:
            self.alone(f"assembly_error:{type(error).__name__}")
            injected = untouched(self.request)
        return Context(
            provider=self.request.provider,
            messages=injected.messages,
            system=injected.system,
            added=injected.added,
            items=self.written.items,
            metadata=self._metadata(),
            trace=self._trace(),
            convert=injected.convert,
        )

    def _metadata(self) -> Metadata:
        items = self.written.items
        packing = None if self.outcome is None else self.outcome.packing
        used = 0 if self.budget is None else self.budget.messages + self.budget.tools + self.tokens
        window = 1 if self.budget is None else max(1, self.budget.window)
        return Metadata(
            directive_injected=bool(self.written.text) and (self.level == 2 or bool(packing and packing.directive)),
            memories_injected=len(items),
            memories_available=0 if self.outcome is None else self.outcome.available,
            total_tokens_injected=self.tokens,
            context_window_used=100 * used // window,
            was_truncated=bool(packing and packing.was_truncated),
            fallback_reason=self.reason,
            memory_ids=tuple(item.id for item in items),
            degradation_level=self.level,
            sources=() if self.gathered is None else self.gathered.reports,
            timings=tuple(self._timings),
            cached=self.cached,
        )

    def _trace(self) -> Trace:
        packing = None if self.outcome is None else self.outcome.packing
        return Trace(
            strategy=self.strategy.name,
            model=self.request.model,
            tokenizer="" if self.tokenizer is None else self.tokenizer.name,
            query=None if self.gathered is None else replace(self.gathered.query, vector=None),
            budget=self.budget,
            chosen=self.written.items,
            left_out=() if packing is None else packing.left_out,
            gap=None if packing is None else packing.gap,
            sources=() if self.gathered is None else self.gathered.reports,
            timings=tuple(self._timings),
            warnings=tuple(self._warnings(packing)),
        )

    def _warnings(self, packing: Packing | None) -> Iterator[str]:
        if self.profile is not None and not self.profile.known:
            yield (
                f"the catalog has no model {self.request.model!r}: a window of {self.profile.window} tokens is assumed; "
                f"add it to the settings under [models]"
            )
        if packing is not None and packing.directive_left_out:
            yield f"the directive was left out: {packing.directive_left_out}"
        if self.directive is None:
            yield "the directive couldn't be read, and none is known of this scope yet: the answer goes without"
        if self.budget is not None and self.budget.is_constrained and not self.budget.exceeds_window:
            yield f"only {self.budget.available} tokens are left to add anything"


def unanswered(reports: Sequence[SourceReport]) -> str:
    """The reason when no source that offers anything has answered, the store's fault; empty otherwise."""
    asked = [one for one in reports if one.name not in ("directive", "embedding") and one.reason not in _FINE]
    if not all(map(_missing, asked)):
        return ""
    if any(one.status == "timeout" for one in asked):
        return "assembly_timeout"
    for one in asked:
        if one.status == "error":
            return f"assembly_error:{'TypeError' if one.reason == 'garbage' else one.reason}"
    return "assembly_error:BreakerOpen" if any(one.reason in ("breaker", "shed") for one in asked) else ""


def _missing(report: SourceReport) -> bool:
    return report.status != "ok" and report.reason not in _FINE
