"""Line: writes the header and each stored thing of an export as one JSON object (MEM-3).

The lines depend on nothing but what is stored: exporting the same again gives the same bytes. `docs/use/export.md` describes
every field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from germane.blocks.entry import ArchivalEntry
from germane.compaction.kept_history import KeptEntry, KeptSummary
from germane.events.event import Event
from germane.memories.link import ContradictionRecord
from germane.memories.memory import Memory
from germane.profile.marking import MarkedLine
from germane.tasks.frame import TaskFrame
from germane.transfer.block_line import block_line
from germane.transfer.directive_line import directive_line
from germane.transfer.entry_line import entry_line
from germane.transfer.graph_line import graph_line
from germane.transfer.history_line import archived_line, summary_line
from germane.transfer.line_fields import written_time
from germane.transfer.mark_line import profile_mark_line
from germane.transfer.memory_line import contradiction_line, memory_line
from germane.transfer.session_line import message_line, session_line
from germane.transfer.stored import Contents, Owned, Reach, SessionRecord, StoredBlock, StoredDirective, StoredStack, Thing
from germane.transfer.stored_graph import StoredEntity, StoredPattern, StoredRelation
from germane.transfer.task_line import stack_line, task_line
from germane.transfer.tombstone_line import tombstone_line
from germane.types.inventory import Tombstone

__all__ = ["FORMAT", "HOLDS", "VERSION", "header_line", "line_of", "written"]

FORMAT = "germane-export"
VERSION = 5
"""The version of the format. A reader takes this one and earlier ones."""
HOLDS = (
    *("directives", "memories", "contradictions", "blocks", "entries", "sessions", "messages"),
    *("entities", "relations", "patterns", "tasks", "task_stacks", "archived", "summaries"),
    *("profile_marks", "tombstones"),
)
"""What the header counts: the fields of `Contents`, but for the time of the latest change."""
_UNSAFE = re.compile(
    "[\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def header_line(reach: Reach, contents: Contents) -> dict[str, Any]:
    """Returns the first line: format and version, whose data it is, and how many things follow."""
    return {
        "type": "header",
        "format": FORMAT,
        "version": VERSION,
        "scope": {"org": reach.org, "agent": reach.agent, "user": reach.user, "all_users": reach.all_users},
        "holds": {name: getattr(contents, name) for name in HOLDS},
        "latest": written_time(contents.latest),
    }


def line_of(owned: Owned) -> dict[str, Any]:
    """Returns the line of a stored thing."""
    kind, rest = _parts(owned.thing)
    owner = owned.owner
    return {"type": kind, "org": owner.org, "agent": owner.agent, "user": owner.user, **rest}


def written(line: Mapping[str, Any]) -> str:
    """Returns the line as JSON, without a line break. Characters that could control a terminal, and lone surrogates, are
    written as escapes."""
    return _UNSAFE.sub(_escape, json.dumps(line, ensure_ascii=False))


def _parts(thing: Thing) -> tuple[str, dict[str, Any]]:
    match thing:
        case StoredDirective():
            return "directive", directive_line(thing)
        case Memory():
            return "memory", memory_line(thing)
        case StoredBlock():
            return "block", block_line(thing)
        case ArchivalEntry():
            return "entry", entry_line(thing)
        case SessionRecord():
            return "session", session_line(thing)
        case Event():
            return "message", message_line(thing)
        case StoredEntity() | StoredRelation() | StoredPattern():
            return graph_line(thing)
        case ContradictionRecord():
            return "contradiction", contradiction_line(thing)
        case TaskFrame():
            return "task", task_line(thing)
        case StoredStack():
            return "task_stack", stack_line(thing)
        case KeptEntry():
            return "archived", archived_line(thing)
        case KeptSummary():
            return "summary", summary_line(thing)
        case MarkedLine():
            return "profile_mark", profile_mark_line(thing)
        case Tombstone():
            return "tombstone", tombstone_line(thing)


def _escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1] if match[0] != "\x7f" else "\\u007f"  # json leaves DEL as it is
