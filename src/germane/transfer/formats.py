"""Formats: how each kind of thing stands in the lines of an export: the exceptions to what the annotations of its fields say.

`docs/reference/export-lines.md` describes the lines for people. A field that is new in a class needs a line here only where its
name, its limit or its default differ in a line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from germane.compaction.notes import SpanSummary
from germane.errors import InvalidInput
from germane.kinds.blocks.field import checked_label
from germane.kinds.blocks.permission import Share, checked_permission
from germane.kinds.blocks.schema import parse_schema
from germane.kinds.blocks.value import ArchivalEntry, Block, KeptVersion, Version, content_hash_of
from germane.kinds.conversations.value import ArchiveEntry, KeptEntry, KeptSummary
from germane.kinds.events.value import FIRST_TYPED, Event, ReplacementLink, event_hash
from germane.kinds.memories.conflicts import ContradictionRecord
from germane.kinds.memories.fields import compose, content_fields, tag_names
from germane.kinds.memories.fields import words as not_blank
from germane.kinds.memories.plans import BOTH, hash_of
from germane.kinds.memories.value import Content, Memory
from germane.kinds.profile.reads import MarkedLine
from germane.kinds.tasks.value import CLOSED, MAX_BRANCHES, MAX_DEPTH, TaskArtifact, TaskBranch, TaskCheckpoint, TaskFrame
from germane.transfer.contents import (
    Owner,
    SessionRecord,
    StoredBlock,
    StoredDirective,
    StoredStack,
)
from germane.transfer.graph_formats import ENTITY, PATTERN, RELATION
from germane.transfer.line_format import (
    MAX_COUNT,
    As,
    LineFormat,
    an_object,
    content_hash,
    data,
    entries,
    objects,
    one_of,
    provenance,
    session,
    text,
    whole,
)
from germane.types.candidate import SENSITIVITIES, Provenance
from germane.types.checks import check_text
from germane.types.codec import encode
from germane.types.inventory import Tombstone
from germane.types.limits import (
    ARCHIVED,
    BLOCK_TEXT,
    DIRECTIVE,
    ID,
    LABEL,
    MEMORY_TEXT,
    MESSAGE_TEXT,
    MESSAGES,
    NAME,
    REFERENCES,
    REMARK,
    SUMMARY_TEXT,
    TASK_GOAL,
    TASK_RESULT,
    TASK_TITLE,
)
from germane.types.nested_data import Extent

_REPLACED = LineFormat(ReplacementLink, "what a message replaces", defaults={"ends": False})
_SESSION = As(read=session)
_HASH = As(read=content_hash)
_REMARK = As(limit=REMARK)
_LABEL = As(limit=LABEL)
_PERMISSION = As(read=lambda name, value: checked_permission(value, name))


class _ContentFormat:
    """The content of a memory, whose fields are those of its kind. The kind itself is the memory's."""

    def take(self, line: dict[str, Any], owner: Owner) -> Content:
        if "kind" not in line:
            raise InvalidInput("a memory lacks its kind")
        kind = text(NAME)("kind", line["kind"])
        return compose(kind=kind, given={name: line.pop(name) for name in content_fields(kind) if name in line})

    def write(self, value: Content) -> dict[str, Any]:
        written: dict[str, Any] = encode(value)
        return written


def _complete_memory(memory: dict[str, Any]) -> None:
    for name in ("updated_at", "valid_from"):
        memory.setdefault(name, memory["created_at"])
    if "content_hash" not in memory:
        memory["content_hash"] = hash_of(memory["kind"], memory["content"])


MEMORY = LineFormat(
    Memory,
    "a memory",
    fields={"tags": As(read=lambda _, value: tag_names(value)), "content_hash": _HASH},
    owned=("user",),
    left_out=("secrets", "near_duplicates"),
    beside={"content": _ContentFormat()},
    derived=("updated_at", "valid_from"),
    complete=_complete_memory,
    order="id kind",
)


