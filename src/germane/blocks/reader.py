"""Reader: the protocol for reading the blocks of one scope."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from germane.blocks.block import Block, BlockType
from germane.blocks.consent_request import ConsentRequest
from germane.blocks.entry import ArchivalEntry
from germane.blocks.operations import StoredDocument
from germane.blocks.share import Share
from germane.blocks.version import KeptVersion
from germane.search.hit import Found
from germane.types.query import Query

__all__ = ["BlockReader", "blocks_to_show"]


class BlockReader(Protocol):
    """What one scope sees: its user's blocks, agent-wide ones, and those that other agents share with it. Texts are as they
    were rendered last; no method opens a document."""

    async def standing(self) -> tuple[Block, ...]:
        """Returns the blocks of every context: core blocks and pinned working ones, own ones by label and then shared ones. A
        block of the user hides an agent-wide one with its label, and both hide a shared one."""

    async def named(self, names: Sequence[str]) -> tuple[Block, ...]:
        """Returns the blocks with these label keys or ids, in this order, as `BlocksNamed` finds them; unknown names are
        skipped."""

    async def list(self, type: BlockType | None = None, *, deleted: bool = False) -> tuple[Block, ...]:
        """Returns the blocks, own ones by label and then shared ones. With `deleted`, those of the scope's own that were
        deleted, the latest first."""

    async def within(self, folder: str) -> tuple[Block, ...]:
        """Returns the blocks whose labels begin with a folder and a slash, as `BlocksUnder` finds them."""

    async def indexed(self) -> bool:
        """Returns whether every block has a search row of its present text, shared ones apart; see `BlocksToIndex`."""

    async def history(self, id: str) -> tuple[KeptVersion, ...]:
        """Returns the versions of a block that are kept, by number; none of a block that this scope doesn't see."""

    async def document(self, id: str, *, rebuild: bool = False) -> StoredDocument:
        """Returns a block's whole document as it is stored; with `rebuild` as in `DocumentOf`."""

    async def shares(self, id: str | None = None) -> tuple[Share, ...]:
        """Returns the shares of one of the scope's own blocks, or of all of them, by label and agent."""

    async def consents(self, *, at: datetime, pending: bool, limit: int) -> tuple[ConsentRequest, ...]:
        """Returns at most `limit` requests on the scope's own blocks, newest first: those that can be answered at the time, or
        all that are kept."""

    async def entries(self, ids: Sequence[str]) -> tuple[ArchivalEntry, ...]:
        """Returns the archival entries with these ids that the scope sees, in this order."""

    async def search(self, query: Query, limit: int, *, keywords: bool, vectors: bool, wait: bool) -> Found[ArchivalEntry]:
        """Returns at most `limit` archival entries and blocks, best first: of the kinds `entry`, `archival` and `block` (any
        other type of block) that the filters name. An agent-wide block with the label of one of the user's isn't found, and
        no shared one. See `MemoryReader.search`."""


async def blocks_to_show(reader: BlockReader, names: Sequence[str]) -> list[Block]:
    """Returns the blocks of every context and those that `names` (label keys or ids) name, each once."""
    if not names:
        return list(await reader.standing())
    standing, named = await asyncio.gather(reader.standing(), reader.named(names))
    return list({block.id: block for block in (*standing, *named) if block.deleted_at is None}.values())
