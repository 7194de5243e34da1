"""Listing: the cursor at which a listing continues, and rows of several partitions in one order.

A cursor holds an encrypted position and is bound to the listing's scope and filters. A position is the time and the row key of
the last thing listed. Row keys count the writes of all orgs in the store, so the position is encrypted, and authenticated
together with the scope and the filters. Both keys are derived from the store's secret. The same position of the same listing
gives the same cursor; cursors of different listings can't be compared. The scheme is a synthetic IV (SIV, RFC 5297) from the
standard library: the tag is a keyed BLAKE2 hash of the position, and serves as the nonce of the key stream.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from hashlib import blake2b
from heapq import merge
from struct import Struct
from typing import Any, NamedTuple

from germane.errors import InvalidInput
from germane.stores.sql.connection import Connection
from germane.stores.sql.statements import Row, first, rows, to_json
from germane.types.query import Filters
from germane.types.scope import Scope

SECRET = "SELECT value FROM meta WHERE key = 'nonce_key'"
"""Reads the store's secret."""
_POSITION = Struct(">qq")
_TAG = 16


class Listing:
    """The listing of `what` in one scope with these filters; `secret` is the store's secret."""

    def __init__(self, secret: bytes, scope: Scope, filters: Filters, what: str = "memories") -> None:
        given = {name: getattr(filters, name) for name in filters.__slots__}
        given |= {"exclude": sorted(filters.exclude)}
        about = to_json([what, scope.org, scope.agent, scope.user, given]).encode()
        self._sealing = blake2b(about, key=secret, person=b"cursor: seal", digest_size=32).digest()
        self._hiding = blake2b(key=secret, person=b"cursor: hide", digest_size=32).digest()

    def cursor(self, at: int, key: int) -> str:
        """Returns the cursor that continues after this row."""
        position = _POSITION.pack(at, key)
        tag = self._tag(position)
        return urlsafe_b64encode(tag + self._hidden(tag, position)).decode().rstrip("=")

    def position(self, cursor: str) -> tuple[int, int]:
        """Returns the time and the key of the last row listed. Raises `InvalidInput` for a text that isn't a cursor of this
        listing."""
        try:
            sealed = urlsafe_b64decode(f"{cursor}=")
        except ValueError:
            sealed = b""
        tag, position = sealed[:_TAG], self._hidden(sealed[:_TAG], sealed[_TAG:])
        good = len(sealed) == _TAG + _POSITION.size and hmac.compare_digest(tag, self._tag(position))
        if not good or urlsafe_b64encode(sealed).decode().rstrip("=") != cursor:
            raise InvalidInput(
                "cursor isn't one that a listing gave to this scope, with these filters: begin again without one"
            )
        at, key = _POSITION.unpack(position)
        return at, key

    def _tag(self, position: bytes) -> bytes:
        return blake2b(position, key=self._sealing, digest_size=_TAG).digest()

    def _hidden(self, tag: bytes, position: bytes) -> bytes:
        """Hides a position, or shows it again."""
        stream = blake2b(tag, key=self._hiding, digest_size=_POSITION.size).digest()
        return bytes(one ^ other for one, other in zip(position, stream, strict=False))


# Each partition's rows are read in the order of its index: one statement for two partitions would sort the rows of
# both, however few of them are looked at.


def merge_rows(
    visible: tuple[VisiblePartition, ...],
    rows_of: Callable[[VisiblePartition], Iterator[Row]],
    key: Callable[[Row], Any],
    *,
    descending: bool = False,
) -> Iterator[Row]:
    """Yields the rows of all partitions by `key`, by which `rows_of` returns those of each already in order."""
    return merge(*map(rows_of, visible), key=key, reverse=descending)


# Visible partitions: the partitions that a scope can reach; each statement of a scoped store is bound to them.


FORGOTTEN_ORG = ""
"""The org of a partition that was forgotten as a whole; no scope has this org."""

IN_VISIBLE = "(?, ?)"
"""The ids of visible partitions for an SQL `IN`, to which `visible_ids` is bound. The text of such a statement is the same for
all users, so that a connection prepares it once: preparing it anew for each user took a fifteenth of an assembly."""

_SQL = "SELECT id, user, revision FROM partitions WHERE org = ? AND agent = ? AND user IN (?, ?)"
_NOBODY = 0
"""No partition has this id."""


class VisiblePartition(NamedTuple):
    """One partition: the rows of one user with one agent (`user` None: agent-wide). `revision` is that of its last change."""

    id: int
    user: str | None
    revision: int


def visible_partitions(connection: Connection, scope: Scope) -> tuple[VisiblePartition, ...]:
    """Returns the partitions that the scope sees: the agent-wide one, then its user's. A partition doesn't exist before its
    first write."""
    found = rows(connection, _SQL, (scope.org, scope.agent, "", scope.user or ""))
    seen = [VisiblePartition(id, user or None, revision) for id, user, revision in found]
    return tuple(sorted(seen, key=lambda partition: partition.user is not None))


def is_forgotten(connection: Connection, partition: int) -> bool:
    """Whether this partition was forgotten as a whole, so that no scope can reach it."""
    return first(connection, "SELECT 1 FROM partitions WHERE id = ? AND org <> ?", (partition, FORGOTTEN_ORG)) is None


def owners(visible: tuple[VisiblePartition, ...]) -> dict[int, str | None]:
    """Returns each partition's user by the partition's id; None for the agent-wide partition."""
    return {partition.id: partition.user for partition in visible}


def visible_ids(visible: tuple[VisiblePartition, ...]) -> tuple[int, int]:
    """Returns the values for `IN_VISIBLE`. A scope sees two partitions at most."""
    ids = [partition.id for partition in visible] or [_NOBODY]
    return ids[0], ids[-1]


def in_clause(visible: tuple[VisiblePartition, ...]) -> str:
    """Returns the ids of any number of partitions for an SQL `IN` of a statement that isn't part of each assembly. They are
    integers from the file, never a caller's text."""
    return f"({','.join(str(int(partition.id)) for partition in visible)})"
