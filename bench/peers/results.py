"""Results: what was measured, in one JSON file, a row a peer; a part that is measured again replaces what was there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["Results", "Rows", "at"]

Rows = Mapping[str, Mapping[str, Any]]


class Results:
    """The file at `path`; written after every part, so that a run that is stopped has lost nothing."""

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
    """What lies at the end of the path; None where it breaks off."""
    found: Any = rows
    for name in path:
        if not isinstance(found, Mapping) or name not in found:
            return None
        found = found[name]
    return found
