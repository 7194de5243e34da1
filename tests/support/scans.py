"""Scans: finds statements of the embedded store that read a whole table, and so take longer the more others have stored, and
statements that sort what an index has in order."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import apsw
import pytest

from germane.stores.sqlite.database import SqliteDatabase, migrations

__all__ = ["Scans"]

_FEW = {"counters", "meta", "models"}
"""Tables of a few rows, however much is stored."""
_WHOLE = {
    "database": "migrations run once",
    "backup": "a check reads everything",
    "verification": "a check reads everything",
    "embedding": "a change of model makes all vectors anew",
    "upgrade": "what a store of another version lacks is made once",
}
"""Modules whose statements may read whole tables, and why."""
_MAY = {
    "FROM partitions WHERE org <> ?": "an export names all partitions once",
    "GROUP BY p.org HAVING": "a list of all orgs, for whoever has the file",
    "FROM keys  ORDER BY": "a list of all keys",
    "SELECT key, partition FROM blocks ORDER BY key": "the doctor opens every block",
    "SELECT messages, checksum FROM history_archive": "the doctor compares all that compactions took out",
    "SELECT 1 FROM links LIMIT 1": "the first row is enough",
    "_pending WHERE vector IS NULL": "an index of the few texts that wait for their vectors",
    "FROM directives d JOIN partitions": "opening reads the directives, the latest first, up to a limit",
    "UPDATE extraction_queue SET holder = ''": "closing gives back what this process had taken",
    "FROM events e NOT INDEXED": "the events since the last call",
    "tasks t, json_each(t.artifacts)": "what points at forgotten things is looked for in the tasks that point at anything",
}
"""Parts of single statements that may, and why."""


class Scans:
    """Notes the statements of all connections that are opened after it was made; `found` explains them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._seen: dict[str, tuple[Any, str]] = {}
        connect = SqliteDatabase.connect

        def connected(database: SqliteDatabase, **given: Any) -> apsw.Connection:
            connection = connect(database, **given)
            connection.exec_trace = self._note
            return connection

        monkeypatch.setattr(SqliteDatabase, "connect", connected)

    def found(self) -> list[str]:
        """The statements that read a whole table and may not, with the plan's line and the module that they come from."""
        return [
            f"{module}: {line}: {sql}"
            for sql, (bound, module) in self._seen.items()
            if module not in _WHOLE and not any(part in sql for part in _MAY)
            for line in _scanned(sql, bound)
        ]

    def sorting(self, *tables: str) -> list[str]:
        """The statements that read one of the tables and sort what they find, which an index could do. Sorting what an index
        has as equal doesn't count."""
        return [
            sql
            for sql, (bound, _) in self._seen.items()
            if any(re.search(rf"\b(?:FROM|JOIN) {table}\b", sql) for table in tables)
            and any("TEMP B-TREE" in line and "LAST TERM" not in line for line in _plan(sql, bound))
        ]

    def _note(self, _: object, sql: str, bound: Any) -> bool:
        if sql not in self._seen:
            self._seen[sql] = bound, _module()
        return True


def _module() -> str:
    """The module of the store whose statement is running; `rows` runs those of others."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if "stores" in path.parts and path.stem != "statements":
            return path.stem
        frame = frame.f_back
    return ""


@cache
def _schema() -> tuple[apsw.Connection, frozenset[str]]:
    connection = apsw.Connection(":memory:")
    for script in migrations():
        connection.execute(script)
    names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
    return connection, frozenset(name for (name,) in names)


def _plan(sql: str, bound: Any) -> list[str]:
    if not re.match(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b", sql) or "IN ()" in sql:
        return []
    connection, _ = _schema()
    return [line for *_, line in connection.execute(f"EXPLAIN QUERY PLAN {sql}", bound)]


def _scanned(sql: str, bound: Any) -> Iterator[str]:
    _, tables = _schema()
    for line in _plan(sql, bound):
        if scan := re.match(r"SCAN (\w+)|SEARCH (\w+) USING INTEGER PRIMARY KEY \(rowid[<>]\?", line):
            alias = scan[1] or scan[2]
            named = re.search(rf"(?:FROM|JOIN|UPDATE|,) (\w+)(?: AS)? {alias}\b", sql)
            table = alias if alias in tables or named is None else named[1]
            if table in tables - _FEW:
                yield line
