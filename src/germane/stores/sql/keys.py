"""Keys: stores API keys in the table `keys`, and reads the secret of the store."""

from __future__ import annotations

from typing import Any

from germane.kinds.keys.reads import AddKey, ChangeKey, KeyById, ListKeys, NonceKey
from germane.kinds.keys.value import RIGHTS, Key, StoredKey
from germane.stores.sql.connection import Connection
from germane.stores.sql.listing import SECRET
from germane.stores.sql.reading import ReadTransaction, StoreAnswers
from germane.stores.sql.statements import Row, first, from_json, maybe_micros, maybe_moment, micros, moment, only, rows, to_json
from germane.stores.sql.transaction import StoreAppliers, Transaction

_COLUMNS = "id, org, agents, rights, note, created_at, expires_at, revoked_at, replaced_by, last_used_at"


def _list(reading: ReadTransaction, read: ListKeys) -> tuple[Key, ...]:
    where, values = ("", ()) if read.org is None else ("WHERE org = ?", (read.org,))
    sql = f"SELECT {_COLUMNS} FROM keys {where} ORDER BY created_at, id"
    return tuple(map(_key, rows(reading.connection, sql, values)))


def _add(to: Transaction, change: AddKey) -> None:
    sql = f"INSERT INTO keys ({_COLUMNS}, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    to.connection.execute(sql, (*_row(change.stored.key), change.stored.digest))


def _change(to: Transaction, change: ChangeKey) -> None:
    id, *values = _row(change.key)
    assigned = ", ".join(f"{column} = ?" for column in _COLUMNS.split(", ")[1:])
    to.connection.execute(f"UPDATE keys SET {assigned} WHERE id = ?", (*values, id))


KEY_READS: StoreAnswers = {
    KeyById: lambda reading, read: _stored_key(reading.connection, read.id),
    ListKeys: _list,
    NonceKey: lambda reading, _: bytes(only(reading.connection, SECRET)[0]),
}
KEY_CHANGES: StoreAppliers = {AddKey: _add, ChangeKey: _change}


def _stored_key(connection: Connection, id: str) -> StoredKey | None:
    row = first(connection, f"SELECT {_COLUMNS}, digest FROM keys WHERE id = ?", (id,))
    return None if row is None else StoredKey(key=_key(row), digest=bytes(row[10]))


def _row(key: Key) -> tuple[Any, ...]:
    agents = None if key.agents is None else to_json(key.agents)
    until = maybe_micros(key.expires_at), maybe_micros(key.revoked_at)
    made = micros(key.created_at)
    return key.id, key.org, agents, to_json(key.rights), key.note, made, *until, key.replaced_by, maybe_micros(key.last_used_at)


def _key(row: Row) -> Key:
    id, org, agents, rights, note, created, expires, revoked, replaced_by, used = row[:10]
    named = from_json(rights)
    return Key(
        id=id,
        org=org,
        agents=None if agents is None else tuple(from_json(agents)),
        rights=tuple(right for right in RIGHTS if right in named),
        note=note,
        created_at=moment(created),
        expires_at=maybe_moment(expires),
        revoked_at=maybe_moment(revoked),
        replaced_by=replaced_by,
        last_used_at=maybe_moment(used),
    )
