"""Assembly start: what an assembly starts from: the caller's request without germane's own text, and what stands in it whatever
fails (INJECT-6, INJECT-10). Raises nothing of its own."""

from __future__ import annotations

from dataclasses import dataclass

from germane.clock import Clock
from germane.pipeline.assembly_state import PROPAGATED, Assembly
from germane.pipeline.format.nonce import nonce
from germane.pipeline.inject.returned import Returned, without_returned
from germane.pipeline.injection_log import InjectionLog
from germane.types.request import Request
from germane.types.strategy import Strategy

__all__ = ["AssemblyStart"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssemblyStart:
    """Begins assemblies. `nonce_key` is that of the store, by which germane's text is known again."""

    clock: Clock
    nonce_key: bytes
    injections: InjectionLog

    def begin(self, request: Request, strategy: Strategy) -> tuple[Assembly, Returned]:
        """An assembly of the request without germane's own text, where the caller sent that back, and what was taken out."""
        returned = Returned(request)
        try:
            if strategy.placement == "append":
                returned = without_returned(request, nonce(self.nonce_key, request.scope))
        except PROPAGATED:
            raise
        except BaseException:
            returned = Returned(request)
        assembly = Assembly(returned.request, strategy, self.clock)
        assembly.binds = strategy.placement == "append" and request.scope.session is not None and request.binds_thinking
        self.replay(assembly, returned)
        return assembly, returned

    def replay(self, assembly: Assembly, returned: Returned) -> None:
        """Notes what stands whatever fails, where the model binds its thinking; anew once the conversation was compacted."""
        if not assembly.binds:
            return
        try:
            assembly.known = self.injections.last_known(assembly.request, returned, self.nonce_key, self.clock.now())
            assembly.shown, assembly.key = returned.stable, self.nonce_key
            assembly.last_directive = self.injections.last_directive(assembly.request.scope)
        except PROPAGATED:
            raise
        except BaseException:
            return
