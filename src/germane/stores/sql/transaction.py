"""Transaction: the state that the plans of one commit share: revision, new row keys, and rows still to be written.

The events of all plans are written together, with one statement for each table, and their texts are embedded together, right
before the commit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, Protocol, TypeVar

from germane.errors import EmbedderError, InvalidInput
from germane.ports.models import Embedder
from germane.search.quantised import encode
from germane.search.unit import Unit
from germane.stores.sql.connection import Connection
from germane.stores.sql.conversations.outlines import write_outlines
from germane.stores.sql.events.event_table import EVENTS
from germane.stores.sql.events.sessions import GrowingSession, number_anew
from germane.stores.sql.listing import VisiblePartition, visible_partitions
from germane.stores.sql.reading import ScopeReading
from germane.stores.sql.search.near_duplicates import NearDuplicates, Vectored
from germane.stores.sql.search.units import Domain, Pending, insert_units
from germane.stores.sql.statements import Row, only, to_sql
from germane.types.plan import Change, StoreChange
from germane.types.scope import Scope

T = TypeVar("T")
R = TypeVar("R")
C = TypeVar("C", bound=Change)

_MAX_EMBEDDED = 65_536
"""Bytes of long texts that are embedded within one commit: more would keep the other writes waiting."""
_ERASED = "UPDATE counters SET erased_at = CASE WHEN erased > scrubbed THEN erased_at ELSE ?1 END, erased = ?2"


class Savepoint(NamedTuple):
    """A transaction's state before one job, to return to where the job fails."""

    pending: list[Pending]
    length: int
    touched: frozenset[int]
    erased: int
    vanished: bool
    replaced: bool


