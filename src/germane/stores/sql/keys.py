"""Keys: stores API keys in the table `keys`."""

from __future__ import annotations

from functools import partial
from typing import Any, TypeVar

from germane.errors import InvalidInput, StoreUnavailable
from germane.kinds.keys.plans import AddKey, ChangeKey, KeyById
from germane.kinds.keys.value import RIGHTS, Key, StoredKey
from germane.stores.sql.connection import Connection
from germane.stores.sql.reading import Readers
from germane.stores.sql.statements import Row, first, from_json, maybe_micros, maybe_moment, micros, moment, rows, to_json
from germane.stores.sql.transaction import Transaction, Writer
from germane.types.plan import Change, Plan, Read, run_plan

T = TypeVar("T")

_COLUMNS = "id, org, agents, rights, note, created_at, expires_at, revoked_at, replaced_by, last_used_at"


class SqlKeys:
    """Implements `germane.kinds.keys.plans.KeyStore`."""

    def __init__(self, writer: Writer | None, readers: Readers, name: str) -> None:
        self._writer, self._readers, self._name = writer, readers, name

    async def find(self, id: str) -> StoredKey | None:
        return await self._readers.read_batched(lambda reading: _stored_key(reading.connection, id))

    async def list(self, org: str | None = None) -> tuple[Key, ...]:
        where, values = ("", ()) if org is None else ("WHERE org = ?", (org,))
        sql = f"SELECT {_COLUMNS} FROM keys {where} ORDER BY created_at, id"
        return await self._readers.run(lambda reading: tuple(map(_key, rows(reading.connection, sql, values))))

    async def commit(self, plan: Plan[T]) -> T:
        if self._writer is None:
            raise StoreUnavailable(f"store {self._name!r} is read-only: check the permissions of the file and of its directory")
        return await self._writer.run(lambda transaction: _run(transaction, plan))


def _run(transaction: Transaction, plan: Plan[T]) -> T:
    connection = transaction.connection
    decision = run_plan(plan, partial(_answer, connection))
    for change in decision.changes:
        _apply(connection, change)
    return decision.outcome


def _answer(connection: Connection, read: Read[Any]) -> Key | None:
    if not isinstance(read, KeyById):
        raise InvalidInput(f"the keys can't answer {type(read).__name__}")
    stored = _stored_key(connection, read.id)
    return None if stored is None else stored.key


def _apply(connection: Connection, change: Change) -> None:
    match change:
        case AddKey(stored):
            sql = f"INSERT INTO keys ({_COLUMNS}, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            connection.execute(sql, (*_row(stored.key), stored.digest))
        case ChangeKey(key):
            id, *values = _row(key)
            assigned = ", ".join(f"{column} = ?" for column in _COLUMNS.split(", ")[1:])
            connection.execute(f"UPDATE keys SET {assigned} WHERE id = ?", (*values, id))
        case _:
            raise InvalidInput(f"the keys can't be changed by {type(change).__name__}")


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
