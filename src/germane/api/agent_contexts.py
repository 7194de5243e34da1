"""Agent contexts: the verbs of one scope for contexts as one text: build, update, expand, compress, estimate (ENGINE-9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from germane.api.agent_contents import AgentContents
from germane.api.arguments import flags, named_model, number, optional
from germane.errors import InvalidInput
from germane.events.event import Event
from germane.ports.tokenizer import Tokenizer
from germane.text.analyse import query_terms
from germane.types.context import Context
from germane.types.limits import CHARACTERS, COUNT, ID, QUERY, shown
from germane.types.limits import text as string
from germane.types.query import Filters
from germane.types.strategy import Strategy

if TYPE_CHECKING:
    from germane.types.built_context import BuiltContext
    from germane.types.compressed_text import CompressedText, TokenCount

__all__ = ["AgentContexts"]


class AgentContexts(AgentContents):
    """The part of `Agent` that gives a context as one text, and makes texts shorter. Each verb imports its work when it is
    called."""

    async def build(
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
        """Returns what is known for `query` as one text of at most `max_tokens` tokens of `model`, with the components that it
        is made of, for a prompt that you write yourself. The pipeline is that of `assemble`, without messages.

        `strategy` is a name, a `Strategy`, or a table of the settings to change, merged deeply:
        `{"weights": {"recency": 0.5}}`, with `like` for the strategy that they change. A directive and memory blocks aren't
        part of it. `additional_context` counts in the budget and stands in a section of its own, written as data.

        Raises `InvalidInput` for arguments that can't be used, and nothing else: a fault gives less context, and
        `metadata.fallback_reason` says why.
        """
        from germane.api.context_build import build_context

        return await build_context(
            self._parts,
            self.scope.within(session),
            query,
            max_tokens=number("max_tokens", max_tokens, maximum=COUNT.maximum),
            strategy=strategy,
            additional=additional_context,
            filters=filters,
            model=model,
            at=at,
            deadline=deadline,
        )

    async def update_context(self, built: BuiltContext, event: Event | str) -> BuiltContext:
        """Returns `built` with one more recorded event, given as such or by its id, first among its components and in the
        text at its place in time. No search is made. What shows the same thing goes, then what scores lowest, until the text as
        written is within the budget of `built`; an event that is larger than that is shortened, and where that is impossible,
        `note` says so. What may not be shown any more is left out. The same update again changes nothing.

        Raises `NotFound` for an event that isn't stored here, and `InvalidInput`, also for a context of another scope."""
        from germane.api.context_update import update_context
        from germane.types.built_context import BuiltContext

        if not isinstance(built, BuiltContext):
            raise InvalidInput(f"update_context takes what build returned, not {shown(built)}")
        if replace(built.scope, session=None) != replace(self.scope, session=None):
            raise InvalidInput("this context was built for another org, agent or user: build it with this agent")
        id = event.id if isinstance(event, Event) else event
        return await update_context(self._parts, built, string("event", id, ID))

    async def expand(self, name: str, context: Context | BuiltContext | None = None) -> str:
        """Returns the whole text of something that was shown in part or as a breadcrumb. `name` is its handle in `context`,
        that of an artifact that a task's line names (`m3.1`), or an id as in `find`. What has been forgotten since, or may not
        be shown, isn't there. Raises `NotFound`, `InvalidInput`."""
        from germane.api.expand import expanded

        return (await expanded(self._parts, self.scope, string("name", name, ID), context)).text

    async def estimate_tokens(self, content: str, *, model: str = "gpt-4o") -> TokenCount:
        """Returns the tokens of `content` for `model`: exact where the model's vocabulary is installed, else an upper estimate.
        Raises `InvalidInput`."""
        from germane.api.compressing import token_count

        return await token_count(string("content", content, CHARACTERS, valid=False), self._tokenizer(model))

    async def compress(
        self,
        content: str,
        max_tokens: int,
        *,
        model: str = "gpt-4o",
        query: str | None = None,
        use_llm: bool | None = None,
    ) -> CompressedText:
        """Returns `content` within `max_tokens` tokens of `model`, never longer than it was: as it is where it fits, else
        shortened by the language model of this `Germane` (default: where one is configured), else the sentences that say most,
        those about `query` first, with `…` where something was left out. Where the language model fails or writes too much, its
        answer isn't used, and `note` says so. Raises `InvalidInput`, also for `use_llm=True` without a language model."""
        from germane.api.compressing import compressed

        string("content", content, CHARACTERS)
        number("max_tokens", max_tokens, maximum=COUNT.maximum)
        optional("query", query, QUERY)
        worker = self._parts.extraction_worker
        if use_llm is not None:
            flags(use_llm=use_llm)
        if use_llm and worker is None:
            raise InvalidInput("use_llm: no language model is configured: open with Germane.open(…, llm=…), or leave it out")
        return await compressed(
            content,
            max_tokens,
            self._tokenizer(model),
            terms=[] if query is None else [term.word for term in query_terms(query)],
            query=query or "",
            llm=None if worker is None or use_llm is False else worker.llm,
        )

    def _tokenizer(self, model: str) -> Tokenizer:
        engine = self._parts.engine
        return engine.tokenizer(engine.catalog.find(named_model(model)).tokenizer)