class Transaction:
    """`revision` is the one that this commit creates. `model` is the row of the embedder in use, `now` is in microseconds since
    the epoch. `count` counts the tokens of a text, where somebody does. `near` links near-duplicates."""

    def __init__(
        self,
        connection: Connection,
        embedder: Embedder,
        model: int,
        now: int,
        count: Callable[[str], int] | None,
        near: NearDuplicates,
    ) -> None:
        self.connection = connection
        self.erased = 0
        """How often content was removed so far."""
        self.broken = False
        """Whether a write outside any savepoint failed, so that nothing of this transaction can be committed."""
        self.events = EventBatch(connection)
        self.near = near
        self._embedder = embedder
        self._model = model
        self.now = now
        self._count = count
        self._vanished = self._replaced = self._protected = False
        revision, events, memories, blocks = only(connection, "SELECT revision, events, memories, blocks FROM counters")
        self.revision: int = revision + 1
        self._keys: dict[Domain, int] = {"events": events, "memories": memories, "blocks": blocks}
        self._pending: list[Pending] = []
        self._touched: frozenset[int] = frozenset()
        self._visible: dict[tuple[str, str, str | None], tuple[VisiblePartition, ...]] = {}

    def protect(self) -> None:
        """Opens a savepoint for the job that runs, unless it has one: before anything of it is written. The events of the jobs
        before are written first."""
        if not self._protected:
            self.write_events()
            self.connection.execute("SAVEPOINT one")
            self._protected = True

    def release(self) -> None:
        """Ends the job that runs, and its savepoint where it has one."""
        if self._protected:
            self.connection.execute("RELEASE one")
            self._protected = False

    @contextmanager
    def unprotected(self) -> Iterator[None]:
        """Within this block rows may be written without a savepoint; where that fails, the transaction is broken."""
        try:
            yield
        except BaseException:
            self.broken = self.broken or not self._protected
            raise

    def write_events(self) -> None:
        """Writes the events that wait, for statements that read them."""
        events, self.events = self.events, EventBatch(self.connection)
        with self.unprotected():
            events.write()

    def savepoint(self) -> Savepoint:
        """Returns the state before a job, for `roll_back_to`."""
        return Savepoint(self._pending, len(self._pending), self._touched, self.erased, self._vanished, self._replaced)

    def roll_back_to(self, savepoint: Savepoint) -> None:
        """Removes what a failed job has written, and restores the state of `savepoint`. A job without an SQL savepoint has
        written nothing: it adds to the batch of events as its last step."""
        if self._protected:
            self.connection.execute("ROLLBACK TO one; RELEASE one")
            self._protected = False
            self.events = EventBatch(self.connection)
        self._pending = savepoint.pending
        del self._pending[savepoint.length :]
        self._touched, self.erased = savepoint.touched, savepoint.erased
        self._vanished, self._replaced = savepoint.vanished, savepoint.replaced
        self._visible.clear()

    def visible(self, scope: Scope) -> tuple[VisiblePartition, ...]:
        """Returns the partitions that the scope sees, read from the file once."""
        whose = (scope.org, scope.agent, scope.user)
        if whose not in self._visible:
            self._visible[whose] = visible_partitions(self.connection, scope)
        return self._visible[whose]

    def own(self, scope: Scope) -> int:
        """Returns the id of the partition that this scope writes to; creates it where it doesn't exist."""
        for partition in self.visible(scope):
            if partition.user == scope.user:
                return partition.id
        row = (scope.org, scope.agent, scope.user or "")
        self.connection.execute("INSERT INTO partitions (org, agent, user) VALUES (?, ?, ?)", row)
        self._visible.clear()
        return self.connection.last_insert_rowid()

    def touch(self, partitions: Iterable[int], *, replaced: bool = False) -> None:
        """Marks these partitions as changed by this commit. `replaced` says that a directive was set."""
        self._touched |= frozenset(partitions)
        self._replaced |= replaced

    def erase(self, partition: int, *, vanished: bool = False, replaced: bool = False) -> None:
        """Marks content of this partition as removed by this commit, so that the files are scrubbed. `vanished` says that the
        whole partition was removed, `replaced` that its directive was: processes must drop their cached copies of it."""
        self.touch((partition,))
        self.erased += 1
        self._vanished |= vanished
        self._replaced |= replaced or vanished
        self._visible.clear()

    def keys(self, domain: Domain, count: int) -> range:
        """Returns `count` new row keys, which are never used again."""
        first = self._keys[domain] + 1
        self._keys[domain] += count
        return range(first, first + count)

    def derive(self, domain: Domain, partition: int, units: Sequence[tuple[Unit, str]]) -> None:
        """Adds search rows to be written with this commit, each with the text that its vector is made from."""
        self._pending += [Pending(domain, partition, unit, text) for unit, text in units]

    def flush(self) -> None:
        """Writes the events that wait, embeds the pending texts where the embedder is quick, and writes their search rows."""
        self.write_events()
        if not self._pending:
            return
        pending, self._pending = self._pending, []
        vectors: Sequence[bytes | None] = [None] * len(pending)
        if self._embedder.quick:
            now, later = _embedded_now(pending)
            pending = now + later
            with suppress(EmbedderError):  # keywords find them until they are embedded
                vectors = [*encode(self._embedder.embed_now([entry.text for entry in now])), *[None] * len(later)]
        insert_units(self.connection, pending, vectors, revision=self.revision, model=self._model, count=self._count)
        self.link_near(
            Vectored(entry.partition, entry.unit.key, vector)
            for entry, vector in zip(pending, vectors, strict=True)
            if vector is not None and entry.domain == "memories"
        )

    def link_near(self, found: Iterable[Vectored]) -> None:
        """Links memories that have got their vectors with their near-duplicates."""
        if new := list(found):
            self.near.link(self.connection, new, revision=self.revision, now=self.now)

    def finish(self) -> int:
        """Runs the last statements before COMMIT. Returns the store's revision after it, which is the one before where nothing
        has changed."""
        self.flush()
        if not self._touched:
            return self.revision - 1
        row = (self.revision, self._keys["events"], self._keys["memories"], self._keys["blocks"])
        self.connection.execute("UPDATE counters SET revision = ?, events = ?, memories = ?, blocks = ?", row)
        rows = [(self.revision, partition) for partition in self._touched]
        self.connection.executemany("UPDATE partitions SET revision = ? WHERE id = ?", rows)
        if self.erased:
            self.connection.execute(_ERASED, (self.now, self.revision))
        if self._vanished:
            self.connection.execute("UPDATE counters SET vanished = ?", (self.revision,))
        if self._replaced:
            self.connection.execute("UPDATE counters SET replaced = ?", (self.revision,))
        return self.revision


class ScopeWriting(ScopeReading):
    """What the function that applies a change gets: the scope of the plan, and the transaction. `selected` are the partitions
    that a `Select` of the same plan named: what the plan forgets is in them, or the scope's own."""

    __slots__ = ("found_blocks", "selected", "transaction")

    def __init__(self, scope: Scope, transaction: Transaction) -> None:
        super().__init__(scope, transaction)
        self.transaction, self.selected = transaction, set[VisiblePartition]()
        self.found_blocks = dict[str, Any]()
        """The blocks that reads of the plan have found, by id, each as `SeenBlock`: its changes reach no others."""

    def own_id(self) -> int:
        """Returns the id of the partition that the scope writes to; creates it where it doesn't exist."""
        return self.transaction.own(self.scope)

    def check_owner(self, user: str | None) -> None:
        """Raises `InvalidInput` unless what is written belongs to the scope's own user."""
        if user != self.scope.user:
            raise InvalidInput("what is written must belong to the scope's own user, or be agent-wide where it has none")


