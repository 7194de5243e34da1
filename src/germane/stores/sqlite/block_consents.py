"""Block consent rows: requests for consent, and shares."""

from __future__ import annotations

from typing import Any

import apsw

from germane.blocks.consent_request import ConsentRequest
from germane.blocks.share import Share
from germane.stores.sqlite.encoding import maybe_micros, maybe_moment, micros, moment, shown, stored
from germane.stores.sqlite.rows import rows
from germane.stores.sqlite.visible_partitions import VisiblePartition

__all__ = ["consents", "put_consent", "shares_of"]

_CONSENT = (
    "SELECT c.id, b.id, b.label, c.asked_of, c.operation, c.needs, c.digest, c.requested_by, c.requested_at, c.expires_at,"
    " c.state, c.scope, c.until, c.answered_at, c.used_at FROM block_consents c JOIN blocks b ON b.key = c.block"
)
_PUT = (
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


def consents(connection: apsw.Connection, clause: str, values: tuple[Any, ...], limit: int) -> tuple[ConsentRequest, ...]:
    """Returns the requests `c` on blocks `b` that meet the clause, newest first."""
    sql = f"{_CONSENT} WHERE {clause} ORDER BY c.requested_at DESC, c.id DESC LIMIT ?"
    return tuple(_request(row) for row in rows(connection, sql, (*values, limit)))


def put_consent(connection: apsw.Connection, block: int, requester: int, request: ConsentRequest) -> None:
    """Inserts the request or notes its answer; the block's oldest requests beyond 200 are removed."""
    row = (
        request.id,
        block,
        requester,
        request.asked_of,
        request.operation,
        request.needs,
        request.digest,
        stored(request.requested_by),
        micros(request.requested_at),
        micros(request.expires_at),
        request.state,
        request.scope,
        maybe_micros(request.until),
        maybe_micros(request.answered_at),
        maybe_micros(request.used_at),
    )
    connection.execute(_PUT, row)
    connection.execute(_TRIM, (block, _MAX_CONSENTS))


def shares_of(connection: apsw.Connection, own: VisiblePartition, id: str | None = None) -> tuple[Share, ...]:
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
        requested_by=shown(row[7]),
        requested_at=moment(row[8]),
        expires_at=moment(row[9]),
        state=row[10],
        scope=row[11],
        until=maybe_moment(row[12]),
        answered_at=maybe_moment(row[13]),
        used_at=maybe_moment(row[14]),
    )
