"""Lines: writes the header and each stored thing of an export as one JSON object, and reads them back (MEM-3).

The lines depend on nothing but what is stored: exporting the same again gives the same bytes. `docs/reference/export-lines.md`
describes every field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

from germane.errors import InvalidInput
from germane.kinds.archive.value import KeptEntry, KeptSummary
from germane.kinds.blocks.value import ArchivalEntry
from germane.kinds.events.value import Event
from germane.kinds.memories.conflicts import ContradictionRecord
from germane.kinds.memories.value import Memory
from germane.kinds.profile.reads import MarkedLine
from germane.kinds.tasks.value import TaskFrame
from germane.transfer.contents import (
    Contents,
    Owned,
    Owner,
    Reach,
    SessionRecord,
    StoredBlock,
    StoredDirective,
    StoredEntity,
    StoredPattern,
    StoredRelation,
    StoredStack,
    Thing,
)
from germane.transfer.graph_lines import graph_line, parsed_entity, parsed_pattern, parsed_relation
from germane.transfer.line_fields import LineFields, written_time
from germane.transfer.memory_lines import (
    block_line,
    contradiction_line,
    directive_line,
    entry_line,
    memory_line,
    parsed_block,
    parsed_contradiction,
    parsed_directive,
    parsed_entry,
    parsed_memory,
    parsed_profile_mark,
    parsed_tombstone,
    profile_mark_line,
    tombstone_line,
)
from germane.transfer.session_lines import (
    archived_line,
    message_line,
    parsed_archived,
    parsed_message,
    parsed_session,
    parsed_summary,
    session_line,
    summary_line,
)
from germane.transfer.task_lines import parsed_stack, parsed_task, stack_line, task_line
from germane.types.inventory import Tombstone
from germane.types.limits import ID
from germane.types.scope import Scope

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


# Reads the lines back, and checks every field: the file may come from anywhere. A field that has a default may be left
# out. Texts and times are kept as they are. Raises `InvalidInput`, which names the field and holds no content.


class Header(NamedTuple):
    """The first line of an export."""

    reach: Reach
    contents: Contents


def read_line(line: str | bytes) -> Mapping[str, Any]:
    """Returns the JSON object in a line. Raises `InvalidInput`."""
    try:
        entry = json.loads(line, parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise InvalidInput(f"it isn't UTF-8 at byte {error.start + 1}") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidInput):
            raise
        why = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deep, or too long a number"
        raise InvalidInput(f"it isn't JSON: {why}") from None
    if not isinstance(entry, dict):
        raise InvalidInput(f"it must be an object, not {type(entry).__name__}")
    return entry


def parse_line(line: Mapping[str, Any]) -> Header | Owned:
    """Returns the header, or the stored thing, that the line holds. Raises `InvalidInput`."""
    if not isinstance(line, Mapping):
        raise InvalidInput(f"it must be an object, not {type(line).__name__}")
    rest = dict(line)
    kind = rest.pop("type", None)
    if kind == "header":
        return _header(rest)
    if not isinstance(kind, str) or kind not in _THINGS:
        raise InvalidInput(f"must be one of {', '.join(_THINGS)}, not {{}}", kind, path="type")
    owner = Owner(org=rest.pop("org", None), agent=rest.pop("agent", None), user=rest.pop("user", None))
    if owner.org is None and (kind != "tombstone" or owner != (None, None, None)):
        raise InvalidInput("org is missing: each line names its org, its agent, and its user or null")
    if owner.org is not None:
        Scope(org=owner.org, agent=owner.agent, user=owner.user)  # type: ignore[arg-type]
    return Owned(owner, _THINGS[kind](rest, owner))


def _header(line: Mapping[str, Any]) -> Header:
    given = LineFields(line, "the header")
    form = given.take("format", None)
    if form != FORMAT:
        raise InvalidInput("must be {}, not {}", FORMAT, form, path="format")
    version = given.whole("version", 1)
    if version > VERSION:
        raise InvalidInput(
            f"the export has version {version} of the format, and this germane reads up to {VERSION}: upgrade germane"
        )
    header = Header(_reach(given.take("scope")), _contents(given.take("holds")))
    given.maybe_time("latest")  # for people
    given.end()
    return header


def _reach(value: Any) -> Reach:
    given = LineFields(value, "scope")
    reach = Reach(
        org=given.maybe_text("org", ID),
        agent=given.maybe_text("agent", ID),
        user=given.maybe_text("user", ID),
        all_users=given.flag("all_users"),
    )
    given.end()
    return reach


def _contents(value: Any) -> Contents:
    given = LineFields(value, "holds")
    counts: dict[str, Any] = {name: given.count(name, 0) for name in HOLDS}
    given.end()
    return Contents(**counts)


def _no_number(name: str) -> NoReturn:
    raise InvalidInput(f"{name} is no number of JSON")


_THINGS: Mapping[str, Callable[[Mapping[str, Any], Owner], Thing]] = MappingProxyType(
    {
        "directive": lambda line, _: parsed_directive(line),
        "memory": parsed_memory,
        "contradiction": lambda line, _: parsed_contradiction(line),
        "block": parsed_block,
        "entry": parsed_entry,
        "session": lambda line, _: parsed_session(line),
        "message": parsed_message,
        "entity": parsed_entity,
        "relation": parsed_relation,
        "pattern": parsed_pattern,
        "task": parsed_task,
        "task_stack": lambda line, _: parsed_stack(line),
        "archived": lambda line, _: parsed_archived(line),
        "summary": lambda line, _: parsed_summary(line),
        "profile_mark": lambda line, _: parsed_profile_mark(line),
        "tombstone": lambda line, _: parsed_tombstone(line),
    }
)
