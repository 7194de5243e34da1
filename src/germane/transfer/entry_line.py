"""Entry line: writes an archival entry as a JSON object, and reads it back with a check of every field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from germane.blocks.entry import ArchivalEntry
from germane.transfer.line_fields import LineFields
from germane.transfer.stored import Owner
from germane.types.limits import ID, MEMORY_TEXT

__all__ = ["entry_line", "parsed_entry"]


def entry_line(entry: ArchivalEntry) -> dict[str, Any]:
    """Returns the fields of an archival entry's line, without its type and owner."""
    return {"id": entry.id, "text": entry.text, "metadata": entry.metadata, "created_at": entry.created_at.isoformat()}


def parsed_entry(line: Mapping[str, Any], owner: Owner) -> ArchivalEntry:
    """Returns the archival entry in a line. Raises `InvalidInput`."""
    given = LineFields(line, "an entry")
    entry = ArchivalEntry(
        id=given.text("id", ID),
        text=given.text("text", MEMORY_TEXT, empty=True),
        metadata=given.json_object("metadata"),
        user=owner.user,
        created_at=given.time("created_at"),
    )
    given.end()
    return entry
