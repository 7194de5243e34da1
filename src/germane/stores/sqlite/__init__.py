"""The embedded store: one SQLite file, through apsw."""

from germane.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
