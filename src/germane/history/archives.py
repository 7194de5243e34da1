"""Archives: where a compaction without a store keeps what it takes out: in memory, or in a folder."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from germane.compaction.archive import ArchiveEntry

__all__ = ["FolderArchive", "MemoryArchive"]

_HANDLE = re.compile(r"h[0-9a-f]{12}")


class MemoryArchive:
    """Implements `Archive` in memory, for as long as the object lives."""

    def __init__(self) -> None:
        self._entries: dict[str, ArchiveEntry] = {}

    def put(self, entries: Iterable[ArchiveEntry]) -> None:
        for entry in entries:
            self._entries[entry.handle] = entry

    def get(self, handle: str) -> ArchiveEntry | None:
        return self._entries.get(handle)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<MemoryArchive {len(self)} entries>"


class FolderArchive:
    """Implements `Archive` in a folder, which is made where it is missing: one JSON file for each entry, named by its handle.
    A file is written beside its place and then moved there, so that a reader finds it whole or not at all."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def put(self, entries: Iterable[ArchiveEntry]) -> None:
        """Raises `OSError` where the folder can't be written."""
        self.path.mkdir(parents=True, exist_ok=True)
        for entry in entries:
            place = self._place(entry.handle)
            if place is None:
                raise ValueError("the entry's handle isn't one of germane's")
            fields = {**asdict(entry), "messages": list(entry.messages)}
            descriptor, name = tempfile.mkstemp(prefix=".", suffix=".part", dir=self.path)
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    json.dump(fields, file, ensure_ascii=True)
                Path(name).replace(place)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise

    def get(self, handle: str) -> ArchiveEntry | None:
        """Returns the entry; None where no file holds one of this handle."""
        place = self._place(handle)
        try:
            fields: Any = None if place is None else json.loads(place.read_text("utf-8"))
            if not isinstance(fields, dict) or fields.get("handle") != handle:
                return None
            return ArchiveEntry(**{**fields, "messages": tuple(fields["messages"])})
        except (FileNotFoundError, ValueError, TypeError, KeyError, RecursionError):
            return None

    def _place(self, handle: str) -> Path | None:
        """The file of a handle; None for a text that is no handle, so that none leads out of the folder."""
        return self.path / f"{handle}.json" if isinstance(handle, str) and _HANDLE.fullmatch(handle) else None

    def __repr__(self) -> str:
        return f"<FolderArchive {self.path}>"
