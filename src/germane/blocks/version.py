"""Version: one entry of a block's history: what was done, when, by whom and why, and what undoing it takes.

The history is bounded: the oldest entries are removed when the block is consolidated. Undo takes back the latest edit that
isn't undone; redo makes the change again that was undone last. An edit after an undo ends what can be redone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

__all__ = ["KeptVersion", "Version", "VersionKind", "first_kept", "redoable", "undoable"]

VersionKind = Literal["create", "edit", "undo", "redo", "setting", "schema"]
"""`setting` changed a block's label, type or the like and not its content; `schema` began a new document, so that nothing
before it can be undone."""

_MAX_VERSIONS = 100
"""Entries of the history at most."""
_MIN_VERSIONS = 3
"""Entries that stay however large their changes are."""
_MIN_BYTES = 8_192
"""Bytes of history that a block of any size may have."""
_BYTES_A_CHARACTER = 1.6
"""Bytes of history for each character of a longer text: with the text itself and the present state of the document, a block
takes less than five times the bytes of its text."""
_ENTRY = 128
"""Bytes that an entry takes beside its change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One entry of a block's history. `number` counts from 0, the block's creation. `operation` says in words what was done,
    without content; `by` and `reason` are the caller's. `characters` and `content_hash` are those of the rendered text
    afterwards. `target` is the edit that an undo or a redo concerns. `undone` says that the edit is taken back now."""

    number: int
    kind: VersionKind
    at: datetime
    by: str = ""
    operation: str
    reason: str = ""
    characters: int
    content_hash: str
    target: int | None = None
    undone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptVersion:
    """A version as the store keeps it. `frontiers` is the state of the document afterwards, `size` the bytes of its change.
    `span` is the version that made an edit's change last: its own number, or that of a redo. `undone_by` is the undo that took
    it back; None where it holds."""

    version: Version
    frontiers: bytes
    size: int = 0
    span: int | None = None
    undone_by: int | None = None


def undoable(history: Sequence[KeptVersion]) -> KeptVersion | None:
    """Returns the edit that an undo takes back: the latest that isn't undone, and whose state before is kept. `history` is in
    the order of the numbers."""
    numbers = {kept.version.number for kept in history}
    for kept in reversed(history):
        if kept.version.kind == "schema":
            return None
        if kept.version.kind == "edit" and kept.undone_by is None:
            return kept if _span(kept) - 1 in numbers else None
    return None


def redoable(history: Sequence[KeptVersion]) -> KeptVersion | None:
    """Returns the edit that a redo makes again: the one that was undone last, unless something else was edited since."""
    fresh = max((kept.version.number for kept in history if kept.version.kind in ("edit", "schema", "create")), default=-1)
    numbers = {kept.version.number for kept in history}
    undone = [kept for kept in history if kept.undone_by is not None and kept.undone_by > fresh]
    last = max(undone, key=lambda kept: kept.undone_by or 0, default=None)
    return last if last is not None and (last.undone_by or 0) - 1 in numbers else None


def first_kept(history: Sequence[KeptVersion], characters: int) -> int:
    """Returns the number of the oldest version that stays when a block with a text of so many characters is consolidated."""
    allowed, total = max(_MIN_BYTES, _BYTES_A_CHARACTER * characters), 0
    for count, kept in enumerate(reversed(history), start=1):
        total += kept.size + len(kept.frontiers) + _ENTRY
        if count >= _MAX_VERSIONS or (count >= _MIN_VERSIONS and total > allowed):
            return kept.version.number
    return history[0].version.number if history else 0


def _span(kept: KeptVersion) -> int:
    return kept.version.number if kept.span is None else kept.span
