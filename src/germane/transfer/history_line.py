"""History line: writes an entry of the archive, and a summary, as JSON objects, and reads them back with checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from germane.compaction.archive import ArchiveEntry, EntryKind
from germane.compaction.kept_history import KeptEntry, KeptSummary
from germane.compaction.summary import SpanSummary, SummaryMethod
from germane.errors import InvalidInput
from germane.transfer.line_fields import LineFields
from germane.types.extent import Extent
from germane.types.limits import ARCHIVED, ID, MESSAGES, NAME, REMARK, SUMMARY_TEXT

__all__ = ["archived_line", "parsed_archived", "parsed_summary", "summary_line"]


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
