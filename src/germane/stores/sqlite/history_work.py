"""History work: answers the reads of one plan about archive, summaries and outlines, and applies its changes."""

from __future__ import annotations

from typing import Any

import apsw

from germane.compaction.operations import (
    CompleteOutline,
    HandlesKept,
    HistoryIds,
    HistoryIdsInUse,
    OutlineLeft,
    PutArchived,
    PutSummary,
    SummariesKept,
)
from germane.errors import InvalidInput
from germane.stores.sqlite.encoding import LISTED, shown, stored, to_json
from germane.stores.sqlite.history import handles_kept, put_archived, put_summary, summaries_kept
from germane.stores.sqlite.outlines import complete_outline, outline_left
from germane.stores.sqlite.rows import first, rows
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.visible_partitions import VisiblePartition
from germane.types.plan import Change, Read
from germane.types.scope import Scope

__all__ = ["HISTORY_CHANGES", "HISTORY_READS", "answer_history", "apply_history", "session_key"]

HISTORY_READS = (HandlesKept, SummariesKept, HistoryIdsInUse, OutlineLeft)
HISTORY_CHANGES = (PutArchived, PutSummary, CompleteOutline)
_THESE = LISTED.replace("?", "?2")
_OWN = (
    f"SELECT id, session, handle, '' FROM history_archive WHERE partition = ?1 AND id IN {_THESE} UNION ALL"
    f" SELECT id, session, fingerprint, method FROM history_summaries WHERE partition = ?1 AND id IN {_THESE}"
)


def answer_history(transaction: Transaction, own: VisiblePartition | None, read: Read[Any]) -> Any:
    """Answers a read of `HISTORY_READS`; `own` is the partition of the scope's own user, None where it doesn't exist."""
    connection, partition = transaction.connection, -1 if own is None else own.id
    match read:
        case HandlesKept(session, handles):
            return handles_kept(connection, partition, session, handles)
        case SummariesKept(session, fingerprints):
            return summaries_kept(connection, partition, session, fingerprints)
        case HistoryIdsInUse(ids):
            return _in_use(connection, partition, ids)
        case OutlineLeft(session):
            transaction.write_events()
            key = session_key(connection, partition, session)
            return key is not None and outline_left(connection, key)
    raise InvalidInput(f"the store can't answer {type(read).__name__}")


def apply_history(transaction: Transaction, scope: Scope, change: Change) -> None:
    """Applies a change of `HISTORY_CHANGES`."""
    partition, connection = transaction.own(scope), transaction.connection
    match change:
        case PutArchived(archived):
            put_archived(connection, partition, archived)
        case PutSummary(kept):
            put_summary(connection, partition, kept)
        case CompleteOutline(session):
            transaction.write_events()
            key = session_key(connection, partition, session)
            if key is not None:
                complete_outline(connection, key)
    transaction.touch((partition,))


def session_key(connection: apsw.Connection, partition: int, session: str) -> int | None:
    """Returns the key of a session that is a conversation; None where there is none."""
    sql = "SELECT key FROM sessions WHERE partition = ? AND id = ? AND document IS NULL"
    row = first(connection, sql, (partition, stored(session)))
    return None if row is None else int(row[0])


def _in_use(connection: apsw.Connection, partition: int, ids: tuple[str, ...]) -> HistoryIds:
    wanted = to_json(list(ids))
    own = {
        id: (shown(session), shown(under), method) for id, session, under, method in rows(connection, _OWN, (partition, wanted))
    }
    forgotten = frozenset(id for (id,) in rows(connection, f"SELECT id FROM tombstones WHERE id IN {LISTED}", (wanted,)))
    sql = " UNION ALL ".join(
        f"SELECT id FROM {table} WHERE id IN {LISTED}" for table in ("history_archive", "history_summaries")
    )
    taken = {id for (id,) in rows(connection, sql, (wanted, wanted))}
    return HistoryIds(own, forgotten, frozenset(taken - own.keys()))
