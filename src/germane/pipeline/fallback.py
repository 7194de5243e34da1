"""Fallback: what is answered when an assembly fails or runs out of time: the directive alone, else the messages alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from germane.catalog.catalog import Catalog
from germane.catalog.ceiling import Ceiling, at_most, light
from germane.catalog.measure_budget import measure
from germane.dialects.shaping import shaping
from germane.pipeline.assembly_state import PROPAGATED, Assembly, Measured
from germane.pipeline.directive_cache import DirectiveCache
from germane.pipeline.format.layout import Format
from germane.ports.tokenizer import Tokenizer
from germane.types.request import Request
from germane.types.strategy import Strategy

__all__ = ["FallbackLadder"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackLadder:
    """The last rungs of the ladder (ENGINE-2). No rung does I/O, and none of their faults reaches the caller.

    1. The directive, counted by the model's tokenizer.
    2. The directive, with an upper bound of the tokens in place of a count, in case the tokenizer is what failed.
    3. The messages alone.
    """

    catalog: Catalog
    tokenizer: Callable[[str], Tokenizer]
    directive_cache: DirectiveCache
    layout: Callable[[Request, Strategy, Tokenizer], Format]

    def answer(self, assembly: Assembly, reason: str) -> None:
        """Ends the assembly. `reason` becomes `metadata.fallback_reason`."""
        directive = self._directive(assembly)
        for counted in (True, False):
            if self._directive_only(assembly, directive, reason, counted=counted):
                return
        assembly.messages_only(reason)

    def _directive(self, assembly: Assembly) -> str | None:
        """The directive as this assembly read it, else as it was last known, to all or to this session; None where neither is
        there."""
        if assembly.gathered is not None:
            return None if assembly.gathered.directive is None else assembly.gathered.directive.text
        if not any(plan.name == "directive" and plan.limit > 0 for plan in assembly.strategy.sources):
            return ""
        last = self.directive_cache.last(assembly.request.scope)
        return assembly.last_directive if last is None else last

    def _directive_only(self, assembly: Assembly, directive: str | None, reason: str, *, counted: bool) -> bool:
        """Returns whether this rung answered."""
        try:
            measured = assembly.measured = self._measured(assembly, counted=counted)
            layout = self.layout(assembly.request, assembly.strategy, measured.tokenizer)
            assembly.directive_only(directive, layout, reason)
        except PROPAGATED:
            raise
        except BaseException:
            return False
        return True

    def _measured(self, assembly: Assembly, *, counted: bool) -> Measured:
        """What is known already, else measured now. Only small requests are counted: counting a large one would take too long,
        so it gets an upper bound from its size. Without `counted` no tokenizer is called."""
        if assembly.measured is not None:
            return assembly.measured if counted else assembly.measured._replace(tokenizer=Ceiling())
        request = assembly.request
        profile = self.catalog.find(request.model, like=request.like, window=request.window)
        tokenizer = self.tokenizer(profile.tokenizer) if counted else Ceiling()
        exact = counted and light(request.messages, request.tools)
        extra = shaping(request.messages, profile, tokenizer.count if exact else tokenizer.ceiling)
        size = measure if exact else at_most
        sent = {"shaping": extra, "beside": request.beside}
        budget = size(request.messages, request.tools, profile, tokenizer, assembly.cap, **sent, reserve=request.reserve)
        return Measured(profile, tokenizer, budget)
