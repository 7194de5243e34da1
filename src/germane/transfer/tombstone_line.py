"""Tombstone line: writes a tombstone as a JSON object, and reads it back with a check of every field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from germane.transfer.line_fields import LineFields
from germane.types.inventory import Tombstone, TombstoneKind
from germane.types.limits import ID, REMARK

__all__ = ["parsed_tombstone", "tombstone_line"]

_KINDS = get_args(TombstoneKind)


def tombstone_line(stone: Tombstone) -> dict[str, Any]:
    """Returns the fields of a tombstone's line, without its type and owner."""
    return {"id": stone.id, "what": stone.what, "at": stone.at.isoformat(), "by": stone.by, "reason": stone.reason}


def parsed_tombstone(line: Mapping[str, Any]) -> Tombstone:
    """Returns the tombstone in a line. Raises `InvalidInput`."""
    given = LineFields(line, "a tombstone")
    stone = Tombstone(
        id=given.text("id", ID),
        what=given.one_of("what", _KINDS),
        at=given.time("at"),
        by=given.text("by", REMARK, "", empty=True),
        reason=given.text("reason", REMARK, "", empty=True),
    )
    given.end()
    return stone
