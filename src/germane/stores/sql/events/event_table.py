"""Event table: the columns of the table `events`, of which an event's row is made and read."""

from __future__ import annotations

import json

from germane.kinds.events.value import Event, ReplacementLink
from germane.stores.sql.columns import (
    PROVENANCE,
    SENSITIVITY,
    TEXT,
    TIME,
    Codec,
    Column,
    Given,
    Joined,
    RowKey,
    RowOwner,
    Table,
)
from germane.stores.sql.statements import from_json, to_json

_REPLACES = (
    "(SELECT json_group_array(json_array(r.older, r.ends)) FROM"
    " (SELECT older, ends FROM replacements WHERE newer = e.key ORDER BY older) r)"
)
"""The earlier messages that the event `e` makes outdated, or may."""


def _replaced_in(text: str) -> tuple[ReplacementLink, ...]:
    """Reads `_REPLACES`."""
    return tuple(ReplacementLink(id, bool(ends)) for id, ends in json.loads(text)) if text != "[]" else ()


EVENTS = Table(
    "events",
    Event,
    (
        RowKey(),
        RowOwner(),
        Column("id"),
        Column("type", TEXT),
        Given("session"),
        Joined("session_id", "s.id", TEXT, field="session"),
        Column("position"),
        Column("text", TEXT),
        Column("created_at", TIME),
        Column("recorded_at", TIME),
        Column("role"),
        Column("name", TEXT),
        Column("message_id", TEXT, null=True),
        Column("sensitivity", SENSITIVITY),
        Column("content_hash"),
        Joined("session_started_at", "s.started_at", TIME),
        Joined("session_number", "s.number"),
        Column("raw", Codec(lambda raw: to_json(raw) if raw else None, from_json)),
        Column("provenance", PROVENANCE, beside=("session", "message_id")),
        Column("outcome", TEXT),
        Column("task", TEXT, null=True),
        Joined("replaces", _REPLACES, Codec(read=_replaced_in)),
    ),
    unstored=("passage", "outdated", "replaced_by", "newer"),
)


def select_events(more: str = "", **instead: str) -> str:
    """Returns the SELECT of the events `e` and their sessions `s`, for `EVENTS.value`. `more` are further columns behind those
    of the table, `instead` expressions in place of columns."""
    return f"SELECT {EVENTS.selected('e', **instead)}{more} FROM events e JOIN sessions s ON s.key = e.session"
