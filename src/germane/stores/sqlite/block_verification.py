"""Block verification: opens the document of each block and compares it with the text that was rendered from it."""

from __future__ import annotations

from collections.abc import Iterator

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
    count, damaged = 0, list[str]()
    try:
        for seen in _all(connection):
            count += 1
            if not _sound(connection, seen):
                damaged.append(seen.block.id)
    except MissingExtra:
        return ("blocks", "their documents weren't read: the extra blocks isn't installed", True)
    if not damaged:
        return ("blocks", f"{count} documents are what is shown of them", True)
    named = ", ".join(damaged[:_NAMED])
    more = f" and {len(damaged) - _NAMED} more" if len(damaged) > _NAMED else ""
    said = f"{len(damaged)} of {count} documents are damaged ({named}{more}): their texts are shown as they were rendered last;"
    return ("blocks", f"{said} restore a backup, or set each text again under a new label", False)


def _all(connection: apsw.Connection) -> Iterator[SeenBlock]:
    for key, partition in list(rows(connection, "SELECT key, partition FROM blocks ORDER BY key")):
        yield from seen_blocks(connection, (VisiblePartition(partition, None, 0),), None, "b.key = ?", (key,), shared=False)


def _sound(connection: apsw.Connection, seen: SeenBlock) -> bool:
    block, stored = seen.block, document_of(connection, seen.key, DocumentOf(seen.block.id))
    try:
        document = BlockDocument.load(block.schema, stored.snapshot, stored.deltas)
        same = document.frontiers() == stored.frontiers and content_hash_of(document.text()) == block.content_hash
    except (StoreCorrupt, NotFound, InvalidInput):
        return False
    return same and content_hash_of(block.text) == block.content_hash
