"""SQLite store: the embedded store in one SQLite file, accessed through apsw."""

from __future__ import annotations

from germane.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
