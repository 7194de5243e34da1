"""Kind: one kind of stored things, and what is done to it by the operations on all kinds.

Each kind has one `SqlKind`, beside its rows; `kinds.py` lists them. Exports, counts, selections, forgettings, the gate and the
doctor loop over that list, and name no kind. A kind gives only what it needs: the defaults do nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from germane.kinds.memories.reads import Forget, Select
from germane.stores.sql.connection import Connection
from germane.stores.sql.listing import VisiblePartition
from germane.stores.sql.transaction import Transaction
from germane.types.inventory import StoredKind
from germane.types.query import Filters

if TYPE_CHECKING:
    from germane.transfer.contents import Owner, Thing

Found = Mapping[str, Iterable[str]]
"""The ids that a selection has found so far, by the names of the fields of `IdsByKind`."""
Finding = tuple[str, str, bool]
"""What the doctor says of one thing that it looked at: its name, a sentence, and whether all is well."""


class KindTable(NamedTuple):
    """A table with a row for each thing of an owner."""

    name: str
    what: StoredKind | None = None
    """What a row is by its column `id`; None where the rows have no ids of germane's."""
    buried: bool = True
    """Whether tombstones have the name of this table; else those of its rows have the name of another table of the kind."""
    owner: str = "partition"
    """The column with the partition that a row belongs to."""
    keeps: Literal["owner", "names", "nothing"] = "nothing"
    """What a row keeps of its partition: `owner`, so that it counts as a user or an agent that has something stored, with its
    names; or the `names` alone."""
    cleared: bool = False
    """Whether rows stay when all things are forgotten by their ids: they are removed when the owner is forgotten as a whole."""
    exported: str = ""
    """The field of `Contents` that counts the rows; '' for rows that an export doesn't count."""
    changed: str = ""
    """The column with the time of a row's last change, for `Contents.latest`."""


class Counted(NamedTuple):
    """What `Stats` says of a kind: fields, bytes of texts, and the times of the first and the last thing in microseconds."""

    fields: Mapping[str, Any] = {}
    text_bytes: int = 0
    oldest: Sequence[int] = ()
    newest: Sequence[int] = ()


class GateQuestion(NamedTuple):
    """What the gate asks: for which partitions and user, at which time, which sensitivities are allowed, and whether what has
    ended is too. `filters` has nothing else."""

    connection: Connection
    visible: tuple[VisiblePartition, ...]
    user: str | None
    at: datetime
    filters: Filters


@dataclass(frozen=True, slots=True)
class StoredTexts:
    """Texts whose hashes and search rows the doctor makes again. `count` counts them, `rows` selects them: the first column is
    the row key, which has the name `key`. `check` says of a row whether its hash is the stored one and, where the last argument
    is true, whether its search row is; None where that can't be told or wasn't looked at."""

    count: str
    rows: str
    key: str
    check: Callable[[Connection, tuple[Any, ...], bool], tuple[bool | None, bool | None]]


def _nothing(*_: object) -> tuple[Any, ...]:
    return ()


def _no_size(_: object) -> int:
    return 0


def _not_counted(*_: object) -> Counted:
    return Counted()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SqlKind:
    """One kind of stored things. The functions get a connection inside a snapshot or a transaction."""

    tables: tuple[KindTable, ...] = ()

    # Export.

    dump: Callable[[Connection, int, Owner], Iterable[Thing]] = _nothing
    """Yields the things of a partition, which has this owner, in an order that a restore can follow."""
    size: Callable[[Thing], int] = _no_size
    """The characters or bytes that make one of these things large."""
    contents: Mapping[str, str] = field(default_factory=dict)
    """Further fields of `Contents`, each with the query of its number; `{here}` stands for a list of partitions."""

    # Statistics.

    count: Callable[[Connection, str, datetime], Counted] = _not_counted
    """Counts the things of these partitions, a list in SQL, at a time."""

    # Forgetting: selects, and then removes.

    ids: str = ""
    """The field of `IdsByKind` with the ids of these things; '' where none is forgotten by its id."""
    select: Callable[[Connection, VisiblePartition, Select], Iterable[str]] = _nothing
    """The ids of the things that match all criteria given."""
    made: str = ""
    """The table whose rows may be made of other things (`links.py`), so that they go with these."""
    following: Callable[[Connection, VisiblePartition, Found], Iterable[str]] = _nothing
    """The ids of the things that go with what was found so far. Asked until nothing more is found."""
    sessions: Callable[[Connection, Sequence[str]], Iterable[str]] = _nothing
    """The sessions that go as a whole with things of these ids."""
    at_last: Callable[[Connection, Sequence[str], Sequence[str]], Iterable[str]] = _nothing
    """The ids of the things that go with these things of the kind, unless something is left that holds them. The last argument
    has the ids of all that goes."""
    unsaid: Callable[[Connection, VisiblePartition, Sequence[str]], Iterable[str]] = _nothing
    """The ids of the things that nothing says any more without the things of these ids. `forget` of these removes them
    unnamed; a receipt names them."""
    forget: Callable[[Transaction, tuple[VisiblePartition, ...], Forget], None] = lambda *_: None
    """Removes what a change names and what lies in the partitions. Runs in the reverse order of `KINDS`. Idempotent."""
    sharing: str = ""
    """The query of the partitions with which a partition, its one value, shares things: some are kept for that alone."""
    remains: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Places that hold anything of these things, by what a receipt calls them, each with queries that find what is left of
    forgotten things (`of_ids`, `of_keys`)."""

    # The gate: which ids may be shown. What most assemblies show is found with one statement for all kinds.

    joined: Callable[[GateQuestion], tuple[str, Sequence[Any]]] | None = None
    """A query of id and content hash, whose first value is the list of ids; it becomes part of the one statement."""
    shown: Callable[[GateQuestion, Sequence[str]], Mapping[str, int]] | None = None
    """Returns those of the ids left over that may be shown, each with a hash of what is shown. Ids of other kinds may be among
    them, and must cost no statement unless `asked_last` is set."""
    named: Callable[[str], bool] | None = None
    """Whether an id is, by its form, a name of this kind and of no other: then it is asked for such ids alone, and no other
    kind is asked for them."""
    asked_last: bool = False
    """Whether ids of the kind have no form of their own: it is asked for what no other kind has, in the order of `KINDS`."""
    stands: Callable[[GateQuestion, Sequence[str]], Iterable[str]] = _nothing
    """Those of the ids, none of which may be shown any more, of which a text that was shown may go on standing."""

    # The doctor.

    texts: StoredTexts | None = None
    orphans: Mapping[str, str] = field(default_factory=dict)
    """Rows without what they belong to, by what the doctor calls them, each with the FROM and WHERE of its query."""
    verify: Callable[[Connection], Finding] | None = None
    """Compares what is stored in another way."""


# Queries of what is left of forgotten things: ?1 is bound to their ids.


_IDS = "(SELECT value FROM json_each(?1))"


def of_ids(table: str, column: str = "id") -> str:
    """Finds rows with one of the ids."""
    return f"SELECT 1 FROM {table} WHERE {column} IN {_IDS}"


def of_keys(table: str, column: str, domain: str) -> str:
    """Finds rows with the row key of one of the things, which were in the table `domain`; their tombstones hold it."""
    return f"SELECT 1 FROM {table} WHERE {column} IN (SELECT key FROM tombstones WHERE id IN {_IDS} AND what = '{domain}')"