def _check_contradiction(record: dict[str, Any]) -> None:
    kept, pair = record.get("kept"), (record["older"], record["newer"])
    if pair[0] == pair[1]:
        raise InvalidInput("a contradiction is between two memories: older and newer are the same")
    if (kept is None) != (record.get("resolved_at") is None):
        raise InvalidInput("a contradiction that was resolved has resolved_at and kept, and an open one neither")
    if kept not in (None, BOTH, *pair):
        raise InvalidInput(f"must be the id of one of the two memories, or {BOTH}", path="kept")


CONTRADICTION = LineFormat(ContradictionRecord, "a contradiction", complete=_check_contradiction)
DIRECTIVE_LINE = LineFormat(
    StoredDirective,
    "a directive",
    fields={
        "text": As(read=lambda name, value: not_blank(name, text(DIRECTIVE)(name, value))),
        "id": As(read=lambda name, value: "" if value is None else text(ID)(name, value), omitted=True),
    },
)
PROFILE_MARK = LineFormat(MarkedLine, "a mark of a profile")
TOMBSTONE = LineFormat(Tombstone, "a tombstone", fields={"by": _REMARK, "reason": _REMARK})


# Blocks and archival entries. The document and the changes of a block are written in base64, so that a restored block can be
# edited and undone as before.


class _VersionLine(NamedTuple):
    """A version of a block, with its change where that is kept by itself."""

    kept: KeptVersion
    delta: bytes | None = None


_BY = replace(REMARK, maximum=REMARK.maximum + ID.maximum + 3)
"""The limit of an agent's id with what `by` said, in brackets."""


def _sha256(name: str, value: Any) -> str:
    digest: str = text(ID)(name, value)
    if len(digest) != 64 or any(digit not in "0123456789abcdef" for digit in digest):
        raise InvalidInput("must be a SHA-256 in hex", path=name)
    return digest


def _complete_version(kept: dict[str, Any]) -> None:
    kept["version"] = replace(kept["version"], undone=kept.get("undone_by") is not None)


_VERSION = LineFormat(
    Version,
    "a version of a block",
    fields={
        "by": As(limit=_BY),
        "operation": As(read=text(REMARK, empty=True)),
        "reason": _REMARK,
        "content_hash": As(read=_sha256),
    },
    left_out=("undone",),
    defaults={"number": 0, "operation": "", "characters": 0},
)
_KEPT_VERSION = LineFormat(KeptVersion, "a version of a block", beside={"version": _VERSION}, complete=_complete_version)
_VERSION_LINE = LineFormat(
    _VersionLine,
    "a version of a block",
    beside={"kept": _KEPT_VERSION},
    order="number kind at by operation reason characters content_hash target span undone_by size frontiers delta",
)
_VERSIONS = As(
    read=objects(_VERSION_LINE).read,
    write=lambda versions: [_VERSION_LINE.write(_VersionLine(*version)) for version in versions],
)
_SHARE = LineFormat(Share, "a share of a block", fields={"permission": _PERMISSION}, outside={"block_id": "", "label": ""})


def _complete_block(block: dict[str, Any]) -> None:
    block["content_hash"] = content_hash_of(block["text"])


def _complete_stored_block(stored: dict[str, Any]) -> None:
    block, versions = stored["block"], stored.get("versions", ())
    numbers = [kept.version.number for kept, _ in versions]
    if numbers != sorted(set(numbers)) or (numbers and numbers[-1] > block.version):
        raise InvalidInput("must rise, up to the version of the block", path="versions")
    stored["shares"] = tuple(replace(share, block_id=block.id, label=block.label) for share in stored.get("shares", ()))


def _snapshot(name: str, value: Any) -> tuple[int, bytes] | None:
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != 2 or isinstance(value[0], bool) or not isinstance(value[0], int):
        raise InvalidInput("must be a version's number and the bytes in base64, or null", path=name)
    return value[0], data(name, value[1])


