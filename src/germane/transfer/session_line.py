"""Session line: writes a session, and a message of one, as JSON objects, and reads them back with a check of every field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from germane.events.event import FIRST_TYPED, Event, ReplacementLink
from germane.events.event_hash import event_hash
from germane.transfer.line_fields import LineFields, written_time
from germane.transfer.line_provenance import parsed_provenance, provenance_fields
from germane.transfer.stored import Owner, SessionRecord
from germane.types.candidate import Provenance
from germane.types.limits import ID, MESSAGE_TEXT, NAME, REFERENCES
from germane.types.limits import text as string

__all__ = ["message_line", "parsed_message", "parsed_session", "session_line"]


_ROLES = ("user", "assistant", "system", "tool", "")


def session_line(record: SessionRecord) -> dict[str, Any]:
    """Returns the fields of a session's line, without its type and owner."""
    return {
        "session": record.id,
        "next": record.next,
        "length": record.length,
        "started_at": written_time(record.started_at),
        "last_at": written_time(record.last_at),
    }


def parsed_session(line: Mapping[str, Any]) -> SessionRecord:
    """Returns the session in a line. Raises `InvalidInput`."""
    given = LineFields(line, "a session")
    record = SessionRecord(
        id=given.session(),
        next=given.count("next"),
        length=given.count("length", 0),
        started_at=given.maybe_time("started_at"),
        last_at=given.maybe_time("last_at"),
    )
    given.end()
    return record


def message_line(event: Event) -> dict[str, Any]:
    """Returns the fields of the line of a message, or of another event, without its type and owner."""
    return {
        "session": event.session,
        "position": event.position,
        "id": event.message_id,
        "germane_id": event.id,
        "event_type": event.type,
        "role": event.role,
        "name": event.name or None,
        "content": event.text,
        "created_at": event.created_at.isoformat(),
        "recorded_at": event.recorded_at.isoformat(),
        "sensitivity": event.sensitivity,
        "content_hash": event.content_hash,
        "provenance": provenance_fields(event.provenance),
        "raw": event.raw,
        "outcome": event.outcome,
        "task": event.task,
        "replaces": [{"id": one.id, "ends": one.ends} for one in event.replaces],
    }


def parsed_message(line: Mapping[str, Any], owner: Owner) -> Event:
    """Returns the message, or other event, in a line. Raises `InvalidInput`."""
    given = LineFields(line, "a message")
    session, id = given.session(), given.maybe_text("id", ID)
    role, text = given.one_of("role", _ROLES, ""), given.text("content", MESSAGE_TEXT, empty=True)
    name, created_at = given.take("name", None), given.time("created_at")
    if "provenance" in line:
        provenance = parsed_provenance(given.take("provenance"), call=MESSAGE_TEXT)
    else:
        provenance = Provenance(source_kind="import", session=session, message_id=id)
    event = Event(
        id=given.text("germane_id", ID),
        type=given.text("event_type", NAME, f"{role}_message"),
        user=owner.user,
        session=session,
        position=given.whole("position", FIRST_TYPED),
        text=text,
        created_at=created_at,
        recorded_at=given.time("recorded_at", created_at),
        role=role,
        name="" if name is None else string("name", name, NAME),
        message_id=id,
        sensitivity=given.sensitivity(),
        outcome=given.text("outcome", NAME, "", empty=True),
        task=given.maybe_text("task", ID),
        content_hash=given.content_hash() if "content_hash" in line else 0,
        raw=given.json_object("raw"),
        provenance=provenance,
        replaces=tuple(_replaced(one) for one in given.entries("replaces", REFERENCES.maximum)),
    )
    given.end()
    return event if "content_hash" in line else event._replace(content_hash=event_hash(event))


def _replaced(line: Any) -> ReplacementLink:
    given = LineFields(line, "what a message replaces")
    replaced = ReplacementLink(id=given.text("id", ID), ends=given.flag("ends"))
    given.end()
    return replaced
