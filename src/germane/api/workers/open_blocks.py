"""Open blocks: what the blocks of one process share: open documents, listeners, and the blocks of running exchanges.

A listener is told of each commit of this process, right after it. Of what another process committed it is told when this
process next reads or edits the block through a handle on the same scope. After many edits of a block its document is
consolidated in the background.

An application that names a block with the user's message gets the block in each request of that exchange, the round trips of
its tools included, also from a new builder with the same session (BUILD-4). These references are kept in this process; several
processes that serve one exchange have to name them in each. Without a session nothing tells one conversation from another, and
no reference is kept.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from germane.engine.turns import human_turns
from germane.errors import ConsentNeeded, GermaneError, StoreCorrupt
from germane.kinds.blocks.cache import DocumentCache
from germane.kinds.blocks.permission import ConsentRequest
from germane.kinds.blocks.reads import FirstNamed
from germane.kinds.blocks.value import Block
from germane.ports.background import Background
from germane.ports.batch_writer import BatchWriter
from germane.stores.contract import Store
from germane.types.caches import LruCache
from germane.types.message import Message
from germane.types.plan import Plan
from germane.types.scope import Scope

if TYPE_CHECKING:
    from germane.kinds.blocks.revision import Edited


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
            outcome: Edited | ConsentRequest = await self._store.within(scope).commit(cast("Plan[Any]", plan))
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
        edits = agreed(await self._store.within(scope).commit(plan))
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
        from germane.kinds.blocks.revision import consolidate_block

        for scope, id in dict.fromkeys(batch):
            try:
                async with self._background.step():
                    await self._store.within(scope).commit(consolidate_block(id))
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
        f"{outcome.operation} of block {{}} needs the consent of {who}: request {outcome.id} "
        f"waits until {outcome.expires_at:%Y-%m-%d %H:%M:%S} UTC. Try again once it is approved",
        outcome.label,
        request=outcome.id,
        asked_of=outcome.asked_of,
    )


# Listeners of blocks.


BlockListener = Callable[[Block], object]
"""Called with the block as the subscriber's scope sees it, on the event loop. It must not block; its errors are logged."""
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
            return  # changed before the subscription began
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
                found = await self._store.within(one.scope).ask(FirstNamed([block.id]))
            except Exception:
                _LOG.exception("a changed block couldn't be read for a listener")
                continue
            for seen in found:
                if seen.deleted_at is None or seen.shared_from is None:
                    one.tell(seen)


def _same(one: Scope, other: Scope) -> bool:
    return (one.org, one.agent, one.user) == (other.org, other.agent, other.user)


# The blocks that were referenced for a running exchange, until the next one begins.


_MAX_REFERENCES = 100
"""References that one exchange keeps; the first ones stay."""


class BatchReferences:
    """Bounded: evicts the exchange that was asked for least recently."""

    def __init__(self, max_entries: int = 4_096) -> None:
        self._known: LruCache[Hashable, tuple[str, ...]] = LruCache(max_entries)

    def of(self, scope: Scope, messages: Sequence[Message], key: bytes, given: Sequence[str]) -> tuple[str, ...]:
        """Returns the references of the running exchange, those `given` now included, and keeps them. `key` hides what was said
        in the exchange's name."""
        if scope.session is None:
            return tuple(dict.fromkeys(given))[:_MAX_REFERENCES]
        turns = human_turns(messages, key)
        place = (scope.org, scope.agent, scope.user, scope.session, turns[-1].key if turns else "")
        known = self._known.use(place) or ()
        found = tuple(dict.fromkeys((*known, *given)))[:_MAX_REFERENCES]
        if found:
            self._known.put(place, found)
        return found
