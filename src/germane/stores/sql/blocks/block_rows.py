"""Block rows: converts blocks to rows and back, finds those that a scope sees, and writes them with their search rows.

Requests for consent and shares have their rows here too.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, NamedTuple

from germane.errors import NotFound
from germane.kinds.blocks.permission import ConsentRequest, Share, effective_permission
from germane.kinds.blocks.schema import Schema, parse_schema
from germane.kinds.blocks.value import ArchivalEntry, Block, searched_text
from germane.search.unit import KIND_CODES, describe
from germane.stores.sql.connection import Connection
from germane.stores.sql.listing import IN_VISIBLE, VisiblePartition, in_clause, visible_ids
from germane.stores.sql.statements import first, from_sql, maybe_micros, maybe_moment, micros, moment, rows, to_json, to_sql
from germane.stores.sql.transaction import Transaction

_COLUMNS = (
    "b.key, b.id, b.partition, b.label, b.description, b.type, b.schema, b.permission, b.max_characters, b.pinned, b.text,"
    " b.content_hash, b.version, b.created_at, b.updated_at, b.deleted_at, p.agent, p.user"
)
_OWN = (
    f"SELECT {_COLUMNS}, NULL, b.partition, NULL FROM blocks b{{2}} JOIN partitions p ON p.id = b.partition"
    " WHERE b.partition IN {0} AND {1}"
)
_SHARED = (
    f"SELECT {_COLUMNS}, s.permission, s.grantee, s.created_at FROM block_shares s JOIN blocks b ON b.key = s.block"
    " JOIN partitions p ON p.id = b.partition WHERE s.grantee IN {0} AND b.deleted_at IS NULL AND {1}"
)
ALWAYS_SHOWN = "b.deleted_at IS NULL AND (b.type = 'core' OR (b.type = 'working' AND b.pinned))"
"""The condition for blocks that are in every context; the index `blocks_standing` has it word for word. The planner alone would
take `blocks_partition`, which has all of the partition's blocks."""
_PUT_BLOCK = (
    "INSERT INTO blocks (key, id, partition, label, label_key, description, type, schema, permission, max_characters, pinned,"
    " text, content_hash, version, created_at, updated_at, deleted_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (key) DO UPDATE SET (label, label_key, description, type, schema, permission, max_characters, pinned, text,"
    " content_hash, version, updated_at, deleted_at) = (excluded.label, excluded.label_key, excluded.description,"
    " excluded.type, excluded.schema, excluded.permission, excluded.max_characters, excluded.pinned, excluded.text,"
    " excluded.content_hash, excluded.version, excluded.updated_at, excluded.deleted_at)"
)
_HIDE = "UPDATE units_blocks SET kind = ?1, terms = x'', vector = x'', words = 0, revision = ?2 WHERE key = ?3 AND kind <> ?1"
_LACKING = (
    "b.partition IN {0} AND b.deleted_at IS NULL AND NOT EXISTS"
    " (SELECT 1 FROM units_blocks u WHERE u.key = b.key AND u.kind <> ?)"
)
_UNINDEXED = f"b.key IN (SELECT b.key FROM blocks b WHERE {_LACKING} LIMIT ?)"
_SCHEMAS = 1_024
_ID = 36
"""Characters of an id."""


class SeenBlock(NamedTuple):
    """A block that a scope sees. `partition` is the owner's; `through` is the partition of the scope by which it sees the
    block: the same one, or that of a share. `since` is when it was shared, in microseconds; None for an own one."""

    key: int
    partition: int
    through: int
    block: Block
    since: int | None = None

    @property
    def rank(self) -> tuple[bool, str, bool, str]:
        """The order of listings: own blocks before shared ones, then by label, a user's before an agent-wide one, and by
        owner."""
        block = self.block
        return block.shared_from is not None, block.label, block.user is None, block.shared_from or ""


def seen_blocks(
    connection: Connection,
    visible: tuple[VisiblePartition, ...],
    user: str | None,
    clause: str,
    values: tuple[Any, ...] = (),
    *,
    shared: bool = True,
) -> list[SeenBlock]:
    """Returns the blocks `b` that a scope with this user sees and that meet the clause, in the order of `SeenBlock.rank`."""
    if not visible:
        return []
    index = " INDEXED BY blocks_standing" if clause == ALWAYS_SHOWN else ""
    sql, bound = _OWN.format(IN_VISIBLE, clause, index), (*visible_ids(visible), *values)
    if shared:
        sql, bound = f"{sql} UNION ALL {_SHARED.format(IN_VISIBLE, clause)}", (*bound, *bound)
    return sorted((_seen(row, user) for row in rows(connection, sql, bound)), key=lambda seen: seen.rank)


