"""Memory: one turn as a peer is given it, and what an adapter must be able to do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

__all__ = ["Memory", "Store", "read"]


class Memory(NamedTuple):
    id: str
    line: str
    """What is kept: date, speaker and text in one line. The same for every peer."""
    text: str
    speaker: str
    time: str | None
    session: str


class Store(Protocol):
    """One user's memories in one folder. Everything is done through the peer's own interface. Some also have `settle`, called
    once all is loaded, and operations of their own."""

    def open(self, folder: Path) -> None:
        """Open what is in the folder, or begin there."""

    def add(self, memories: Sequence[Memory]) -> None:
        """One call of the peer's, as its documentation has it; embedding included."""

    def load(self, memories: Sequence[Memory]) -> None:
        """Many, the quickest way there is through its interface."""

    def search(self, query: str, limit: int) -> list[str]:
        """Ids of the best, in rank order."""

    def close(self) -> None: ...


def read(path: Path) -> list[Memory]:
    with path.open(encoding="utf-8") as lines:
        return [Memory(*json.loads(line)) for line in lines]
