"""Transaction: what the plans of one commit share: the new revision, new keys, and the search rows that are still to be
derived. Texts of all plans are embedded together, right before the commit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

import apsw

from germane.errors import EmbedderError
from germane.ports.embedder import Embedder
from germane.search.quantised import encode
from germane.search.unit import Unit
from germane.stores.sqlite.rows import only
from germane.stores.sqlite.units import Domain, Pending, insert_units
from germane.stores.sqlite.visible_partitions import VisiblePartition, visible_partitions
from germane.types.scope import Scope

__all__ = ["Savepoint", "Transaction"]

_ERASED = "UPDATE counters SET erased_at = CASE WHEN erased > scrubbed THEN erased_at ELSE ?1 END, erased = ?2"


class Savepoint(NamedTuple):
    pending: list[Pending]
    length: int
    touched: frozenset[int]
    erased: int
    vanished: bool
    replaced: bool


class Transaction:
    """`revision` is the one this commit brings. `model` is the row of the embedder in use, `now` the time in microseconds."""

    def __init__(self, connection: apsw.Connection, embedder: Embedder, model: int, now: int) -> None:
        self.connection = connection
        self.erased = 0
        """How often content was taken away so far."""
        self._embedder = embedder
        self._model = model
        self._now = now
        self._vanished = self._replaced = False
        revision, events, memories = only(connection, "SELECT revision, events, memories FROM counters")
        self.revision: int = revision + 1
        self._keys: dict[Domain, int] = {"events": events, "memories": memories}
        self._pending: list[Pending] = []
        self._touched: frozenset[int] = frozenset()
        self._visible: dict[tuple[str, str, str | None], tuple[VisiblePartition, ...]] = {}

    def savepoint(self) -> Savepoint:
        return Savepoint(self._pending, len(self._pending), self._touched, self.erased, self._vanished, self._replaced)

    def roll_back_to(self, savepoint: Savepoint) -> None:
        """Back to `savepoint`, also where rows were flushed since: their savepoint has taken them back."""
        self._pending = savepoint.pending
        del self._pending[savepoint.length :]
        self._touched, self.erased = savepoint.touched, savepoint.erased
        self._vanished, self._replaced = savepoint.vanished, savepoint.replaced
        self._visible.clear()

    def visible_partitions(self, scope: Scope) -> tuple[VisiblePartition, ...]:
        """What the scope sees; asked of the file once."""
        whose = (scope.org, scope.agent, scope.user)
        if whose not in self._visible:
            self._visible[whose] = visible_partitions(self.connection, scope)
        return self._visible[whose]

    def own(self, scope: Scope) -> int:
        """The partition this scope writes to; made when there is none yet."""
        for partition in self.visible_partitions(scope):
            if partition.user == scope.user:
                return partition.id
        row = (scope.org, scope.agent, scope.user or "")
        self.connection.execute("INSERT INTO partitions (org, agent, user) VALUES (?, ?, ?)", row)
        self._visible.clear()
        return self.connection.last_insert_rowid()

    def touch(self, partitions: Iterable[int]) -> None:
        """The content of these changes with this commit."""
        self._touched |= frozenset(partitions)

    def erase(self, partition: int, *, vanished: bool = False, replaced: bool = False) -> None:
        """Content of this partition is taken away with this commit: the files are to be scrubbed. `vanished`: the partition
        itself; `replaced`: its directive, which processes remember without asking the file again."""
        self.touch((partition,))
        self.erased += 1
        self._vanished |= vanished
        self._replaced |= replaced or vanished
        self._visible.clear()

    def keys(self, domain: Domain, count: int) -> range:
        """New row numbers, never given out again."""
        first = self._keys[domain] + 1
        self._keys[domain] += count
        return range(first, first + count)

    def derive(self, domain: Domain, partition: int, units: Sequence[tuple[Unit, str]]) -> None:
        """Search rows to be written with this commit, each with the text its vector is made from."""
        self._pending += [Pending(domain, partition, unit, text) for unit, text in units]

    def flush(self) -> None:
        """Write what is still to be derived."""
        if not self._pending:
            return
        pending, self._pending = self._pending, []
        vectors: Sequence[bytes | None] = [None] * len(pending)
        if self._embedder.quick:
            with suppress(EmbedderError):  # keywords serve until they are embedded
                vectors = encode(self._embedder.embed_now([one.text for one in pending]))
        insert_units(self.connection, pending, vectors, revision=self.revision, model=self._model)

    def finish(self) -> None:
        """The last statements before COMMIT."""
        self.flush()
        if not self._touched:
            return
        row = (self.revision, self._keys["events"], self._keys["memories"])
        self.connection.execute("UPDATE counters SET revision = ?, events = ?, memories = ?", row)
        rows = [(self.revision, partition) for partition in self._touched]
        self.connection.executemany("UPDATE partitions SET revision = ? WHERE id = ?", rows)
        if self.erased:
            self.connection.execute(_ERASED, (self._now, self.revision))
        if self._vanished:
            self.connection.execute("UPDATE counters SET vanished = ?", (self.revision,))
        if self._replaced:
            self.connection.execute("UPDATE counters SET replaced = ?", (self.revision,))