def block_named(connection: Connection, visible: tuple[VisiblePartition, ...], user: str | None, name: str) -> list[SeenBlock]:
    """Returns the block with this id, deleted or not, or those with this label key; see `BlocksNamed`. The id comes first: else
    whoever shares a block could label it with the id of another one."""
    found = seen_blocks(connection, visible, user, "b.id = ?", (name,)) if len(name) == _ID else []
    return found or seen_blocks(connection, visible, user, "b.label_key = ? AND b.deleted_at IS NULL", (name,))


def in_folder(folder: str) -> tuple[str, tuple[str, str]]:
    """Returns the clause, and its values, for blocks whose labels begin with a folder and a slash."""
    after = chr(ord("/") + 1)  # the first character behind the slash
    return "b.label_key >= ? AND b.label_key < ? AND b.deleted_at IS NULL", (f"{folder}/", f"{folder}{after}")


def put_block(transaction: Transaction, partition: int, key: int | None, block: Block) -> int:
    """Inserts the block (`key` None) or replaces the one with this key. Returns the key. Raises `NotFound` where the id belongs
    to somebody else's block."""
    connection = transaction.connection
    (line,) = transaction.keys("blocks", 1)
    if key is None:
        if first(connection, "SELECT 1 FROM blocks WHERE id = ?", (block.id,)) is not None:
            raise NotFound("no block {} of this scope's own", block.id)
        key = line
    connection.execute(_PUT_BLOCK, _row(key, partition, block))
    if block.type == "archival" and block.deleted_at is None:
        _derive(transaction, partition, key, line, block)
    else:
        transaction.flush()
        connection.execute(_HIDE, (KIND_CODES["hidden"], transaction.revision, key))
    touch_block(transaction, partition, key)
    return key


def unindexed(connection: Connection, visible: tuple[VisiblePartition, ...], user: str | None, limit: int) -> list[SeenBlock]:
    """Returns at most `limit` blocks of the partitions themselves that have no search row of their present text."""
    clause = _UNINDEXED.format(in_clause(visible))
    return seen_blocks(connection, visible, user, clause, (KIND_CODES["hidden"], limit), shared=False)


def all_indexed(connection: Connection, visible: tuple[VisiblePartition, ...]) -> bool:
    """Whether `unindexed` would find nothing."""
    sql = f"SELECT 1 FROM blocks b WHERE {_LACKING.format(in_clause(visible))} LIMIT 1"
    return not visible or first(connection, sql, (KIND_CODES["hidden"],)) is None


def derive_block(transaction: Transaction, seen: SeenBlock) -> None:
    """Derives the search row of a block as it is now."""
    (line,) = transaction.keys("blocks", 1)
    _derive(transaction, seen.partition, seen.key, line, seen.block)
    transaction.touch((seen.partition,))


def touch_block(transaction: Transaction, partition: int, key: int) -> None:
    """Marks the block's owner as changed, and everybody whom the block is shared with."""
    grantees = rows(transaction.connection, "SELECT grantee FROM block_shares WHERE block = ?", (key,))
    transaction.touch((partition, *(grantee for (grantee,) in grantees)))


def derive_entry(transaction: Transaction, partition: int, key: int, session: int, entry: ArchivalEntry) -> None:
    """Derives the search row of an archival entry, or of a block as one. `session` is a new number each time: an entry has no
    neighbours, its former text included."""
    text = searched_text(entry)
    unit = describe(
        key=key,
        session=session,
        created_at=entry.created_at.timestamp(),
        text=text,
        role="",
        name="",
        sensitivity="private",
        kind="entry" if entry.label is None else "archival" if entry.type == "archival" else "block",
    )
    transaction.derive("blocks", partition, [(unit, text)])


def _derive(transaction: Transaction, partition: int, key: int, session: int, block: Block) -> None:
    entry = ArchivalEntry(
        id=block.id, text=block.text, created_at=block.created_at, user=block.user, label=block.label, type=block.type
    )
    derive_entry(transaction, partition, key, session, entry)


