"""Line: writes the header and each stored thing of an export as one JSON object (MEM-3).

The lines depend on nothing but what is stored: exporting the same again gives the same bytes. `docs/use/export.md` describes
every field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from germane.blocks.entry import ArchivalEntry
from germane.compaction.kept_history import KeptEntry, KeptSummary
from germane.events.event import Event
from germane.memories.link import ContradictionRecord
from germane.memories.memory import Memory
from germane.tasks.frame import TaskFrame
from germane.transfer.block_line import block_line
from germane.transfer.graph_line import graph_line
from germane.transfer.history_line import archived_line, summary_line
from germane.transfer.stored import Contents, Owned, Reach, SessionRecord, StoredBlock, StoredDirective, StoredStack, Thing
from germane.transfer.stored_graph import StoredEntity, StoredPattern, StoredRelation
from germane.transfer.task_line import stack_line, task_line
from germane.types.candidate import Provenance
from germane.types.inventory import Tombstone

__all__ = ["FORMAT", "VERSION", "header_line", "line_of", "written"]

FORMAT = "germane-export"
VERSION = 4
"""The version of the format. A reader takes this one and earlier ones."""
_UNSAFE = re.compile(
    "[\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_HOLDS = (
    *("directives", "memories", "contradictions", "blocks", "entries", "sessions", "messages"),
    *("entities", "relations", "patterns", "tasks", "task_stacks", "archived", "summaries", "tombstones"),
)
_PROVENANCE = tuple(field.name for field in fields(Provenance))
_NOT_WRITTEN = frozenset({"id", "kind", "content", "user", "secrets", "near_duplicates"})
"""Fields of a memory that are written otherwise, or that the store derives."""
_MEMORY = tuple(field.name for field in fields(Memory) if field.name not in _NOT_WRITTEN)


def header_line(reach: Reach, contents: Contents) -> dict[str, Any]:
    """Returns the first line: format and version, whose data it is, and how many things follow."""
    return {
        "type": "header",
        "format": FORMAT,
        "version": VERSION,
        "scope": {name: getattr(reach, name) for name in ("org", "agent", "user", "all_users")},
        "holds": {name: getattr(contents, name) for name in _HOLDS},
        "latest": _plain(contents.latest),
    }


def line_of(owned: Owned) -> dict[str, Any]:
    """Returns the line of a stored thing."""
    kind, rest = _parts(owned.thing)
    return {"type": kind, **owned.owner._asdict(), **rest}


def written(line: Mapping[str, Any]) -> str:
    """Returns the line as JSON, without a line break. Characters that could control a terminal, and lone surrogates, are
    written as escapes."""
    return _UNSAFE.sub(_escape, json.dumps(line, ensure_ascii=False))


def _parts(thing: Thing) -> tuple[str, dict[str, Any]]:
    match thing:
        case StoredDirective(text):
            return "directive", {"text": text}
        case Memory():
            content = {field.name: _plain(getattr(thing.content, field.name)) for field in fields(thing.content)}
            rest = {name: _plain(getattr(thing, name)) for name in _MEMORY}
            return "memory", {"id": thing.id, "kind": thing.kind, **content, **rest}
        case StoredBlock():
            return "block", block_line(thing)
        case ArchivalEntry():
            return "entry", {name: _plain(getattr(thing, name)) for name in ("id", "text", "metadata", "created_at")}
        case SessionRecord():
            named = {field.name: _plain(getattr(thing, field.name)) for field in fields(thing)}
            return "session", {"session": named.pop("id"), **named}
        case Event():
            return "message", _message(thing)
        case StoredEntity() | StoredRelation() | StoredPattern():
            return graph_line(thing)
        case ContradictionRecord():
            return "contradiction", {field.name: _plain(getattr(thing, field.name)) for field in fields(thing)}
        case TaskFrame():
            return "task", task_line(thing)
        case StoredStack():
            return "task_stack", stack_line(thing)
        case KeptEntry():
            return "archived", archived_line(thing)
        case KeptSummary():
            return "summary", summary_line(thing)
        case Tombstone():
            return "tombstone", {field.name: _plain(getattr(thing, field.name)) for field in fields(thing)}


def _message(event: Event) -> dict[str, Any]:
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
        "provenance": _plain(event.provenance),
        "raw": event.raw,
        "outcome": event.outcome,
        "task": event.task,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Provenance):
        return {name: _plain(getattr(value, name)) for name in _PROVENANCE}
    return list(value) if isinstance(value, tuple) else value


def _escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1] if match[0] != "\x7f" else "\\u007f"  # json leaves DEL as it is
