"""Keys: stores API keys in the table `keys`, and reads the secret of the store."""

from __future__ import annotations

import json

from germane.kinds.keys.reads import AddKey, ChangeKey, KeyById, ListKeys, NonceKey
from germane.kinds.keys.value import RIGHTS, Key, Right, StoredKey
from germane.stores.sql.columns import TIME, TUPLE, Codec, Column, Given, Table
from germane.stores.sql.connection import Connection
from germane.stores.sql.listing import SECRET
from germane.stores.sql.reading import ReadTransaction, StoreAnswers
from germane.stores.sql.statements import first, only, rows, to_json
from germane.stores.sql.transaction import StoreAppliers, Transaction


def _rights(text: str) -> tuple[Right, ...]:
    named = json.loads(text)
    return tuple(right for right in RIGHTS if right in named)


KEYS = Table(
    "keys",
    Key,
    (
        Column("id"),
        Given("digest", fixed=True),
        Column("org"),
        Column("agents", TUPLE, null=True),
        Column("rights", Codec(to_json, _rights)),
        Column("note"),
        Column("created_at", TIME),
        Column("expires_at", TIME, null=True),
        Column("revoked_at", TIME, null=True),
        Column("replaced_by"),
        Column("last_used_at", TIME, null=True),
    ),
)
_INSERT = KEYS.insert()
_UPDATE = KEYS.update("id")


def _list(reading: ReadTransaction, read: ListKeys) -> tuple[Key, ...]:
    where, values = ("", ()) if read.org is None else ("WHERE org = ?", (read.org,))
    sql = f"SELECT {KEYS.selected()} FROM keys {where} ORDER BY created_at, id"
    return tuple(map(KEYS.value, rows(reading.connection, sql, values)))


def _add(to: Transaction, change: AddKey) -> None:
    to.connection.execute(_INSERT, KEYS.cells(change.stored.key, digest=change.stored.digest))


def _change(to: Transaction, change: ChangeKey) -> None:
    to.connection.execute(_UPDATE, KEYS.cells(change.key, digest=None))  # the digest stays


KEY_READS: StoreAnswers = {
    KeyById: lambda reading, read: _stored_key(reading.connection, read.id),
    ListKeys: _list,
    NonceKey: lambda reading, _: bytes(only(reading.connection, SECRET)[0]),
}
KEY_CHANGES: StoreAppliers = {AddKey: _add, ChangeKey: _change}


def _stored_key(connection: Connection, id: str) -> StoredKey | None:
    row = first(connection, f"SELECT {KEYS.selected()}, digest FROM keys WHERE id = ?", (id,))
    return None if row is None else StoredKey(key=KEYS.value(row), digest=bytes(row[-1]))
