"""Claim rows: reads the messages of a claim, and runs the reads and changes of plans about claims."""

from __future__ import annotations

import apsw

from germane.events.event import Event
from germane.memories.llm_extraction.claim import Claim, ClaimHeld, readable
from germane.stores.sqlite.encoding import shown
from germane.stores.sqlite.events import EVENT, event_of
from germane.stores.sqlite.rows import Row, first, only, rows
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.visible_partitions import VisiblePartition
from germane.types.scope import Scope

__all__ = ["claim_held", "finish", "held", "messages", "taken"]

_TURNS, _CHARACTERS = 24, 24_000
"""Messages and characters of a claim at most; the first message always belongs to it."""
_MAX_READ = 200
"""Messages, with those that aren't sent, that are looked at for one claim."""
_BEFORE = 4
"""Messages before the claim that are sent as context."""
_MAX_TEXT = 4_000
"""Characters of one message that are read."""
_CUT = EVENT.replace(
    "e.text,", f"CASE WHEN typeof(e.text) = 'text' THEN substr(e.text, 1, {_MAX_TEXT}) ELSE e.text END,"
).replace("e.raw,", "NULL,")
_HELD = "SELECT stop FROM extraction_queue WHERE session = ? AND first = ? AND holder = ?"


def taken(connection: apsw.Connection, row: Row, holder: str) -> Claim:
    """Returns the claim on the beginning of a due row of the queue. Without a message of the user's it has no turns."""
    session, begin, stop, tries, length, partition, org, agent, user, id = row
    scope = Scope(org=shown(org), agent=shown(agent), user=shown(user) or None, session=shown(id))
    end = length if stop is None else min(stop, length)
    owners = {partition: scope.user}
    sql = f"{_CUT} WHERE e.session = ? AND e.position >= ? AND e.position < ? ORDER BY e.position LIMIT {_MAX_READ}"
    found = [event_of(one, owners) for one in rows(connection, sql, (session, begin, end))]
    turns, size = list[Event](), 0
    if len(found) == _MAX_READ:
        end = found[-1].position + 1
    for event in found:
        if not readable(event):
            continue
        size += len(event.text)
        if turns and (len(turns) == _TURNS or size > _CHARACTERS):
            end = event.position
            break
        turns.append(event)
    before: list[Event] = []
    if any(event.role == "user" for event in turns):
        sql = f"{_CUT} WHERE e.session = ? AND e.position >= 0 AND e.position < ? ORDER BY e.position DESC LIMIT {_BEFORE}"
        before = [event for one in rows(connection, sql, (session, begin)) if readable(event := event_of(one, owners))]
    else:
        turns = []
    return Claim(
        scope=scope,
        session=session,
        first=begin,
        stop=max(end, begin),
        holder=holder,
        tries=tries,
        turns=tuple(turns),
        before=tuple(reversed(before)),
    )


def held(connection: apsw.Connection, claim: Claim) -> Row | None:
    """Returns the row of the claim (its `stop`), None where its holder has lost the lease."""
    return first(connection, _HELD, (claim.session, claim.first, claim.holder))


def messages(connection: apsw.Connection, session: int) -> int:
    """Returns the position of the session's next message."""
    return int(only(connection, "SELECT next FROM sessions WHERE key = ?", (session,))[0])


def claim_held(transaction: Transaction, partition: VisiblePartition, read: ClaimHeld) -> bool:
    sql = "SELECT 1 FROM sessions WHERE key = ? AND partition = ?"
    here = first(transaction.connection, sql, (read.claim.session, partition.id)) is not None
    return here and held(transaction.connection, read.claim) is not None


def finish(connection: apsw.Connection, claim: Claim) -> None:
    """Removes the claim's messages from the queue; what follows them is due at once."""
    row = held(connection, claim)
    if row is None:
        return
    key, (stop,) = (claim.session, claim.first), row
    if stop is not None and claim.stop >= stop:
        connection.execute("DELETE FROM extraction_queue WHERE session = ? AND first = ?", key)
        return
    more = stop is not None or messages(connection, claim.session) > claim.stop
    sql = (
        "UPDATE extraction_queue SET first = ?, state = ?, tries = 0, reason = '', holder = '', leased_until = 0"
        " WHERE session = ? AND first = ?"
    )
    connection.execute(sql, (claim.stop, int(more), *key))