def within_plan(reading: ScopeReading, read: object) -> ScopeWriting:
    """Returns `reading` as what a plan's read gets. Raises `InvalidInput` for a read outside of plans."""
    if not isinstance(reading, ScopeWriting):
        raise InvalidInput(f"{type(read).__name__} is answered within a plan alone")
    return reading


def of_plan(answer: Callable[[Transaction, VisiblePartition, R], T], empty: Callable[[], T]) -> Callable[[ScopeReading, R], T]:
    """Returns the function that answers a read of the scope's own partition which a plan alone may ask: the answer counts what
    the same commit is about to write. `empty` makes the answer where the partition doesn't exist."""

    def answered(reading: ScopeReading, read: R) -> T:
        transaction, own = within_plan(reading, read).transaction, reading.own
        return empty() if own is None else answer(transaction, own, read)

    return answered


Appliers = Mapping[type[Change], Callable[[ScopeWriting, Any], object]]
"""Changes, with the function that applies each."""
StoreAppliers = Mapping[type[StoreChange], Callable[[Transaction, Any], object]]
"""Changes of the store as a whole, with the function that applies each."""


def to_own(apply: Callable[[Transaction, int, C], object]) -> Callable[[ScopeWriting, C], None]:
    """Returns the function that applies a change to the partition that the scope writes to, which is created for it where it
    doesn't exist."""

    def applied(writing: ScopeWriting, change: C) -> None:
        apply(writing.transaction, writing.own_id(), change)

    return applied


class Writer(Protocol):
    """Runs writes one after another."""

    async def run(self, work: Callable[[Transaction], T]) -> T:
        """Runs `work` in the next commit and returns its result once that is durable. Raises what `work` raises, and
        `StoreUnavailable` where the store is closed."""


def _embedded_now(pending: Sequence[Pending]) -> tuple[list[Pending], list[Pending]]:
    """The units to be embedded within the commit, and the parts of long texts that are left for afterwards."""
    now, later, size = list[Pending](), list[Pending](), 0
    for entry in pending:
        size += entry.unit.stop - entry.unit.start
        (now if not entry.unit.stop or size <= _MAX_EMBEDDED else later).append(entry)
    return now, later


# The events of fifty callers cost one statement in place of fifty, and a caller whose events wait here needs no
# savepoint. A read of a session's events has the batch written first, if it holds events of that session.


_INSERT = EVENTS.insert()
_TOLD = "INSERT OR IGNORE INTO telling_clauses VALUES (?, ?, ?, ?, ?, ?)"
_REPLACED = "INSERT OR IGNORE INTO replacements VALUES (?, ?, ?)"
_UPDATE = "UPDATE sessions SET started_at = ?, last_at = ?, length = length + ?, next = ?, outlined = ? WHERE key = ?"
_SPEAKER = (
    "INSERT INTO speakers (partition, name, code, events) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (partition, name) DO UPDATE SET events = events + excluded.events"
)


class EventBatch:
    """Rows that wait to be written, and the sessions that they belong to as they will be then."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sessions: dict[tuple[int, str], GrowingSession] = {}
        self._rows: list[Row] = []
        self._replaced: list[tuple[str, int, bool]] = []
        self._speakers: Counter[tuple[int, str, int]] = Counter()
        self._told: list[Row] = []

    def session(self, partition: int, id: str) -> GrowingSession:
        """Returns the session with what the batch adds to it; its row is read once."""
        session = self._sessions.get((partition, id))
        if session is None:
            session = self._sessions[partition, id] = GrowingSession(self._connection, partition, id)
        return session

    def add(self, row: Row, speaker: tuple[int, str, int] | None, told: Sequence[Row]) -> None:
        """Adds the row of an event, who said it (partition, name and code), and the rows of its telling clauses."""
        self._rows.append(row)
        self._told += told
        if speaker is not None:
            self._speakers[speaker] += 1

    def replace(self, rows: Iterable[tuple[str, int, bool]]) -> None:
        """Notes which earlier events an event makes outdated, or may: the id of the earlier one, the key of the later one, and
        whether it ends something."""
        self._replaced += rows

    def write(self) -> None:
        """Writes all rows. Raises what SQLite raises: then the transaction must be rolled back."""
        if not self._rows:
            return
        grown = [session for session in self._sessions.values() if session.grown]
        self._connection.executemany(_INSERT, self._rows)
        self._connection.executemany(_TOLD, self._told)
        write_outlines(self._connection, grown)
        self._connection.executemany(_UPDATE, [session.row() for session in grown])
        said = [(partition, to_sql(name), code, count) for (partition, name, code), count in self._speakers.items()]
        self._connection.executemany(_SPEAKER, said)
        if self._replaced:
            self._connection.executemany(_REPLACED, self._replaced)
        number_anew(self._connection, {session.partition for session in grown if session.begins_earlier})
