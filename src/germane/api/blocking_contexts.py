"""Blocking contexts: the blocking twin of `api/agent_contexts.py`, part of the `Agent` of `germane.sync`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from germane.api.blocking_rooms import BlockingRooms

if TYPE_CHECKING:
    from germane.events.event import Event
    from germane.types.built_context import BuiltContext
    from germane.types.compressed_text import CompressedText, TokenCount
    from germane.types.context import Context
    from germane.types.query import Filters
    from germane.types.strategy import Strategy

__all__ = ["BlockingContexts"]


class BlockingContexts(BlockingRooms):
    """As `germane.api.agent_contexts.AgentContexts`."""

    def build(
        self,
        query: str,
        *,
        session: str | None = None,
        max_tokens: int,
        strategy: str | Strategy | Mapping[str, Any] | None = None,
        additional_context: str | None = None,
        filters: Filters | None = None,
        model: str = "gpt-4o",
        at: datetime | None = None,
        deadline: float | None = 0.25,
    ) -> BuiltContext:
        return self._loop.call(
            self._awaited.build,
            query,
            session=session,
            max_tokens=max_tokens,
            strategy=strategy,
            additional_context=additional_context,
            filters=filters,
            model=model,
            at=at,
            deadline=deadline,
        )

    def update_context(self, built: BuiltContext, event: Event | str) -> BuiltContext:
        return self._loop.call(self._awaited.update_context, built, event)

    def expand(self, name: str, context: Context | BuiltContext | None = None) -> str:
        return self._loop.call(self._awaited.expand, name, context)

    def estimate_tokens(self, content: str, *, model: str = "gpt-4o") -> TokenCount:
        return self._loop.call(self._awaited.estimate_tokens, content, model=model)

    def compress(
        self,
        content: str,
        max_tokens: int,
        *,
        model: str = "gpt-4o",
        query: str | None = None,
        use_llm: bool | None = None,
    ) -> CompressedText:
        return self._loop.call(self._awaited.compress, content, max_tokens, model=model, query=query, use_llm=use_llm)
