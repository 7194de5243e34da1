"""Extraction queue: leases, retries and parks runs of messages for a language model, and counts what it cost."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from germane.errors import InvalidInput
from germane.extraction.llm.queue import (
    BeginQueue,
    Claim,
    ClaimHeld,
    ClaimsWait,
    FinishClaim,
    LeaseClaim,
    LLMUsage,
    NextClaim,
    QueueReport,
    QueueState,
    ReleaseClaim,
    ReleaseClaims,
    ResumeQueue,
    SpendTokens,
    TokensSpent,
    readable,
)
from germane.kinds.events.value import Event
from germane.stores.sql.connection import Connection
from germane.stores.sql.events.event_rows import event_of
from germane.stores.sql.events.event_table import select_events
from germane.stores.sql.listing import FORGOTTEN_ORG, VisiblePartition
from germane.stores.sql.reading import Answers, ReadTransaction, StoreAnswers
from germane.stores.sql.statements import Row, first, from_sql, micros, only, rows, to_sql
from germane.stores.sql.transaction import Appliers, ScopeWriting, StoreAppliers, Transaction, of_plan
from germane.types.scope import Scope

_SILENCE = timedelta(seconds=60)
"""How long a session must be silent before its new messages are read, so that an exchange is read as a whole."""
_MIN_READ_AT_ONCE = 20
"""Messages that are read although the session goes on."""
_JOINED = "extraction_queue q JOIN sessions s ON s.key = q.session JOIN partitions p ON p.id = s.partition"
_QUEUED = (
    "INSERT INTO extraction_queue (session, first, state, not_before)"
    " SELECT e.session, 0, 1, CASE WHEN s.next >= ?2 THEN ?3 ELSE ?4 END"
    " FROM events e NOT INDEXED JOIN sessions s ON s.key = e.session WHERE e.key > ?1 AND s.document IS NULL GROUP BY e.session"
    " ON CONFLICT (session) WHERE stop IS NULL DO UPDATE SET state = 1, not_before = CASE WHEN tries > 0 THEN not_before"
    " WHEN (SELECT next FROM sessions WHERE key = excluded.session) - first >= ?2 THEN ?3 ELSE ?4 END"
)
"""Reads the new events by their keys: for the grouping the planner alone would read all events by session."""
_DUE = (
    f"SELECT q.session, q.first, q.stop, q.tries, s.next, s.partition, p.org, p.agent, p.user, s.id FROM {_JOINED}"
    " WHERE q.state = 1 AND (q.not_before <= ?1 OR (?2 AND q.tries = 0)) AND NOT EXISTS (SELECT 1 FROM extraction_queue o"
    " WHERE o.session = q.session AND o.holder <> '' AND o.leased_until > ?1)"
)
_MARK = "SELECT value FROM meta WHERE key = 'extraction_seen'"
_SPENT = (
    "INSERT INTO llm_usage VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET calls = calls + excluded.calls,"
    " input_tokens = input_tokens + excluded.input_tokens, output_tokens = output_tokens + excluded.output_tokens"
)
_SIZES = (
    "SELECT count(*), coalesce(sum(min(length(e.text), 4000)), 0) FROM events e JOIN sessions s ON s.key = e.session"
    " JOIN partitions p ON p.id = s.partition WHERE e.type IN ('user_message', 'assistant_message') AND e.sensitivity < 2 AND"
    " (EXISTS (SELECT 1 FROM extraction_queue q WHERE q.session = s.key AND q.state > ?1 AND e.position >= q.first AND"
    " (q.stop IS NULL OR e.position < q.stop)) OR (e.key > ?2 AND NOT EXISTS (SELECT 1 FROM extraction_queue q WHERE"
    " q.session = s.key AND q.stop IS NULL AND q.state = 1)) OR (?3 AND NOT EXISTS (SELECT 1 FROM extraction_queue q WHERE"
    " q.session = s.key)))"
)


def _begin(to: Transaction, _: BeginQueue) -> None:
    to.connection.execute("INSERT OR IGNORE INTO meta SELECT 'extraction_seen', CAST(events AS TEXT) FROM counters")


def _due(connection: Connection, at: datetime, within: Scope | None, eager: bool) -> Row | None:
    limits, values = _chosen(within)
    return first(connection, f"{_DUE}{limits} ORDER BY q.not_before LIMIT 1", (micros(at), eager, *values))


def _claims_wait(reading: ReadTransaction, read: ClaimsWait) -> bool:
    seen = first(reading.connection, _MARK)
    newest = only(reading.connection, "SELECT events FROM counters")[0]
    unseen = seen is not None and newest > int(seen[0])
    return unseen or _due(reading.connection, read.now, read.within, read.eager) is not None


def _next_claim(reading: ReadTransaction, read: NextClaim) -> Claim | None:
    if not isinstance(reading, Transaction):
        raise InvalidInput("NextClaim is answered within a plan alone")
    _queue_new(reading.connection, micros(read.now))
    row = _due(reading.connection, read.now, read.within, read.eager)
    return None if row is None else claim_of(reading.connection, row, read.holder)


def _lease(to: Transaction, change: LeaseClaim) -> None:
    claim = change.claim
    sql = "UPDATE extraction_queue SET holder = ?, leased_until = ? WHERE session = ? AND first = ?"
    to.connection.execute(sql, (claim.holder, micros(change.until), claim.session, claim.first))


def _release(to: Transaction, change: ReleaseClaim) -> None:
    claim, retry_at = change.claim, change.retry_at
    row = held_row(to.connection, claim)
    if row is None:
        return
    key, parked = (claim.session, claim.first), retry_at is None
    sql = (
        "UPDATE extraction_queue SET holder = '', leased_until = 0, tries = tries + ?, reason = ?, state = ?,"
        " not_before = ? WHERE session = ? AND first = ?"
    )
    due = 0 if retry_at is None else micros(retry_at)
    to.connection.execute(sql, (int(change.failed), change.reason, 2 if parked else 1, due, *key))
    # Only the messages of this claim are parked. Those of the row that come after it get a row of their own, so that reading
    # goes on there.
    if parked and (row[0] is None or claim.stop < row[0]):
        sql = "UPDATE extraction_queue SET stop = ? WHERE session = ? AND first = ?"
        to.connection.execute(sql, (claim.stop, *key))
        more = row[0] is not None or next_position(to.connection, claim.session) > claim.stop
        sql = "INSERT INTO extraction_queue (session, first, stop, state, not_before) VALUES (?, ?, ?, ?, 0)"
        to.connection.execute(sql, (claim.session, claim.stop, row[0], int(more)))


def _release_all(to: Transaction, change: ReleaseClaims) -> None:
    sql = "UPDATE extraction_queue SET holder = '', leased_until = 0 WHERE holder = ?"
    to.connection.execute(sql, (change.holder,))


def _resume(to: Transaction, change: ResumeQueue) -> None:
    limits, values = _limits(change.within)
    chosen = f"SELECT q.session, q.first FROM {_JOINED} WHERE q.state > 0{limits}"
    sql = f"UPDATE extraction_queue SET state = 1, tries = 0, not_before = 0 WHERE (session, first) IN ({chosen})"
    to.connection.execute(sql, values)
    if change.everything:
        sql = (
            "INSERT INTO extraction_queue (session, first, state, not_before) SELECT s.key, 0, 1, 0 FROM sessions s"
            " JOIN partitions p ON p.id = s.partition WHERE s.document IS NULL"
            f" AND NOT EXISTS (SELECT 1 FROM extraction_queue o WHERE o.session = s.key){limits}"
        )
        to.connection.execute(sql, values)


def _spend(writing: ScopeWriting, change: SpendTokens) -> None:
    if writing.own is not None:
        writing.connection.execute(_SPENT, (change.day, writing.own.id, 1, change.input_tokens, change.output_tokens))


def _spent(reading: ReadTransaction, read: TokensSpent) -> int:
    sql = "SELECT coalesce(sum(input_tokens + output_tokens), 0) FROM llm_usage WHERE day = ?"
    return int(only(reading.connection, sql, (read.day,))[0])


def _state(reading: ReadTransaction, read: QueueState) -> QueueReport:
    connection, (limits, values) = reading.connection, _chosen(read.within)
    states: dict[int, int] = dict(
        rows(connection, f"SELECT q.state, count(*) FROM {_JOINED} WHERE q.state > 0{limits} GROUP BY 1", values)
    )
    sql = f"SELECT q.reason, count(*) FROM {_JOINED} WHERE q.state = 2{limits} GROUP BY 1 ORDER BY 2 DESC, 1"
    reasons = tuple((str(reason), int(count)) for reason, count in rows(connection, sql, values))
    seen = first(connection, _MARK)
    newest = only(connection, "SELECT events FROM counters")[0]
    since = newest if seen is None else int(seen[0])
    sizes = (0, 0)
    if read.within is not None:
        sizes = only(connection, f"{_SIZES}{limits}", (0, since, read.everything, *values))
    return QueueReport(
        waiting=states.get(1, 0),
        parked=states.get(2, 0),
        messages=sizes[0],
        characters=sizes[1],
        reasons=reasons,
        usage=_usage(connection, read.day),
    )


def _queue_new(connection: Connection, at: int) -> None:
    """Queues the sessions that got messages since the last call, of whichever process."""
    seen, newest = first(connection, _MARK), only(connection, "SELECT coalesce(max(key), 0) FROM events")[0]
    if seen is None or newest <= int(seen[0]):
        return
    silent = at + _SILENCE // timedelta(microseconds=1)
    connection.execute(_QUEUED, (int(seen[0]), _MIN_READ_AT_ONCE, at, silent))
    connection.execute("UPDATE meta SET value = ? WHERE key = 'extraction_seen'", (str(newest),))


def _limits(within: Scope | None) -> tuple[str, tuple[Any, ...]]:
    """Returns SQL conditions on sessions `s` and partitions `p`, and their values."""
    if within is None:
        return "", ()
    sql, values = " AND p.org = ? AND p.agent = ?", list[Any]([within.org, within.agent])
    for column, value in (("p.user", within.user), ("s.id", within.session)):
        if value is not None:
            sql += f" AND {column} = ?"
            values.append(to_sql(value))
    return sql, tuple(values)


def _chosen(within: Scope | None) -> tuple[str, tuple[Any, ...]]:
    """Returns `_limits` for rows `q` of a state above 0: of all owners the index `extraction_queue_due` finds them, whose
    condition the planner must read word for word; of one owner its sessions do."""
    return (" AND q.state > 0", ()) if within is None else _limits(within)


def _usage(connection: Connection, day: int) -> tuple[LLMUsage, ...]:
    sql = (
        "SELECT p.org, CASE WHEN p.org = ? THEN '' ELSE p.agent END, sum(u.calls), sum(u.input_tokens), sum(u.output_tokens)"
        " FROM llm_usage u JOIN partitions p ON p.id = u.partition WHERE u.day = ? GROUP BY 1, 2 ORDER BY 1, 2"
    )
    return tuple(
        LLMUsage(org=from_sql(org), agent=from_sql(agent), calls=calls, input_tokens=given, output_tokens=made)
        for org, agent, calls, given, made in rows(connection, sql, (FORGOTTEN_ORG, day))
    )


# Claims: the messages of a claim, and the reads and changes of plans about claims.


_TURNS, _CHARACTERS = 24, 24_000
"""Messages and characters of a claim at most; the first message always belongs to it."""
_MAX_READ = 200
"""Messages, with those that aren't sent, that are looked at for one claim."""
_MAX_CONTEXT = 4
"""Messages before the claim that are sent as context."""
_MAX_TEXT = 4_000
"""Characters of one message that are read."""
_CUT = select_events(text=f"CASE WHEN typeof(e.text) = 'text' THEN substr(e.text, 1, {_MAX_TEXT}) ELSE e.text END", raw="NULL")
_HELD = "SELECT stop FROM extraction_queue WHERE session = ? AND first = ? AND holder = ?"


