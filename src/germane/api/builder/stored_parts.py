"""Stored parts: what a build reads of the store before anything is packed: the blocks of the scope and the directive."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from germane.api.builder.builder import BuildPlan
from germane.api.wiring import Parts
from germane.engine.breakers import Guard, breaker_key
from germane.errors import PROPAGATED, InvalidInput
from germane.kinds.blocks.field import label_key
from germane.kinds.blocks.reads import blocks_to_show
from germane.kinds.blocks.value import prompt_text
from germane.kinds.memories.directive import CurrentDirective
from germane.stores.contract import ScopedStore
from germane.types.candidate import BlockText
from germane.types.request import Request
from germane.types.strategy import Strategy

_READING_SHARE = 0.4
"""The share of the time that reading blocks and an unknown directive may take."""


class StandingParts(NamedTuple):
    """What was read: blocks, the references of the running exchange, and the directive."""

    blocks: Sequence[BlockText]
    references: Sequence[str]
    directive: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingReader:
    """Reads for one build, which `began` on the steady clock (seconds). Why something couldn't be read goes to `faults`."""

    parts: Parts
    plan: BuildPlan
    request: Request
    strategy: Strategy
    began: float
    faults: list[str]

    async def read(self) -> StandingParts:
        """Blocks, the references of the running exchange, and the directive; without what can't be read in time. Neither waits
        for the other: a source of blocks that hangs mustn't cost the directive."""
        plan, request, engine = self.plan, self.request, self.parts.engine
        references = self.parts.batch_references.of(request.scope, request.messages, engine.nonce_key, plan.references)
        blocks, directive = await asyncio.gather(self._blocks(references), self._directive())
        return StandingParts(blocks, references, directive)

    async def _blocks(self, references: Sequence[str]) -> Sequence[BlockText]:
        source = self._stored_blocks() if self.plan.blocks is None else self.plan.blocks
        if source is None or isinstance(source, tuple):
            return source or ()
        found: Sequence[Any] = await self._guarded("blocks", lambda: source.blocks_for_prompt(references), (list, tuple)) or ()
        if any(not isinstance(block, BlockText) for block in found):
            self.faults.append("blocks: TypeError")
            return ()
        return found

    def _stored_blocks(self) -> StoredBlocks | None:
        """The agent's own source; None where the strategy shows no blocks, or the request nothing that is private."""
        request = self.request
        if "private" not in request.filters.sensitivities or not any(each.name == "blocks" for each in self.strategy.sources):
            return None
        return StoredBlocks(self.parts.store.within(request.scope), schemas=self.plan.schemas)

    async def _directive(self) -> str:
        """The directive as last known, else as read: its tokens are kept free before the blocks take any."""
        scope, cache = self.request.scope, self.parts.engine.directive_cache
        if not any(each.name == "directive" and each.limit > 0 for each in self.strategy.sources):
            return ""
        if not cache.knows(scope):
            store = self.parts.store.within(scope)
            await self._guarded("directive", lambda: cache.read(scope, partial(store.ask, CurrentDirective())), tuple)
        return cache.last(scope) or ""

    async def _guarded(self, name: str, start: Callable[[], Coroutine[Any, Any, Any]], kind: Any) -> Any:
        """The result of a call within its share of the time; None where it fails, and the reason is noted."""
        engine, clock, deadline = self.parts.engine, self.parts.clock, self.plan.deadline
        guard = Guard(
            clock=clock,
            breakers=engine.breakers,
            abandoned=engine.abandoned,
            key=breaker_key(self.request.scope),
            force=deadline is None,
        )
        ends = None if deadline is None else self.began + deadline * _READING_SHARE
        patience = None if ends is None else max(0.001, ends - clock.steady())
        try:
            return await guard.call(name, start, kind, patience=patience)
        except PROPAGATED:
            raise
        except BaseException as error:
            self.faults.append(f"{name}: {type(error).__name__}")
            return None


# The blocks of a scope as a builder reads them: its own and those shared with it.


@dataclass(frozen=True, slots=True)
class StoredBlocks:
    """Implements `PromptBlocks` over the store. With `schemas`, each block has its schema."""

    store: ScopedStore
    schemas: bool = False

    async def blocks_for_prompt(self, references: Sequence[str]) -> Sequence[BlockText]:
        """Returns the core blocks, the pinned working blocks, and those that `references` name; what names none is skipped."""
        found = await blocks_to_show(self.store, _keys(references))
        return [prompt_text(block, schema=self.schemas) for block in found]


def _keys(references: Sequence[str]) -> list[str]:
    keys = list[str]()
    for reference in references:
        with suppress(InvalidInput):
            keys.append(label_key(reference))
    return keys
