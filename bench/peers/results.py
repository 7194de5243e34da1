"""Results: the JSON file of measurements, one row per peer; a new measurement replaces the old one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["Results", "Rows", "at"]

Rows = Mapping[str, Mapping[str, Any]]


class Results:
    """The file at `path`. It is written after every part, so that an interrupted run loses nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.rows = self._read()

    def put(self, peer: str, part: str, figures: dict[str, Any]) -> None:
        self.rows = self._read()  # another run may have added to it
        self.rows.setdefault(peer, {})[part] = figures
        self._path.parent.mkdir(parents=True, exist_ok=True)
        made = self._path.with_suffix(".new")
        made.write_text(json.dumps(self.rows, indent=1), "utf-8")
        made.replace(self._path)

    def _read(self) -> dict[str, dict[str, Any]]:
        return json.loads(self._path.read_text("utf-8")) if self._path.exists() else {}


def at(rows: Rows, *path: str) -> Any:
    """The value at the end of the path, or None if a key is missing."""
    found: Any = rows
    for name in path:
        if not isinstance(found, Mapping) or name not in found:
            return None
        found = found[name]
    return found