def claim_of(connection: Connection, row: Row, holder: str) -> Claim:
    """Returns the claim on the beginning of a due row of the queue. Without a message of the user's it has no turns."""
    session, begin, stop, tries, length, partition, org, agent, user, id = row
    scope = Scope(org=from_sql(org), agent=from_sql(agent), user=from_sql(user) or None, session=from_sql(id))
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
        sql = f"{_CUT} WHERE e.session = ? AND e.position >= 0 AND e.position < ? ORDER BY e.position DESC LIMIT {_MAX_CONTEXT}"
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


def held_row(connection: Connection, claim: Claim) -> Row | None:
    """Returns the row of the claim (its `stop`), None where its holder has lost the lease."""
    return first(connection, _HELD, (claim.session, claim.first, claim.holder))


def next_position(connection: Connection, session: int) -> int:
    """Returns the position of the session's next message."""
    return int(only(connection, "SELECT next FROM sessions WHERE key = ?", (session,))[0])


def claim_held(transaction: Transaction, partition: VisiblePartition, read: ClaimHeld) -> bool:
    sql = "SELECT 1 FROM sessions WHERE key = ? AND partition = ?"
    here = first(transaction.connection, sql, (read.claim.session, partition.id)) is not None
    return here and held_row(transaction.connection, read.claim) is not None


