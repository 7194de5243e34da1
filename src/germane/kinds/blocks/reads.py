"""Block reads: what a store answers and changes about blocks: reads, changes, and the reader of one scope.

Every store supports them. A store runs the reads and changes of a plan within the scope that the plan is committed
under. A plan changes a block only after one of its own reads has found it, and only where the scope may: its own
blocks, and those that are shared with it. To the store a document is bytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from germane.kinds.blocks.permission import ConsentRequest, Permission, Share
from germane.kinds.blocks.value import ArchivalEntry, Block, BlockType, KeptVersion
from germane.stores.contract import ScopedStore
from germane.types.plan import Change, Read, TextOf


@dataclass(frozen=True, slots=True)
class BlocksNamed(Read[tuple[Block, ...]]):
    """The block with this id, deleted or not, or else the blocks with this label key that aren't deleted; the scope's own
    first, then agent-wide ones, then those that are shared with it, by owner."""

    name: str


@dataclass(frozen=True, slots=True)
class StandingBlocks(Read[tuple[Block, ...]]):
    """The blocks of every context: core blocks and pinned working ones, own ones by label and then shared ones. A block of the
    user hides an agent-wide one with its label, and both hide a shared one. Texts are as they were rendered last: neither this
    read nor `FirstNamed` and `ListBlocks` open a document."""

    quick: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class FirstNamed(Read[tuple[Block, ...]]):
    """The blocks with these label keys or ids, in this order, of each name the first that `BlocksNamed` finds; unknown names
    are skipped."""

    quick: ClassVar[bool] = True
    names: Sequence[str]


@dataclass(frozen=True, slots=True)
class ListBlocks(Read[tuple[Block, ...]]):
    """The blocks, own ones by label and then shared ones. With `deleted`, those of the scope's own that were deleted, the
    latest first."""

    type: BlockType | None = None
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class AllIndexed(Read[bool]):
    """Whether every block has a search row of its present text, shared ones apart; see `BlocksToIndex`."""

    quick: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class ListConsents(Read[tuple[ConsentRequest, ...]]):
    """At most `limit` requests on the scope's own blocks, newest first: those that can be answered at the time, or all that are
    kept."""

    at: datetime
    pending: bool
    limit: int


@dataclass(frozen=True, slots=True)
class SeenEntries(Read[tuple[ArchivalEntry, ...]]):
    """The archival entries with these ids that the scope sees, in this order."""

    ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class BlocksUnder(Read[tuple[Block, ...]]):
    """The blocks whose labels begin with this folder and a slash and that aren't deleted, in the order of listings: own ones by
    label, a user's before an agent-wide one, and then those that are shared with the scope."""

    folder: str


@dataclass(frozen=True, slots=True)
class BlocksToIndex(Read[tuple[Block, ...]]):
    """At most `limit` of the scope's blocks, its user's and agent-wide ones, that have no search row of their present text."""

    limit: int


@dataclass(frozen=True, slots=True)
class DocumentOf(Read["StoredDocument"]):
    """What makes up a block's document. `since` is the version that is known already; -1 for none. A plan asks
    for a block that a read of its own has found. `rebuild` asks for all
    changes since the block's creation instead of the snapshot; there are none where some of them are gone."""

    id: str
    since: int = -1
    rebuild: bool = False


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as it is stored: `snapshot` with the `deltas` that follow it, in order. Where `whole` is false, only the
    deltas after the version that was asked for are given. `frontiers` is the state after the last of them. `waiting` counts the
    changes that no snapshot holds yet, `size` all bytes of the document and its earlier versions."""

    whole: bool
    snapshot: bytes | None = None
    deltas: tuple[bytes, ...] = ()
    frontiers: bytes | None = None
    waiting: int = 0
    waiting_size: int = 0
    size: int = 0


@dataclass(frozen=True, slots=True)
class VersionsOf(Read[tuple[KeptVersion, ...]]):
    """The versions of a block that are kept, by number; the last `limit` of them, where one is given."""

    id: str
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class SharesOf(Read[tuple[Share, ...]]):
    """The shares of one of the scope's own blocks, or of all of them, by label and agent."""

    id: str | None = None