_BLOCK = LineFormat(
    Block,
    "a block",
    fields={
        "label": As(read=lambda name, value: checked_label(value, name)),
        "description": As(limit=MESSAGE_TEXT),
        "type": As(name="block_type"),
        "schema": As(read=lambda _, value: parse_schema(value), write=lambda schema: schema.as_dict()),
        "permission": _PERMISSION,
        "limit": As(read=whole(0, BLOCK_TEXT.maximum)),
        "text": As(limit=MESSAGE_TEXT),
    },
    owned=("user", "agent"),
    outside={"content_hash": ""},
    left_out=("shared_from", "granted", "secrets"),
    needed=("text",),
    complete=_complete_block,
)
BLOCK = LineFormat(
    StoredBlock,
    "a block",
    fields={"snapshot": As(read=_snapshot), "versions": _VERSIONS, "shares": objects(_SHARE)},
    beside={"block": _BLOCK},
    complete=_complete_stored_block,
    order="id label description block_type schema permission limit pinned text version",
)
ENTRY = LineFormat(
    ArchivalEntry,
    "an entry",
    fields={"text": As(read=text(MEMORY_TEXT, empty=True))},
    owned=("user",),
    left_out=("label", "version", "type", "secrets"),
)


# Sessions and their messages, and what compactions took out.


SESSION = LineFormat(SessionRecord, "a session", fields={"id": As(name="session", read=session)})


def _speaker(name: str, value: Any) -> str:
    return "" if value is None else check_text(name, value, NAME)


def _complete_message(event: dict[str, Any]) -> None:
    event.setdefault("type", f"{event.get('role', '')}_message")
    event.setdefault("recorded_at", event["created_at"])
    if "provenance" not in event:
        message_id = event.get("message_id")
        event["provenance"] = Provenance(source_kind="import", session=event["session"], message_id=message_id)
    if "content_hash" not in event:
        event["content_hash"] = event_hash(Event(**event))


MESSAGE = LineFormat(
    Event,
    "a message",
    fields={
        "id": As(name="germane_id"),
        "type": As(name="event_type"),
        "session": _SESSION,
        "position": As(read=whole(FIRST_TYPED, MAX_COUNT)),
        "text": As(name="content", read=text(MESSAGE_TEXT, empty=True)),
        "role": As(read=one_of("user", "assistant", "system", "tool", "")),
        "name": As(read=_speaker, write=lambda name: name or None),
        "message_id": As(name="id"),
        "content_hash": _HASH,
        "provenance": As(read=provenance(MESSAGE_TEXT)),
        "replaces": objects(
            LineFormat(ReplacementLink, "what a message replaces", defaults={"ends": False}), REFERENCES.maximum
        ),
    },
    owned=("user",),
    left_out=("session_started_at", "session_number", "passage", "outdated", "replaced_by", "newer"),
    derived=("type", "recorded_at"),
    complete=_complete_message,
    order="session position id germane_id event_type role name content created_at recorded_at sensitivity content_hash"
    " provenance raw outcome task replaces",
)


def _messages(name: str, value: Any) -> tuple[Mapping[str, Any], ...]:
    extent = Extent(name, ARCHIVED)
    found: tuple[Mapping[str, Any], ...] = entries(an_object, MESSAGES.maximum)(name, value)
    for index, one in enumerate(found):
        extent.part(f"{name}[{index}]", one)
    return found


_VERBATIM = As(read=text(REMARK, empty=True, valid=False))
ARCHIVED_ENTRY = LineFormat(
    KeptEntry,
    "an archived entry",
    fields={"session": _SESSION},
    beside={
        "entry": LineFormat(
            ArchiveEntry,
            "an archived entry",
            fields={"title": _VERBATIM, "messages": As(read=_messages)},
            defaults={"title": "", "messages": ()},
        )
    },
    order="id session handle kind provider title previous part created_at",
)


