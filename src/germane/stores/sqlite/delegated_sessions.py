"""Delegated sessions: what the agent that works in a session was given, so that neither depth nor sensitivity can be evaded."""

from __future__ import annotations

import json

import apsw

from germane.stores.sqlite.encoding import stored
from germane.stores.sqlite.rows import first
from germane.tasks.limits import DelegatedSession
from germane.types.scope import Scope

__all__ = ["delegated_session"]

_FRAME = (
    "SELECT t.delegation_depth, t.allowed, t.status IN ('active', 'blocked') FROM tasks t"
    " JOIN partitions p ON p.id = t.partition"
    " WHERE t.child_session = ? AND p.org = ? AND p.agent = ? AND (? OR p.user = ?) ORDER BY t.key DESC LIMIT 1"
)


def delegated_session(connection: apsw.Connection, scope: Scope) -> DelegatedSession | None:
    """Returns what the agent in the scope's session was given; None where nobody delegated into it. The frame is its parent's:
    the user's own, or for a scope without a user, which may be narrower than its parent's, any user's of the same agent."""
    if scope.session is None:
        return None
    named = (stored(scope.session), scope.org, scope.agent, scope.user is None, stored(scope.user or ""))
    row = first(connection, _FRAME, named)
    return None if row is None else DelegatedSession(depth=row[0], allowed=tuple(json.loads(row[1])), open=bool(row[2]))
