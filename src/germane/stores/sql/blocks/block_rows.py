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
from germane.stores.sql.columns import FLAG, HEX, TEXT, TIME, Codec, Column, Derived, Given, Joined, RowKey, Table
from germane.stores.sql.connection import Connection
from germane.stores.sql.listing import IN_VISIBLE, VisiblePartition, in_clause, visible_ids
from germane.stores.sql.statements import Row, first, moment, rows, to_json
from germane.stores.sql.transaction import Transaction

_SCHEMAS = 1_024


@lru_cache(_SCHEMAS)
def _schema(written: str) -> Schema:
    return parse_schema(json.loads(written))


BLOCKS = Table(
    "blocks",
    Block,
    (
        RowKey(),
        Column("id", fixed=True),
        Given("partition", fixed=True),
        Column("label"),
        Derived("label_key", lambda block: block.label),
        Column("description", TEXT),
        Column("type"),
        Column("schema", Codec(lambda schema: to_json(schema.as_dict()), _schema)),
        Column("permission"),
        Column("max_characters", field="limit"),
        Column("pinned", FLAG),
        Column("text", TEXT),
        Column("content_hash", HEX),
        Column("version"),
        Column("created_at", TIME, fixed=True),
        Column("updated_at", TIME),
        Column("deleted_at", TIME, null=True),
        Joined("agent", "p.agent"),
        Joined("user", "p.user", Codec(read=lambda user: user or None)),
    ),
    passed=("shared_from", "granted"),
    unstored=("secrets",),
)
_PUT_BLOCK = BLOCKS.upsert("key")
_OWN = (
    f"SELECT {BLOCKS.selected('b')}, b.partition, NULL, b.partition, NULL FROM blocks b{{2}} JOIN partitions p"
    " ON p.id = b.partition WHERE b.partition IN {0} AND {1}"
)
_SHARED = (
    f"SELECT {BLOCKS.selected('b')}, b.partition, s.permission, s.grantee, s.created_at FROM block_shares s"
    " JOIN blocks b ON b.key = s.block JOIN partitions p ON p.id = b.partition"
    " WHERE s.grantee IN {0} AND b.deleted_at IS NULL AND {1}"
)
_KEY, _PERMISSION, _AGENT, _USER = map(BLOCKS.place, ("key", "permission", "agent", "user"))
"""Columns of the rows of `_OWN` and `_SHARED`."""
ALWAYS_SHOWN = "b.deleted_at IS NULL AND (b.type = 'core' OR (b.type = 'working' AND b.pinned))"
"""The condition for blocks that are in every context; the index `blocks_standing` has it word for word. The planner alone would
take `blocks_partition`, which has all of the partition's blocks."""
_HIDE = "UPDATE units_blocks SET kind = ?1, terms = x'', vector = x'', words = 0, revision = ?2 WHERE key = ?3 AND kind <> ?1"
_LACKING = (
    "b.partition IN {0} AND b.deleted_at IS NULL AND NOT EXISTS"
    " (SELECT 1 FROM units_blocks u WHERE u.key = b.key AND u.kind <> ?)"
)
_UNINDEXED = f"b.key IN (SELECT b.key FROM blocks b WHERE {_LACKING} LIMIT ?)"
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
    connection.execute(_PUT_BLOCK, BLOCKS.cells(block, key, partition))
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


def _seen(row: Row, user: str | None) -> SeenBlock:
    partition, granted, through, since = row[-4:]
    permission, agent, own = row[_PERMISSION], row[_AGENT], row[_USER] or None
    block = BLOCKS.value(
        row,
        shared_from=None if granted is None else agent,
        granted="read_only" if own != user else permission if granted is None else effective_permission(granted, permission),
    )
    return SeenBlock(row[_KEY], partition, through, block, since)


# Requests for consent, and shares.


CONSENTS = Table(
    "block_consents",
    ConsentRequest,
    (
        Column("id", fixed=True),
        Given("block", fixed=True),
        Joined("block_id", "b.id"),
        Joined("label", "b.label"),
        Given("requester", fixed=True),
        Column("asked_of", fixed=True),
        Column("operation", fixed=True),
        Column("needs", fixed=True),
        Column("digest", fixed=True),
        Column("requested_by", TEXT, fixed=True),
        Column("requested_at", TIME, fixed=True),
        Column("expires_at", TIME, fixed=True),
        Column("state"),
        Column("scope"),
        Column("until", TIME, null=True),
        Column("answered_at", TIME, null=True),
        Column("used_at", TIME, null=True),
    ),
)
_CONSENT = f"SELECT {CONSENTS.selected('c')} FROM block_consents c JOIN blocks b ON b.key = c.block"
_PUT_CONSENT = CONSENTS.upsert("id")
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
    return tuple(map(CONSENTS.value, rows(connection, sql, (*values, limit))))


def put_consent(connection: Connection, block: int, requester: int, request: ConsentRequest) -> None:
    """Inserts the request or notes its answer; the block's oldest requests beyond 200 are removed."""
    connection.execute(_PUT_CONSENT, CONSENTS.cells(request, block, requester))
    connection.execute(_TRIM, (block, _MAX_CONSENTS))


def shares_of(connection: Connection, own: VisiblePartition, id: str | None = None) -> tuple[Share, ...]:
    """Returns the shares of the partition's blocks, or of the one with this id, by label and agent."""
    clause, values = ("", (own.id,)) if id is None else (" AND b.id = ?", (own.id, id))
    found = rows(connection, f"{_SHARES}{clause} ORDER BY b.label, p.agent", values)
    return tuple(
        Share(block_id=block, label=label, agent=agent, permission=permission, created_at=moment(at))
        for block, label, agent, permission, at in found
    )
