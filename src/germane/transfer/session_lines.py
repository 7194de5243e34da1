"""Session lines: sessions, messages, entries of the archive and summaries as JSON objects, and back with checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from germane.compaction.notes import SpanSummary, SummaryMethod
from germane.errors import InvalidInput
from germane.kinds.archive.value import ArchiveEntry, EntryKind, KeptEntry, KeptSummary
from germane.kinds.events.value import FIRST_TYPED, Event, ReplacementLink, event_hash
from germane.transfer.contents import Owner, SessionRecord
from germane.transfer.line_fields import LineFields, parsed_provenance, provenance_fields, written_time
from germane.types.candidate import Provenance
from germane.types.limits import ARCHIVED, ID, MESSAGE_TEXT, MESSAGES, NAME, REFERENCES, REMARK, SUMMARY_TEXT
from germane.types.limits import check_text as string
from germane.types.nested_data import Extent

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


# What compactions took out of a session: entries of the archive, and summaries.


def archived_line(archived: KeptEntry) -> dict[str, Any]:
    """Returns the fields of an archived entry's line, without its type and owner."""
    entry = archived.entry
    return {
        "id": archived.id,
        "session": archived.session,
        "handle": entry.handle,
        "kind": entry.kind,
        "provider": entry.provider,
        "title": entry.title,
        "previous": entry.previous,
        "part": entry.part,
        "created_at": archived.created_at.isoformat(),
        "messages": list(entry.messages),
    }


def parsed_archived(line: Mapping[str, Any]) -> KeptEntry:
    """Returns the archived entry in a line. Raises `InvalidInput`."""
    given = LineFields(line, "an archived entry")
    entry = ArchiveEntry(
        handle=given.text("handle", ID),
        kind=given.one_of("kind", get_args(EntryKind)),
        provider=given.text("provider", NAME),
        title=given.text("title", REMARK, "", empty=True, valid=False),
        previous=given.text("previous", ID, "", empty=True),
        part=given.count("part", 0),
        messages=_messages(given.entries("messages", MESSAGES.maximum)),
    )
    archived = KeptEntry(id=given.text("id", ID), session=given.session(), entry=entry, created_at=given.time("created_at"))
    given.end()
    return archived


def summary_line(kept: KeptSummary) -> dict[str, Any]:
    """Returns the fields of a summary's line, without its type and owner."""
    summary = kept.summary
    return {
        "id": kept.id,
        "session": kept.session,
        "fingerprint": kept.fingerprint,
        "covers": summary.covers,
        "ids": list(summary.ids),
        "text": summary.text,
        "tokens": summary.tokens,
        "method": summary.method,
        "note": summary.note,
        "created_at": kept.created_at.isoformat(),
    }


def parsed_summary(line: Mapping[str, Any]) -> KeptSummary:
    """Returns the summary in a line. Raises `InvalidInput`."""
    given = LineFields(line, "a summary")
    summary = SpanSummary(
        text=given.text("text", SUMMARY_TEXT, valid=False),
        covers=given.count("covers"),
        tokens=given.count("tokens"),
        method=given.one_of("method", get_args(SummaryMethod), "extractive"),
        ids=_ids(given.entries("ids", MESSAGES.maximum)),
        note=given.text("note", REMARK, "", empty=True, valid=False),
    )
    kept = KeptSummary(
        id=given.text("id", ID),
        session=given.session(),
        summary=summary,
        fingerprint=given.text("fingerprint", ID),
        created_at=given.time("created_at"),
    )
    given.end()
    return kept


def _messages(values: list[Any]) -> tuple[Mapping[str, Any], ...]:
    extent = Extent("messages", ARCHIVED)
    for index, value in enumerate(values):
        if not isinstance(value, dict):
            raise InvalidInput(f"messages[{index}] must be an object, not {type(value).__name__}")
        extent.part(f"messages[{index}]", value)
    return tuple(values)


def _ids(values: list[Any]) -> tuple[str, ...]:
    if not all(isinstance(value, str) and len(value) <= ID.maximum for value in values):
        raise InvalidInput(f"ids must be strings of at most {ID.maximum} characters")
    return tuple(values)
