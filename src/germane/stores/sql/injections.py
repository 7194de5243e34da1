"""Injection rows: writes, reads and withdraws the records of what was injected for each turn."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from germane.kinds.blocks.value import stored_id
from germane.kinds.injections import (
    MAX_AGE_DAYS,
    MAX_BOUND_RECORDS,
    MAX_CHARACTERS,
    MAX_RECORDS,
    Injection,
    InjectionHead,
    KeptInjections,
    PutInjection,
    SessionInjections,
    handles_of,
)
from germane.stores.sql.columns import TEXT, TIME, TUPLE, Codec, Column, Given, RowKey, Table
from germane.stores.sql.connection import Connection
from germane.stores.sql.gate import (
    allowed_of,
    archived_now,
    clauses_now,
    graph_now,
    held_filters,
    present_now,
    present_of,
    tasks_now,
)
from germane.stores.sql.listing import VisiblePartition, in_clause, owners
from germane.stores.sql.reading import Answers, ScopeReading
from germane.stores.sql.statements import LISTED, first, micros, rows, to_json, to_sql
from germane.stores.sql.transaction import Appliers, ScopeWriting, Transaction
from germane.types.query import EVERY_SENSITIVITY
from germane.types.trace import InjectedItem


def _written_items(items: Sequence[InjectedItem]) -> str:
    return to_json(
        [[item.handle, item.id, item.content_hash, item.source, item.sensitivity, item.stored, item.tokens] for item in items]
    )


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


_HEAD_COLUMNS = (
    Column("turn"),
    Column("said", fixed=True),
    Column("occurrence"),
    Column("tokens"),
    Column("tokenizer"),
    Column("last_handle"),
    Column("created_at", TIME),
    Column("withdrawn", TEXT),
    Column("prefix"),
)
HEADS = Table("injections", InjectionHead, (RowKey(), *_HEAD_COLUMNS))
INJECTIONS = Table(
    "injections",
    Injection,
    (
        RowKey(),
        Given("partition"),
        Given("session"),
        *_HEAD_COLUMNS,
        Column("text", TEXT),
        Column("items", Codec(_written_items, _items)),
        Column("relies_on", TUPLE),
    ),
)
_HEADS = f"SELECT {HEADS.selected()} FROM injections WHERE partition = ? AND session = ? ORDER BY key"
_READ = f"SELECT {INJECTIONS.selected()} FROM injections WHERE key IN {LISTED} ORDER BY key"
_PUT = f"{INJECTIONS.upsert('partition, session, turn, occurrence')} WHERE withdrawn <> '' OR ? RETURNING key"
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


def _of_session(reading: ScopeReading, read: SessionInjections) -> KeptInjections:
    own, session = reading.own, reading.scope.session
    if session is None:
        return KeptInjections()
    places, heads = list[int](), list[InjectionHead]()
    for row in () if own is None else rows(reading.connection, _HEADS, (own.id, to_sql(session))):
        places.append(row[0])
        heads.append(HEADS.value(row))
    wanted = read.wanting(heads)
    chosen = [place for place, head in zip(places, heads, strict=True) if head.key in wanted.keys] if wanted.keys else []
    records = tuple(map(INJECTIONS.value, rows(reading.connection, _READ, (to_json(chosen),)))) if chosen else ()
    ids = sorted({item.id for record in records for item in record.items if item.stored} | wanted.ids)
    held = held_filters(reading, read.filters)
    present = present_of(reading, ids, held) if wanted.presence else frozenset()
    return KeptInjections(tuple(heads), records, allowed_of(reading, ids, read.at, held), present)


INJECTION_READS: Answers = {SessionInjections: _of_session}


def _put_record(writing: ScopeWriting, change: PutInjection) -> None:
    """See `PutInjection`. Removes the session's surplus records and the partition's old ones."""
    partition = writing.own_id()
    connection, record, visible = writing.connection, change.injection, writing.visible
    user = owners(visible)[partition]
    if not (_all_present if record.prefix else _as_stored)(connection, visible, user, record.items):
        return
    cells = INJECTIONS.cells(record, None, partition, to_sql(change.session))
    written = first(connection, _PUT, (*cells, change.replaces))
    if written is None:
        return
    connection.execute("DELETE FROM injected_items WHERE injection = ?", written)
    ids = dict.fromkeys(to_sql(stored_id(item.id)) for item in record.items)
    connection.executemany("INSERT INTO injected_items VALUES (?, ?)", [(id, written[0]) for id in ids])
    most = MAX_BOUND_RECORDS if record.prefix else MAX_RECORDS
    connection.execute(_SURPLUS, (partition, to_sql(change.session), most, MAX_CHARACTERS))
    oldest = micros(record.created_at - timedelta(days=MAX_AGE_DAYS))
    connection.execute("DELETE FROM injections WHERE partition = ? AND created_at < ?", (partition, oldest))


INJECTION_CHANGES: Appliers = {PutInjection: _put_record}


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


def forget_sessions(transaction: Transaction, partitions: Iterable[VisiblePartition], session: str) -> None:
    """Removes all records of the session in these partitions."""
    for partition in partitions:
        gone = (partition.id, to_sql(session))
        transaction.connection.execute("DELETE FROM injections WHERE partition = ? AND session = ?", gone)
        if transaction.connection.changes():
            transaction.erase(partition.id)


def _as_stored(
    connection: Connection, visible: tuple[VisiblePartition, ...], user: str | None, items: Sequence[InjectedItem]
) -> bool:
    """Whether each item is still stored with the content that it was made from, as a scope with this user sees it."""
    where = f"WHERE id = ?1 AND content_hash = ?2 AND partition IN {in_clause(visible)}"
    sql = f"SELECT 1 FROM memories {where} UNION ALL SELECT 1 FROM events {where}"
    rest = {item.id: item for item in items if item.stored and not first(connection, sql, (to_sql(item.id), item.content_hash))}
    if not rest:
        return True
    shown = archived_now(connection, visible, user, list(rest))
    shown |= clauses_now(connection, visible, list(rest), EVERY_SENSITIVITY)
    shown |= tasks_now(connection, visible, user, list(rest), EVERY_SENSITIVITY.sensitivities)
    if len(shown) < len(rest):
        shown |= graph_now(connection, visible, [id for id in rest if id not in shown], at=None, filters=EVERY_SENSITIVITY)
    return all(shown.get(id) == item.content_hash for id, item in rest.items())


def _all_present(
    connection: Connection, visible: tuple[VisiblePartition, ...], user: str | None, items: Sequence[InjectedItem]
) -> bool:
    """Whether each item is still stored, with whatever content."""
    ids = [item.id for item in items if item.stored]
    return present_now(connection, visible, user, ids, filters=EVERY_SENSITIVITY).issuperset(ids)
