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
        for measured in (self._counted, self._bounded):
            if self._directive_only(assembly, directive, reason, measured):
                return
        assembly.messages_only(reason)

    def _directive(self, assembly: Assembly) -> str | None:
        """The directive as this assembly read it, else as it was last known; None where neither is there."""
        if assembly.gathered is not None:
            return assembly.gathered.directive
        if not any(plan.name == "directive" and plan.limit > 0 for plan in assembly.strategy.sources):
            return ""
        return self.directive_cache.last(assembly.request.scope)

    def _directive_only(
        self, assembly: Assembly, directive: str | None, reason: str, measured: Callable[[Assembly], Measured]
    ) -> bool:
        """Returns whether this rung answered."""
        try:
            sizes = assembly.measured = measured(assembly)
            assembly.directive_only(directive, self.layout(assembly.request, assembly.strategy, sizes.tokenizer), reason)
        except PROPAGATED:
            raise
        except BaseException:
            return False
        return True

    def _counted(self, assembly: Assembly) -> Measured:
        """Counts what is small; what is large gets an upper bound from its size, as counting it would take too long."""
        if assembly.measured is not None:
            return assembly.measured
        request = assembly.request
        profile = self.catalog.find(request.model)
        tokenizer = self.tokenizer(profile.tokenizer)
        exact = light(request.messages, request.tools)
        extra = shaping(request.messages, profile, tokenizer.count if exact else tokenizer.ceiling)
        size = measure if exact else at_most
        budget = size(request.messages, request.tools, profile, tokenizer, assembly.cap, shaping=extra)
        return Measured(profile, tokenizer, budget)

    def _bounded(self, assembly: Assembly) -> Measured:
        """Calls no tokenizer."""
        request, tokenizer = assembly.request, Ceiling()
        if assembly.measured is not None:
            return assembly.measured._replace(tokenizer=tokenizer)
        profile = self.catalog.find(request.model)
        extra = shaping(request.messages, profile, tokenizer.ceiling)
        budget = at_most(request.messages, request.tools, profile, tokenizer, assembly.cap, shaping=extra)
        return Measured(profile, tokenizer, budget)
