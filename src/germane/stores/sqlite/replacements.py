"""Replacement rows: which messages make earlier ones outdated, or may, and what a request reads of them beside a message."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping

import apsw

from germane.events.event import Event, ReplacementLink
from germane.events.operations import PutReplacement
from germane.stores.sqlite.encoding import moment
from germane.stores.sqlite.transaction import Transaction
from germane.types.candidate import Outdated

__all__ = [
    "OUTDATED",
    "REPLACES",
    "delete_replacements",
    "newer_ids",
    "outdated_in",
    "put_replacement",
    "replaced_in",
    "with_outdated",
]

REPLACES = (
    "(SELECT json_group_array(json_array(r.older, r.ends)) FROM"
    " (SELECT older, ends FROM replacements WHERE newer = e.key ORDER BY older) r)"
)
"""The earlier messages that the event `e` makes outdated, or may."""
OUTDATED = (
    "(SELECT json_group_array(json_array(since, about, ends, by)) FROM ("
    " SELECT m.valid_to AS since, m.fact_key AS about, 1 AS ends,"
    " (SELECT n.id FROM memories s JOIN derivations t ON t.thing = s.id JOIN events n ON n.id = t.source"
    " WHERE s.id = m.superseded_by AND n.id <> e.id AND n.partition = e.partition LIMIT 1) AS by"
    " FROM derivations d JOIN memories m ON m.id = d.thing"
    " WHERE d.source = e.id AND m.superseded_by IS NOT NULL AND m.valid_to IS NOT NULL AND typeof(m.fact_key) = 'text'"
    " AND NOT EXISTS (SELECT 1 FROM memories s WHERE s.id = m.superseded_by AND s.content_hash = m.content_hash)"
    " UNION ALL"
    " SELECT n.created_at, '', r.ends, n.id FROM replacements r JOIN events n ON n.key = r.newer"
    " WHERE r.older = e.id AND n.partition = e.partition))"
)
"""What makes the event `e` outdated, or may: since when, a fact's key, whether it ended something, and the message's id."""
_PUT = (
    "INSERT INTO replacements SELECT o.id, n.key, 1 FROM events o INDEXED BY events_id, events n INDEXED BY events_id"
    " WHERE o.id = ? AND n.id = ? AND +o.partition = ? AND +n.partition = ? AND o.id <> n.id"
    " ON CONFLICT (older, newer) DO UPDATE SET ends = 1 WHERE ends = 0"
)

_LATEST = 3
"""Messages that only may have made another one outdated and are known of it: somebody may say the opposite every day."""


def replaced_in(text: str) -> tuple[ReplacementLink, ...]:
    """Reads `REPLACES`."""
    return tuple(ReplacementLink(id, bool(ends)) for id, ends in json.loads(text)) if text != "[]" else ()


def with_outdated(event: Event, text: str) -> Event:
    """Returns the event with what `OUTDATED` says of it; of those that only may have made it outdated, the latest."""
    if text == "[]":
        return event
    links: dict[str, bool] = {}
    for _, _, ends, by in _found(text):
        if by is not None:
            links[by] = links.get(by, False) or bool(ends)
    unsure = [by for by, ends in links.items() if not ends][:-_LATEST]
    replaced_by = tuple(ReplacementLink(by, ends) for by, ends in links.items() if by not in unsure)
    return event._replace(outdated=outdated_in(text), replaced_by=replaced_by)


def outdated_in(text: str) -> tuple[Outdated, ...]:
    """Reads from `OUTDATED` what was ended in an event, the oldest ending first."""
    if text == "[]":
        return ()
    return tuple(
        Outdated(moment(since), (name,) if (name := key.rpartition(".")[2]) else ())
        for since, key, ends, _ in _found(text)
        if ends
    )


def _found(text: str) -> list[tuple[int, str, int, str | None]]:
    return sorted(json.loads(text), key=lambda one: (one[0], one[1], one[3] or ""))


def put_replacement(transaction: Transaction, partition: int, change: PutReplacement) -> None:
    """See `PutReplacement`."""
    transaction.write_events()
    transaction.connection.execute(_PUT, (change.older, change.newer, partition, partition))
    if transaction.connection.changes():
        transaction.touch((partition,))


def delete_replacements(connection: apsw.Connection, events: Iterable[tuple[int, str]]) -> None:
    """Removes what is noted of these events, by key and id."""
    gone = list(events)
    connection.executemany("DELETE FROM replacements WHERE newer = ?", [(key,) for key, _ in gone])
    connection.executemany("DELETE FROM replacements WHERE older = ?", [(id,) for _, id in gone])


def newer_ids(events: Iterable[Event], known: Mapping[str, Event], best: Collection[str] = ()) -> list[str]:
    """Returns the ids of what ended something in the events, or in the `best` of them may have, without those that are
    `known`."""
    return sorted(
        {one.id for event in events for one in event.replaced_by if (one.ends or event.id in best) and one.id not in known}
    )