def finish_claim(connection: Connection, claim: Claim) -> None:
    """Removes the claim's messages from the queue; what follows them is due at once."""
    row = held_row(connection, claim)
    if row is None:
        return
    key, (stop,) = (claim.session, claim.first), row
    if stop is not None and claim.stop >= stop:
        connection.execute("DELETE FROM extraction_queue WHERE session = ? AND first = ?", key)
        return
    more = stop is not None or next_position(connection, claim.session) > claim.stop
    sql = (
        "UPDATE extraction_queue SET first = ?, state = ?, tries = 0, reason = '', holder = '', leased_until = 0"
        " WHERE session = ? AND first = ?"
    )
    connection.execute(sql, (claim.stop, int(more), *key))


QUEUE_READS: Answers = {ClaimHeld: of_plan(claim_held, bool)}
QUEUE_CHANGES: Appliers = {FinishClaim: lambda to, change: finish_claim(to.connection, change.claim), SpendTokens: _spend}
QUEUE_STORE_READS: StoreAnswers = {
    ClaimsWait: _claims_wait,
    NextClaim: _next_claim,
    QueueState: _state,
    TokensSpent: _spent,
}
QUEUE_STORE_CHANGES: StoreAppliers = {
    BeginQueue: _begin,
    LeaseClaim: _lease,
    ReleaseClaim: _release,
    ReleaseClaims: _release_all,
    ResumeQueue: _resume,
}