SUMMARY = LineFormat(
    KeptSummary,
    "a summary",
    fields={"session": _SESSION},
    beside={
        "summary": LineFormat(
            SpanSummary,
            "a summary",
            fields={
                "text": As(read=text(SUMMARY_TEXT, valid=False)),
                "ids": As(read=entries(text(ID, empty=True, valid=False), MESSAGES.maximum)),
                "note": _VERBATIM,
            },
        )
    },
    order="id session fingerprint covers ids text tokens method note",
)


# Tasks, and the task stack of each session.


def _check_task(frame: dict[str, Any]) -> None:
    if (frame.get("closed_at") is not None) != (frame["status"] in CLOSED):
        raise InvalidInput("a task that has ended has closed_at, and an open one hasn't")
    if frame.get("parent") == frame["id"] or (frame.get("parent") is None) != (frame["depth"] == 0):
        raise InvalidInput("a task at depth 0 has no parent, and one below has another task as its parent")


def _artifact(name: str, value: Any) -> TaskArtifact:
    if not isinstance(value, list) or len(value) != 2:
        raise InvalidInput("must be a pair of an id and a title", path=name)
    return TaskArtifact(id=check_text(f"{name}[0]", value[0], ID), title=check_text(f"{name}[1]", value[1], TASK_TITLE))


_DEPTH = As(read=whole(0, MAX_DEPTH))
TASK = LineFormat(
    TaskFrame,
    "a task",
    fields={
        "session": _SESSION,
        "goal": As(limit=TASK_GOAL),
        "branch": As(read=text(LABEL)),
        "depth": _DEPTH,
        "result": As(limit=TASK_RESULT),
        "artifacts": As(
            read=entries(_artifact, REFERENCES.maximum), write=lambda artifacts: [[one.id, one.title] for one in artifacts]
        ),
        "delegation_depth": _DEPTH,
        "allowed": As(read=entries(one_of(*SENSITIVITIES), len(SENSITIVITIES))),
    },
    owned=("user",),
    left_out=("children", "secrets"),
    needed=("branch", "depth", "status"),
    complete=_check_task,
    order="id session branch parent depth status goal result artifacts sensitivity version delegated child_session"
    " delegation_depth allowed created_at updated_at closed_at",
)
_BRANCH = LineFormat(TaskBranch, "a branch", fields={"name": _LABEL, "parent": _LABEL}, outside={"session": ""})
_CHECKPOINT = LineFormat(TaskCheckpoint, "a checkpoint", fields={"name": _LABEL, "branch": _LABEL}, outside={"session": ""})


def _complete_stack(stack: dict[str, Any]) -> None:
    for name in ("branches", "checkpoints"):
        stack[name] = tuple(replace(one, session=stack["session"]) for one in stack.get(name, ()))
    if stack["branch"] not in {one.name for one in stack["branches"]}:
        raise InvalidInput("names none of the branches", path="branch")


TASK_STACK = LineFormat(
    StoredStack,
    "a task stack",
    fields={
        "session": _SESSION,
        "branch": _LABEL,
        "branches": objects(_BRANCH, MAX_BRANCHES),
        "checkpoints": objects(_CHECKPOINT, MAX_BRANCHES),
    },
    complete=_complete_stack,
)


FORMATS: Mapping[str, LineFormat[Any]] = MappingProxyType(
    {
        "directive": DIRECTIVE_LINE,
        "memory": MEMORY,
        "contradiction": CONTRADICTION,
        "block": BLOCK,
        "entry": ENTRY,
        "session": SESSION,
        "message": MESSAGE,
        "entity": ENTITY,
        "relation": RELATION,
        "pattern": PATTERN,
        "task": TASK,
        "task_stack": TASK_STACK,
        "archived": ARCHIVED_ENTRY,
        "summary": SUMMARY,
        "profile_mark": PROFILE_MARK,
        "tombstone": TOMBSTONE,
    }
)
"""The formats by the `type` of a line."""
