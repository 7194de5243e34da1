"""Block room: what the blocks of one process share: open documents, listeners, and the consolidation after many edits."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, TypeVar, cast

from germane.api.block_feed import BlockFeed
from germane.blocks.cache import DocumentCache
from germane.blocks.consent_request import ConsentRequest
from germane.errors import ConsentNeeded, GermaneError, StoreCorrupt
from germane.pipeline.background import Background
from germane.ports.batch_writer import BatchWriter
from germane.store import Store
from germane.types.plan import Plan
from germane.types.scope import Scope

if TYPE_CHECKING:
    from germane.blocks.revise import Edited

__all__ = ["BlockRoom", "agreed"]

T = TypeVar("T")
_LOG = logging.getLogger("germane.blocks")
_MAX_WAITING = 10_000
"""Blocks that wait for their consolidation; of further ones the next edit asks again."""


class BlockRoom:
    """Commits plans about blocks, and does what follows from them. Belongs to one event loop."""

    def __init__(self, store: Store, background: Background) -> None:
        self._store, self._background = store, background
        self.documents = DocumentCache()
        self.feed = BlockFeed(store)
        self._consolidation: BatchWriter[tuple[Scope, str]] = BatchWriter(self._consolidate, max_waiting=_MAX_WAITING)

    async def commit(self, scope: Scope, plan: Plan[Edited] | Plan[Edited | ConsentRequest]) -> Edited:
        """Commits a plan that edits a block, and returns what came of it. Raises `ConsentNeeded` where somebody has to agree
        first, and what the plan raises."""
        try:
            outcome: Edited | ConsentRequest = await self._store.within(scope).journal.commit(cast("Plan[Any]", plan))
            edited = agreed(outcome)
        except StoreCorrupt as error:
            _LOG.error("%s", error)
            raise
        block = edited.block
        if edited.document is not None:
            self.documents.put(block.id, block.version, edited.document, edited.size)
        if edited.rebuilt:
            _LOG.warning("block %s: its snapshot was damaged, and is made anew from its changes; nothing is lost", block.id)
        if edited.due:
            self._consolidation.add([(Scope(org=scope.org, agent=block.agent, user=block.user), block.id)])
        if edited.version is not None:
            await self.feed.committed(scope, block)
        return edited

    async def commit_all(self, scope: Scope, plan: Plan[tuple[Edited, ...] | ConsentRequest]) -> tuple[Edited, ...]:
        """Commits a plan that changes several blocks but not their content, and returns what came of it. Raises as `commit`."""
        edits = agreed(await self._store.within(scope).journal.commit(plan))
        for edited in edits:
            await self.feed.committed(scope, edited.block)
        return edits

    async def consolidate(self) -> None:
        """Consolidates the blocks that wait for it, now. Raises nothing of the store's."""
        await self._consolidation.flush()

    async def close(self) -> None:
        """Consolidates what waits; gives up after five seconds. Idempotent."""
        await self._consolidation.close()

    async def _consolidate(self, batch: list[tuple[Scope, str]]) -> None:
        from germane.blocks.consolidate import consolidate_block

        for scope, id in dict.fromkeys(batch):
            try:
                async with self._background.step():
                    await self._store.within(scope).journal.commit(consolidate_block(id))
            except StoreCorrupt as error:
                _LOG.error("%s", error)
            except GermaneError:
                continue  # the next edit asks again


def agreed(outcome: T | ConsentRequest) -> T:
    """Returns the outcome of a plan. Raises `ConsentNeeded` where it is a request for consent."""
    if not isinstance(outcome, ConsentRequest):
        return outcome
    who = "a human" if outcome.asked_of == "human" else "the agent's partner"
    raise ConsentNeeded(
        f"{outcome.operation} of block {outcome.label!r} needs the consent of {who}: request {outcome.id} waits until"
        f" {outcome.expires_at:%Y-%m-%d %H:%M:%S} UTC. Try again once it is approved",
        request=outcome.id,
        asked_of=outcome.asked_of,
    )
