"""Verification: compares what is stored with what was derived from it, for `germane doctor`.

Each text is hashed again and compared with the hash that was stored with it; search rows are made again and compared, of a
sample or of all texts; the document of each block is opened and compared with the text that was rendered from it; archived
messages are compared with their checksums; rows without the thing that they belong to are counted. It reads page by page, so
that it holds no snapshot for long. A finding holds numbers and no content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from germane.stores.sql.connection import Connection
from germane.stores.sql.kind import Finding
from germane.stores.sql.kinds import KINDS
from germane.stores.sql.statements import only, rows

_PAGE = 500
_SAMPLE = 2_000
"""Texts of each kind whose search rows are made again, unless all are."""
_DERIVATIONS = "derivations d WHERE {} AND NOT EXISTS (SELECT 1 FROM derivations WHERE source = d.thing)".format(
    " AND ".join(f"NOT EXISTS (SELECT 1 FROM {kind.made} WHERE id = d.thing)" for kind in KINDS if kind.made)
)


def verify(connection: Connection, *, full: bool, progress: Callable[[int, int], None] | None) -> list[Finding]:
    """Returns the findings. `full` makes all search rows again. `progress` is called with texts done and in all."""
    texts = [(kind.texts, only(connection, kind.texts.count)[0]) for kind in KINDS if kind.texts is not None]
    counted = _Counted(sum(total for _, total in texts), progress)
    for checked, total in texts:
        every = 1 if full else max(1, total // _SAMPLE)
        for number, row in enumerate(_rows(connection, checked.rows, checked.key)):
            same, terms = checked.check(connection, row, number % every == 0)
            counted.add(same, terms)
    findings = [kind.verify(connection) for kind in KINDS if kind.verify is not None]
    return [*counted.findings(), *findings, _orphans(connection)]


def _orphans(connection: Connection) -> Finding:
    """Counts the rows without what they belong to."""
    queries = {name: sql for kind in KINDS for name, sql in kind.orphans.items()} | {"derivations": _DERIVATIONS}
    counts = {name: only(connection, f"SELECT count(*) FROM {sql}")[0] for name, sql in queries.items()}
    there = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    return ("orphans", there or "every row belongs to something", not there)


class _Counted:
    def __init__(self, total: int, progress: Callable[[int, int], None] | None) -> None:
        self._total, self._progress = total, progress
        self._done = self._unclear = self._changed = self._terms = self._differing = 0

    def add(self, same: bool | None, terms: bool | None) -> None:
        """Counts one text: whether its hash is the stored one, and whether its terms are; None where that can't be told, or
        wasn't looked at."""
        self._done += 1
        self._unclear += same is None
        self._changed += same is False
        self._terms += terms is not None
        self._differing += terms is False
        if self._progress is not None and (self._done % _PAGE == 0 or self._done >= self._total):
            self._progress(self._done, max(self._total, self._done))

    def findings(self) -> list[Finding]:
        said = f"{self._done - self._unclear} texts are as they were stored"
        if self._changed:
            said = f"{self._changed} of {self._done} texts differ from the checksum stored with them: restore a backup"
        if self._unclear:
            said += f"; {self._unclear} can't be compared, as they came with broken characters or secrets"
        search = f"{self._terms} of {self._done} texts compared with their search rows"
        if self._differing:
            search += f", {self._differing} differ: export and import the store to make the rows anew"
        return [("checksums", said, not self._changed), ("search rows", search, not self._differing)]


def _rows(connection: Connection, sql: str, key: str) -> Iterator[tuple[Any, ...]]:
    after = 0
    while page := list(rows(connection, f"{sql} WHERE {key} > ? ORDER BY {key} LIMIT ?", (after, _PAGE))):
        yield from page
        after = page[-1][0]
