"""Block verification: opens the document of each block and compares it with the text that was rendered from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import apsw

from germane.blocks.block import content_hash_of
from germane.blocks.document import BlockDocument
from germane.blocks.operations import DocumentOf
from germane.errors import InvalidInput, MissingExtra, NotFound, StoreCorrupt
from germane.stores.sqlite.block_documents import document_of
from germane.stores.sqlite.blocks import SeenBlock, seen_blocks
from germane.stores.sqlite.rows import rows
from germane.stores.sqlite.visible_partitions import VisiblePartition

__all__ = ["verify_blocks"]

_NAMED = 5
"""Damaged blocks that a finding names by their ids."""


def verify_blocks(connection: apsw.Connection) -> tuple[str, str, bool]:
    """Returns the finding about all blocks: the ids of those whose document is damaged, or isn't what is shown."""
    count, damaged, mendable = 0, list[str](), list[str]()
    try:
        for seen in _all(connection):
            count += 1
            if not _sound(connection, seen):
                (mendable if _sound(connection, seen, rebuild=True) else damaged).append(seen.block.id)
    except MissingExtra:
        return ("blocks", "their documents weren't read: the extra blocks isn't installed", True)
    if not damaged and not mendable:
        return ("blocks", f"{count} documents are what is shown of them", True)
    parts = []
    if damaged:
        parts.append(
            f"{len(damaged)} of {count} documents are damaged ({_named(damaged)}): their texts are shown as they were rendered"
            " last; restore a backup, or set each text again under a new label"
        )
    if mendable:
        parts.append(
            f"{len(mendable)} of {count} documents have a damaged snapshot ({_named(mendable)}), and nothing is lost: the next"
            " edit of each makes it anew from its changes"
        )
    return ("blocks", ". ".join(parts), False)


def _named(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return ", ".join(ids[:_NAMED]) + more


def _all(connection: apsw.Connection) -> Iterator[SeenBlock]:
    for key, partition in list(rows(connection, "SELECT key, partition FROM blocks ORDER BY key")):
        yield from seen_blocks(connection, (VisiblePartition(partition, None, 0),), None, "b.key = ?", (key,), shared=False)


def _sound(connection: apsw.Connection, seen: SeenBlock, *, rebuild: bool = False) -> bool:
    block, stored = seen.block, document_of(connection, seen.key, DocumentOf(seen.block.id, rebuild=rebuild))
    try:
        document = BlockDocument.load(block.schema, stored.snapshot, stored.deltas)
        same = document.frontiers() == stored.frontiers and content_hash_of(document.text()) == block.content_hash
    except (StoreCorrupt, NotFound, InvalidInput):
        return False
    return same and content_hash_of(block.text) == block.content_hash