@dataclass(frozen=True, slots=True)
class ConsentsOn(Read[tuple[ConsentRequest, ...]]):
    """The requests that this scope has made on a block and that may still matter: pending ones, denied ones, and approvals that
    aren't used up, newest first."""

    id: str


@dataclass(frozen=True, slots=True)
class ConsentById(Read[ConsentRequest | None]):
    """The request with this id on one of the scope's own blocks, whoever made it; None where there is none."""

    id: str


@dataclass(frozen=True, slots=True)
class EntriesById(Read[tuple[ArchivalEntry, ...]]):
    """The archival entries with these ids that belong to the scope's own user."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IdsOfBlocks(Read["BlockIds"]):
    """Which of these ids of blocks and archival entries are taken, and by whom."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BlockIds:
    """What `IdsOfBlocks` found: blocks of the scope's own user by id, deleted ones included, its entries, and ids that can't be
    used, since they were forgotten or belong to somebody else."""

    blocks: Mapping[str, Block]
    entries: Mapping[str, ArchivalEntry]
    forgotten: frozenset[str] = frozenset()
    elsewhere: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PutBlock(Change):
    """Inserts the block for the scope's own user, or replaces the block with its id. In the same transaction the search row of
    an archival block is derived, so that it is found as it is now, and that of any other block or of a deleted one is blanked,
    so that it isn't found until `IndexBlock`."""

    text_of: ClassVar[TextOf] = "somebody"
    block: Block


@dataclass(frozen=True, slots=True)
class IndexBlock(Change):
    """Derives the search row of a block that a read of the plan has found, as it is now."""

    text_of: ClassVar[TextOf] = "its_owner"
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PutVersion(Change):
    """Adds a version of a block, with what its document gained."""

    text_of: ClassVar[TextOf] = "its_owner"
    id: str
    entry: KeptVersion
    delta: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeBack(Change):
    """Notes that the edit `number` was undone by the version `by`, or (`by` None) made again by the version `span`."""

    text_of: ClassVar[TextOf] = "nothing"
    id: str
    number: int
    by: int | None
    span: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PutSnapshot(Change):
    """Keeps the document up to version `number` as a whole, and drops the versions before `first`."""

    text_of: ClassVar[TextOf] = "its_owner"
    id: str
    number: int
    data: bytes
    first: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreVersions(Change):
    """Stores what was exported of a block beside itself: its snapshot, its versions with their changes, and its shares."""

    text_of: ClassVar[TextOf] = "its_owner"
    id: str
    snapshot: tuple[int, bytes] | None
    versions: Sequence[tuple[KeptVersion, bytes | None]]
    shares: Sequence[Share] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PutShare(Change):
    """Shares one of the scope's own blocks with an agent, or changes what it may do."""

    text_of: ClassVar[TextOf] = "nothing"
    id: str
    agent: str
    permission: Permission
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DropShare(Change):
    """Ends the share of a block with an agent."""

    text_of: ClassVar[TextOf] = "nothing"
    id: str
    agent: str


@dataclass(frozen=True, slots=True)
class PutConsent(Change):
    """Inserts a request of this scope, or replaces the request with its id."""

    text_of: ClassVar[TextOf] = "its_owner"
    request: ConsentRequest


@dataclass(frozen=True, slots=True)
class PutEntry(Change):
    """Stores an archival entry of the scope's own user with its search row. An entry is never replaced."""

    text_of: ClassVar[TextOf] = "somebody"
    entry: ArchivalEntry


async def blocks_to_show(store: ScopedStore, names: Sequence[str]) -> list[Block]:
    """Returns the blocks of every context and those that `names` (label keys or ids) name, each once."""
    if not names:
        return list(await store.ask(StandingBlocks()))
    standing, named = await asyncio.gather(store.ask(StandingBlocks()), store.ask(FirstNamed(names)))
    return list({block.id: block for block in (*standing, *named) if block.deleted_at is None}.values())
