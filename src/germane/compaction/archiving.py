"""Archiving: writes entries to an archive and reads them back: only what was read back may be cited (HIST-5)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from germane.compaction.archive import Archive, ArchiveEntry, handle_of

__all__ = ["Archived", "archived", "is_kept"]


class Archived(NamedTuple):
    """`handles` are those of the entries that were read back as they were written; `reasons` say why others weren't."""

    handles: frozenset[str]
    reasons: tuple[str, ...] = ()


def archived(archive: Archive, entries: Mapping[str, ArchiveEntry], known: Collection[str] = ()) -> Archived:
    """Writes the entries that aren't `known` and reads them back. Never raises what the archive raises."""
    new = [entry for handle, entry in entries.items() if handle not in known]
    handles = set(entries.keys() & set(known))
    if not new:
        return Archived(frozenset(handles))
    reasons: list[str] = []
    try:
        archive.put(new)
    except Exception as error:
        reasons.append(f"the archive can't be written: {type(error).__name__}")
    lost = 0
    for entry in new:
        try:
            found = archive.get(entry.handle)
        except Exception as error:
            lost += 1
            if len(reasons) < 3:
                reasons.append(f"the archive can't be read: {type(error).__name__}")
            continue
        if is_kept(entry, found):
            handles.add(entry.handle)
        else:
            lost += 1
    if lost:
        reasons.append(f"{lost} of {len(new)} archived entries can't be read back: their handles aren't named")
    return Archived(frozenset(handles), tuple(reasons))


def is_kept(entry: ArchiveEntry, found: object) -> bool:
    """Returns whether what was read back is the entry that was written, by its content."""
    if found is entry:
        return True
    if not isinstance(found, ArchiveEntry) or (found.handle, found.kind, found.provider, found.part, found.previous) != (
        entry.handle,
        entry.kind,
        entry.provider,
        entry.part,
        entry.previous,
    ):
        return False
    try:
        return handle_of(found.kind, found.messages, found.previous, found.part) == entry.handle
    except (TypeError, ValueError, RecursionError):
        return False