def _seen(row: tuple[Any, ...], user: str | None) -> SeenBlock:
    permission, granted = row[7], row[18]
    own = row[17] or None
    block = Block(
        id=row[1],
        label=row[3],
        description=from_sql(row[4]),
        type=row[5],
        schema=_schema(row[6]),
        permission=permission,
        limit=row[8],
        pinned=bool(row[9]),
        text=from_sql(row[10]),
        content_hash=row[11].hex(),
        version=row[12],
        created_at=moment(row[13]),
        updated_at=moment(row[14]),
        deleted_at=maybe_moment(row[15]),
        agent=row[16],
        user=own,
        shared_from=None if granted is None else row[16],
        granted="read_only" if own != user else permission if granted is None else effective_permission(granted, permission),
    )
    return SeenBlock(row[0], row[2], row[19], block, row[20])


@lru_cache(_SCHEMAS)
def _schema(written: str) -> Schema:
    return parse_schema(json.loads(written))


def _row(key: int, partition: int, block: Block) -> tuple[Any, ...]:
    return (
        key,
        block.id,
        partition,
        block.label,
        block.label,
        to_sql(block.description),
        block.type,
        to_json(block.schema.as_dict()),
        block.permission,
        block.limit,
        block.pinned,
        to_sql(block.text),
        bytes.fromhex(block.content_hash),
        block.version,
        micros(block.created_at),
        micros(block.updated_at),
        maybe_micros(block.deleted_at),
    )


# Requests for consent, and shares.


_CONSENT = (
    "SELECT c.id, b.id, b.label, c.asked_of, c.operation, c.needs, c.digest, c.requested_by, c.requested_at, c.expires_at,"
    " c.state, c.scope, c.until, c.answered_at, c.used_at FROM block_consents c JOIN blocks b ON b.key = c.block"
)
_PUT_CONSENT = (
    "INSERT INTO block_consents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
    " (state, scope, until, answered_at, used_at) = (excluded.state, excluded.scope, excluded.until, excluded.answered_at,"
    " excluded.used_at)"
)
_TRIM = (
    "DELETE FROM block_consents WHERE block = ?1 AND id NOT IN"
    " (SELECT id FROM block_consents WHERE block = ?1 ORDER BY requested_at DESC, id DESC LIMIT ?2)"
)
_MAX_CONSENTS = 200
"""Requests that are kept for one block."""
_SHARES = (
    "SELECT b.id, b.label, p.agent, s.permission, s.created_at FROM blocks b JOIN block_shares s ON s.block = b.key"
    " JOIN partitions p ON p.id = s.grantee WHERE b.partition = ? AND b.deleted_at IS NULL"
)


def consents(connection: Connection, clause: str, values: tuple[Any, ...], limit: int) -> tuple[ConsentRequest, ...]:
    """Returns the requests `c` on blocks `b` that meet the clause, newest first."""
    sql = f"{_CONSENT} WHERE {clause} ORDER BY c.requested_at DESC, c.id DESC LIMIT ?"
    return tuple(_request(row) for row in rows(connection, sql, (*values, limit)))


def put_consent(connection: Connection, block: int, requester: int, request: ConsentRequest) -> None:
    """Inserts the request or notes its answer; the block's oldest requests beyond 200 are removed."""
    row = (
        request.id,
        block,
        requester,
        request.asked_of,
        request.operation,
        request.needs,
        request.digest,
        to_sql(request.requested_by),
        micros(request.requested_at),
        micros(request.expires_at),
        request.state,
        request.scope,
        maybe_micros(request.until),
        maybe_micros(request.answered_at),
        maybe_micros(request.used_at),
    )
    connection.execute(_PUT_CONSENT, row)
    connection.execute(_TRIM, (block, _MAX_CONSENTS))


def shares_of(connection: Connection, own: VisiblePartition, id: str | None = None) -> tuple[Share, ...]:
    """Returns the shares of the partition's blocks, or of the one with this id, by label and agent."""
    clause, values = ("", (own.id,)) if id is None else (" AND b.id = ?", (own.id, id))
    found = rows(connection, f"{_SHARES}{clause} ORDER BY b.label, p.agent", values)
    return tuple(
        Share(block_id=block, label=label, agent=agent, permission=permission, created_at=moment(at))
        for block, label, agent, permission, at in found
    )


def _request(row: tuple[Any, ...]) -> ConsentRequest:
    return ConsentRequest(
        id=row[0],
        block_id=row[1],
        label=row[2],
        asked_of=row[3],
        operation=row[4],
        needs=row[5],
        digest=row[6],
        requested_by=from_sql(row[7]),
        requested_at=moment(row[8]),
        expires_at=moment(row[9]),
        state=row[10],
        scope=row[11],
        until=maybe_moment(row[12]),
        answered_at=maybe_moment(row[13]),
        used_at=maybe_moment(row[14]),
    )
