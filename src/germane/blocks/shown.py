"""Shown block: how the parts of an assembly name a block as it was shown: its id with its version.

The name changes with each edit, deletion and change of a setting. So a text that was written with an earlier version holds a
name that the store allows no more.
"""

from __future__ import annotations

from germane.blocks.block import Block
from germane.text.normal import content_hash

__all__ = ["block_hash", "entry_hash", "shown_id", "stored_id"]

_SIGN = "@"


def shown_id(id: str, version: int) -> str:
    """Returns `<block id>@<version>`."""
    return f"{id}{_SIGN}{version}"


def stored_id(id: str) -> str:
    """Returns the id of what is stored: that of the block where `id` names a version of one, else `id` itself."""
    return id.partition(_SIGN)[0]


def block_hash(id: str, version: int, shared: Block | None = None) -> int:
    """Returns a hash of what is shown of a block. The version tells all of an own block; of a `shared` one, what the share
    permits is shown too."""
    return content_hash("block", shown_id(id, version), "" if shared is None else shared.granted)


def entry_hash(id: str) -> int:
    """Returns the hash of an archival entry, which is never changed."""
    return content_hash("entry", id)
