"""Injection rows: writes, reads and withdraws the records of what was injected for each turn."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from itertools import product
from typing import Any

from germane.kinds.blocks.value import stored_id
from germane.kinds.injections import (
    MAX_AGE_DAYS,
    MAX_BOUND_RECORDS,
    MAX_CHARACTERS,
    MAX_RECORDS,
    Injection,
    InjectionHead,
    PutInjection,
    WantedInjections,
    Wanting,
    handles_of,
)
from germane.kinds.memories.reads import Forget
from germane.stores.sql.connection import Connection
from germane.stores.sql.kind import KindTable, SqlKind, of_ids
from germane.stores.sql.listing import VisiblePartition
from germane.stores.sql.statements import LISTED, Row, first, from_sql, micros, moment, rows, to_json, to_sql
from germane.stores.sql.transaction import Transaction
from germane.types.trace import InjectedItem

_HEAD = "turn, said, occurrence, tokens, tokenizer, last_handle, created_at, withdrawn, prefix"
_COLUMNS = f"{_HEAD}, text, items, relies_on"
_HEADS = f"SELECT key, {_HEAD} FROM injections WHERE partition = ? AND session = ? ORDER BY key"
_READ = f"SELECT {_COLUMNS} FROM injections WHERE key IN {LISTED} ORDER BY key"
_INSERT = (
    f"INSERT INTO injections (partition, session, {_COLUMNS}) VALUES ({', '.join('?' * 14)})"
    " ON CONFLICT (partition, session, turn, occurrence) DO UPDATE SET text = excluded.text, tokens = excluded.tokens,"
    " tokenizer = excluded.tokenizer, last_handle = excluded.last_handle, items = excluded.items,"
    " created_at = excluded.created_at, withdrawn = excluded.withdrawn, relies_on = excluded.relies_on,"
    " prefix = excluded.prefix WHERE withdrawn <> '' OR ?15 RETURNING key"
)
_SURPLUS = (
    "DELETE FROM injections WHERE key IN (SELECT key FROM (SELECT key, row_number() OVER latest AS place,"
    " sum(octet_length(text)) OVER latest AS size FROM injections WHERE partition = ? AND session = ?"
    " WINDOW latest AS (ORDER BY key DESC)) WHERE place > ? OR size > ?)"
)
_WITHDRAWN = "UPDATE injections SET text = '', items = '[]', tokens = 0, withdrawn = ? WHERE key = ?"
_HOLDING = (
    "SELECT DISTINCT i.key, i.partition, i.items, i.prefix FROM injected_items h JOIN injections i ON i.key = h.injection"
    f" WHERE h.item IN {LISTED}"
)


def session_records(
    connection: Connection, own: VisiblePartition | None, session: str, wanting: Wanting
) -> tuple[tuple[InjectionHead, ...], tuple[Injection, ...], WantedInjections]:
    """Returns the heads of the session's records, those of the records that are wanted whole, and what is wanted."""
    places, heads = list[int](), list[InjectionHead]()
    for key, *row in () if own is None else rows(connection, _HEADS, (own.id, to_sql(session))):
        places.append(key)
        heads.append(InjectionHead(**_head(row)))
    wanted = wanting(heads)
    chosen = [place for place, head in zip(places, heads, strict=True) if head.key in wanted.keys] if wanted.keys else []
    records = tuple(map(_injection, rows(connection, _READ, (to_json(chosen),)))) if chosen else ()
    return tuple(heads), records, wanted


def put_injection(connection: Connection, partition: int, change: PutInjection) -> None:
    """Writes the record, see `PutInjection`. Removes the session's surplus records and the partition's old ones."""
    record = change.injection
    row = (partition, to_sql(change.session), *_row(record), change.replaces)
    written = first(connection, _INSERT, row)
    if written is None:
        return
    connection.execute("DELETE FROM injected_items WHERE injection = ?", written)
    ids = dict.fromkeys(to_sql(stored_id(item.id)) for item in record.items)
    connection.executemany("INSERT INTO injected_items VALUES (?, ?)", [(id, written[0]) for id in ids])
    most = MAX_BOUND_RECORDS if record.prefix else MAX_RECORDS
    connection.execute(_SURPLUS, (partition, to_sql(change.session), most, MAX_CHARACTERS))
    oldest = micros(record.created_at - timedelta(days=MAX_AGE_DAYS))
    connection.execute("DELETE FROM injections WHERE partition = ? AND created_at < ?", (partition, oldest))


def withdraw(transaction: Transaction, ids: Sequence[str], *, changed: bool = False) -> None:
    """Removes text and items of every record, of any session, that holds a memory, message, block or archival entry with
    one of these ids. Where it was only `changed`, a record keeps its text that was made for a model that binds its thinking
    (INJECT-10)."""
    gone = frozenset(ids)
    for key, partition, items, prefix in list(rows(transaction.connection, _HOLDING, (to_json(list(gone)),))):
        if changed and prefix:
            continue
        handles = handles_of(item for item in _items(items) if stored_id(item.id) in gone)
        transaction.connection.execute(_WITHDRAWN, (to_sql(handles), key))
        transaction.connection.execute("DELETE FROM injected_items WHERE injection = ?", (key,))
        transaction.erase(partition)


def _forget(transaction: Transaction, partitions: tuple[VisiblePartition, ...], change: Forget) -> None:
    """Removes all records of the sessions that are forgotten as a whole; what else is forgotten is withdrawn."""
    for session, partition in product(change.sessions, partitions):
        gone = (partition.id, to_sql(session))
        transaction.connection.execute("DELETE FROM injections WHERE partition = ? AND session = ?", gone)
        if transaction.connection.changes():
            transaction.erase(partition.id)


INJECTION_KIND = SqlKind(
    tables=(KindTable("injections", cleared=True),),
    forget=_forget,
    remains={"injected texts": (of_ids("injected_items", "item"),)},
    orphans={"injected items": "injected_items i WHERE NOT EXISTS (SELECT 1 FROM injections WHERE key = i.injection)"},
)


def _row(record: Injection) -> Row:
    items = [
        [item.handle, item.id, item.content_hash, item.source, item.sensitivity, item.stored, item.tokens]
        for item in record.items
    ]
    return (
        record.turn,
        record.said,
        record.occurrence,
        record.tokens,
        record.tokenizer,
        record.last_handle,
        micros(record.created_at),
        record.withdrawn,
        record.prefix,
        to_sql(record.text),
        to_json(items),
        to_json(record.relies_on),
    )


def _head(row: Sequence[Any]) -> dict[str, Any]:
    """The fields of a head, from the columns `_HEAD`."""
    turn, said, occurrence, tokens, tokenizer, last_handle, created_at, withdrawn, prefix = row
    return {
        "turn": turn,
        "said": said,
        "occurrence": occurrence,
        "tokens": tokens,
        "tokenizer": tokenizer,
        "last_handle": last_handle,
        "created_at": moment(created_at),
        "withdrawn": from_sql(withdrawn),
        "prefix": prefix,
    }


def _injection(row: Row) -> Injection:
    *head, text, items, relies_on = row
    return Injection(**_head(head), text=from_sql(text), items=_items(items), relies_on=tuple(json.loads(relies_on)))


def _items(text: str) -> tuple[InjectedItem, ...]:
    found: list[list[Any]] = json.loads(text)
    return tuple(
        InjectedItem(
            handle=handle,
            id=id,
            content_hash=content_hash,
            source=source,
            sensitivity=level,
            stored=kept,
            tokens=tokens[0] if tokens else 0,  # records of earlier versions have none
        )
        for handle, id, content_hash, source, level, kept, *tokens in found
    )
