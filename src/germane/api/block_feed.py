"""Block feed: tells listeners which blocks have changed.

A listener is told of each commit of this process, right after it. Of what another process committed it is told when this
process next reads or edits the block through a handle on the same scope.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from germane.blocks.block import Block
from germane.store import Store
from germane.types.scope import Scope

__all__ = ["BlockFeed", "BlockListener"]

BlockListener = Callable[[Block], object]
"""Called with the block as the subscriber's scope sees it, on the event loop. It must not block; its errors are logged."""
_LOG = logging.getLogger("germane.blocks")
_MAX_KNOWN = 10_000
"""Blocks whose last version one subscription remembers."""


class _Subscription:
    def __init__(self, scope: Scope, listener: BlockListener, since: float) -> None:
        self.scope, self.listener, self.since = scope, listener, since
        self.known: dict[str, int] = {}

    def tell(self, block: Block) -> None:
        """Calls the listener, unless it was told of this version."""
        known = self.known.get(block.id, -1)
        if block.version <= known:
            return
        if len(self.known) >= _MAX_KNOWN:
            self.known.clear()
        self.known[block.id] = block.version
        if known < 0 and block.updated_at.timestamp() < self.since:
            return  # it was so before the subscription
        try:
            self.listener(block)
        except Exception:
            _LOG.exception("a listener for blocks raised an error")


class BlockFeed:
    """The subscriptions of one process. Belongs to one event loop."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._subscriptions: list[_Subscription] = []

    def subscribe(self, scope: Scope, listener: BlockListener, *, since: float) -> Callable[[], None]:
        """Adds a listener for what changes from `since` (seconds since the epoch) on; the returned function removes it."""
        subscription = _Subscription(scope, listener, since)
        self._subscriptions.append(subscription)
        return lambda: self._subscriptions.remove(subscription) if subscription in self._subscriptions else None

    def seen(self, scope: Scope, blocks: Iterable[Block]) -> None:
        """Tells the scope's listeners of blocks that were read and are newer than what they know."""
        mine = [one for one in self._subscriptions if _same(one.scope, scope)]
        for block in blocks if mine else ():
            for one in mine:
                one.tell(block)

    async def committed(self, scope: Scope, block: Block) -> None:
        """Tells everybody who sees the block of its new version. Raises nothing of the store's."""
        self.seen(scope, [block])
        others = [one for one in self._subscriptions if one.scope.org == scope.org and not _same(one.scope, scope)]
        for one in others:
            try:
                found = await self._store.within(one.scope).blocks.named([block.id])
            except Exception:
                _LOG.exception("a changed block couldn't be read for a listener")
                continue
            for seen in found:
                if seen.deleted_at is None or seen.shared_from is None:
                    one.tell(seen)


def _same(one: Scope, other: Scope) -> bool:
    return (one.org, one.agent, one.user) == (other.org, other.agent, other.user)
