"""Memory lines: memories, contradictions, directives, marks of profile lines and tombstones as JSON objects.

Each function that reads a line back checks every field.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

from germane.errors import InvalidInput
from germane.kinds.blocks.field import checked_label
from germane.kinds.blocks.permission import Share, checked_permission
from germane.kinds.blocks.schema import parse_schema
from germane.kinds.blocks.value import (
    DEFAULT_LIMIT,
    ArchivalEntry,
    Block,
    KeptVersion,
    Version,
    VersionKind,
    block_type,
    content_hash_of,
)
from germane.kinds.memories.conflicts import CONFLICT_REASONS, ContradictionRecord
from germane.kinds.memories.fields import compose, content_fields, share, tag_names, words
from germane.kinds.memories.plans import BOTH, hash_of
from germane.kinds.memories.value import Behavior, Content, Episode, Fact, Memory, Note, Preference, Procedure
from germane.kinds.profile.reads import Mark, MarkedLine
from germane.transfer.contents import Owner, StoredBlock, StoredDirective
from germane.transfer.line_fields import LineFields, parsed_provenance, provenance_fields, written_time
from germane.types.inventory import Tombstone, TombstoneKind
from germane.types.limits import BLOCK_TEXT, DIRECTIVE, ID, MEMORY_TEXT, MESSAGE_TEXT, NAME, REFERENCES, REMARK, check_entries
from germane.types.limits import check_text as string


def memory_line(memory: Memory) -> dict[str, Any]:
    """Returns the fields of a memory's line, without its type and owner. What the store derives isn't written."""
    return {
        "id": memory.id,
        "kind": memory.kind,
        **_content(memory.content),
        "created_at": memory.created_at.isoformat(),
        "updated_at": memory.updated_at.isoformat(),
        "valid_from": memory.valid_from.isoformat(),
        "valid_to": written_time(memory.valid_to),
        "expires_at": written_time(memory.expires_at),
        "superseded_by": memory.superseded_by,
        "derived_from": list(memory.derived_from),
        "stale_since": written_time(memory.stale_since),
        "tags": list(memory.tags),
        "sensitivity": memory.sensitivity,
        "confidence": memory.confidence,
        "pinned": memory.pinned,
        "helpful": memory.helpful,
        "harmful": memory.harmful,
        "retrieval_count": memory.retrieval_count,
        "content_hash": memory.content_hash,
        "provenance": provenance_fields(memory.provenance),
    }


def parsed_memory(line: Mapping[str, Any], owner: Owner) -> Memory:
    """Returns the memory in a line. Raises `InvalidInput`."""
    given = LineFields(line, "a memory")
    kind = given.text("kind", NAME)
    content = compose(kind=kind, given={name: given.take(name) for name in content_fields(kind) if name in line})
    created_at = given.time("created_at")
    memory = Memory(
        id=given.text("id", ID),
        kind=kind,
        content=content,
        user=owner.user,
        created_at=created_at,
        updated_at=given.time("updated_at", created_at),
        valid_from=given.time("valid_from", created_at),
        valid_to=given.maybe_time("valid_to"),
        expires_at=given.maybe_time("expires_at"),
        superseded_by=given.maybe_text("superseded_by", ID),
        derived_from=check_entries("derived_from", given.take("derived_from", ()), REFERENCES, ID),
        stale_since=given.maybe_time("stale_since"),
        tags=tag_names(given.take("tags", ())),
        sensitivity=given.sensitivity(),
        confidence=share("confidence", given.take("confidence", 0.8)),
        pinned=given.flag("pinned"),
        helpful=given.count("helpful", 0),
        harmful=given.count("harmful", 0),
        retrieval_count=given.count("retrieval_count", 0),
        content_hash=given.content_hash() if "content_hash" in line else hash_of(kind, content),
        provenance=parsed_provenance(given.take("provenance", {})),
    )
    given.end()
    return memory


def contradiction_line(record: ContradictionRecord) -> dict[str, Any]:
    """Returns the fields of a contradiction's line, without its type and owner."""
    return {
        "id": record.id,
        "reason": record.reason,
        "older": record.older,
        "newer": record.newer,
        "created_at": record.created_at.isoformat(),
        "resolved_at": written_time(record.resolved_at),
        "kept": record.kept,
    }


def parsed_contradiction(line: Mapping[str, Any]) -> ContradictionRecord:
    """Returns the contradiction in a line. Raises `InvalidInput`."""
    given = LineFields(line, "a contradiction")
    record = ContradictionRecord(
        id=given.text("id", ID),
        reason=given.one_of("reason", CONFLICT_REASONS),
        older=given.text("older", ID),
        newer=given.text("newer", ID),
        created_at=given.time("created_at"),
        resolved_at=given.maybe_time("resolved_at"),
        kept=given.maybe_text("kept", ID),
    )
    given.end()
    if record.older == record.newer:
        raise InvalidInput("a contradiction is between two memories: older and newer are the same")
    if (record.kept is None) != (record.resolved_at is None):
        raise InvalidInput("a contradiction that was resolved has resolved_at and kept, and an open one neither")
    if record.kept not in (None, BOTH, record.older, record.newer):
        raise InvalidInput(f"kept must be the id of one of the two memories, or {BOTH}")
    return record


def _content(content: Content) -> dict[str, Any]:
    match content:
        case Fact():
            return {"key": content.key, "value": content.value, "observed_at": written_time(content.observed_at)}
        case Preference() | Behavior():
            return {"text": content.text}
        case Procedure() | Note():
            return {"body": content.body, "title": content.title}
        case Episode():
            return {"summary": content.summary, "occurred_at": written_time(content.occurred_at)}


def directive_line(directive: StoredDirective) -> dict[str, Any]:
    """Returns the fields of a directive's line, without its type and owner."""
    return {"text": directive.text, **({"id": directive.id} if directive.id else {})}


def parsed_directive(line: Mapping[str, Any]) -> StoredDirective:
    """Returns the directive in a line, which isn't blank. Raises `InvalidInput`."""
    given = LineFields(line, "a directive")
    text = words("text", given.text("text", DIRECTIVE))
    id = given.maybe_text("id", ID) or ""
    given.end()
    return StoredDirective(text, id)


def profile_mark_line(marked: MarkedLine) -> dict[str, Any]:
    """Returns the fields of a mark's line, without its type and owner."""
    return {"line": marked.line, "mark": marked.mark, "at": marked.at.isoformat()}


def parsed_profile_mark(line: Mapping[str, Any]) -> MarkedLine:
    """Returns the mark in a line. Raises `InvalidInput`."""
    given = LineFields(line, "a mark of a profile")
    marked = MarkedLine(given.text("line", ID), given.one_of("mark", get_args(Mark)), given.time("at"))
    given.end()
    return marked


_TOMBSTONE_KINDS = get_args(TombstoneKind)


def tombstone_line(stone: Tombstone) -> dict[str, Any]:
    """Returns the fields of a tombstone's line, without its type and owner."""
    return {"id": stone.id, "what": stone.what, "at": stone.at.isoformat(), "by": stone.by, "reason": stone.reason}


def parsed_tombstone(line: Mapping[str, Any]) -> Tombstone:
    """Returns the tombstone in a line. Raises `InvalidInput`."""
    given = LineFields(line, "a tombstone")
    stone = Tombstone(
        id=given.text("id", ID),
        what=given.one_of("what", _TOMBSTONE_KINDS),
        at=given.time("at"),
        by=given.text("by", REMARK, "", empty=True),
        reason=given.text("reason", REMARK, "", empty=True),
    )
    given.end()
    return stone


# Block lines: writes blocks and archival entries of an export as JSON objects, and reads them back with checks. The
# document and the changes of a block are written in base64, so that a restored block can be edited and undone as
# before.


_VERSION_KINDS = get_args(VersionKind)
_BY = replace(REMARK, maximum=REMARK.maximum + ID.maximum + 3)
"""The limit of an agent's id with what `by` said, in brackets."""


def block_line(stored: StoredBlock) -> dict[str, Any]:
    """Returns the fields of a block's line, without its type and owner."""
    block = stored.block
    return {
        "id": block.id,
        "label": block.label,
        "description": block.description,
        "block_type": block.type,
        "schema": block.schema.as_dict(),
        "permission": block.permission,
        "limit": block.limit,
        "pinned": block.pinned,
        "text": block.text,
        "version": block.version,
        "created_at": block.created_at.isoformat(),
        "updated_at": block.updated_at.isoformat(),
        "deleted_at": written_time(block.deleted_at),
        "snapshot": None if stored.snapshot is None else [stored.snapshot[0], _written(stored.snapshot[1])],
        "versions": [_version(kept, delta) for kept, delta in stored.versions],
        "shares": [
            {"agent": share.agent, "permission": share.permission, "created_at": share.created_at.isoformat()}
            for share in stored.shares
        ],
    }


def parsed_block(line: Mapping[str, Any], owner: Owner) -> StoredBlock:
    """Returns the block in a line, with its document and history. Raises `InvalidInput`."""
    given = LineFields(line, "a block")
    text = given.text("text", MESSAGE_TEXT, empty=True)
    block = Block(
        id=given.text("id", ID),
        label=checked_label(given.take("label")),
        description=given.text("description", MESSAGE_TEXT, "", empty=True),
        type=block_type(given.take("block_type", "working")),
        schema=parse_schema(given.take("schema")),
        permission=checked_permission(given.take("permission", "read_write")),
        limit=given.count("limit", DEFAULT_LIMIT, maximum=BLOCK_TEXT.maximum),
        pinned=given.flag("pinned"),
        user=owner.user,
        agent=owner.agent or "",
        version=given.count("version", 0),
        text=text,
        content_hash=content_hash_of(text),
        created_at=given.time("created_at"),
        updated_at=given.time("updated_at"),
        deleted_at=given.maybe_time("deleted_at"),
    )
    snapshot = given.take("snapshot", None)
    versions = tuple(_parsed_version(entry) for entry in given.entries("versions"))
    numbers = [kept.version.number for kept, _ in versions]
    if numbers != sorted(set(numbers)) or (numbers and numbers[-1] > block.version):
        raise InvalidInput("versions of a block must rise, up to its own version")
    shares = tuple(_parsed_share(entry, block) for entry in given.entries("shares"))
    given.end()
    return StoredBlock(block=block, snapshot=_parsed_snapshot(snapshot), versions=versions, shares=shares)


def _version(kept: KeptVersion, delta: bytes | None) -> dict[str, Any]:
    version = kept.version
    return {
        "number": version.number,
        "kind": version.kind,
        "at": version.at.isoformat(),
        "by": version.by,
        "operation": version.operation,
        "reason": version.reason,
        "characters": version.characters,
        "content_hash": version.content_hash,
        "target": version.target,
        "span": kept.span,
        "undone_by": kept.undone_by,
        "size": kept.size,
        "frontiers": _written(kept.frontiers),
        "delta": None if delta is None else _written(delta),
    }


def _parsed_version(value: Any) -> tuple[KeptVersion, bytes | None]:
    given = LineFields(value, "a version of a block")
    undone_by = given.maybe_count("undone_by")
    digest = given.text("content_hash", ID)
    if len(digest) != 64 or any(digit not in "0123456789abcdef" for digit in digest):
        raise InvalidInput("content_hash must be a SHA-256 in hex")
    version = Version(
        number=given.count("number", 0),
        kind=given.one_of("kind", _VERSION_KINDS),
        at=given.time("at"),
        by=given.text("by", _BY, "", empty=True),
        operation=given.text("operation", REMARK, "", empty=True),
        reason=given.text("reason", REMARK, "", empty=True),
        characters=given.count("characters", 0),
        content_hash=digest,
        target=given.maybe_count("target"),
        undone=undone_by is not None,
    )
    delta = given.take("delta", None)
    kept = KeptVersion(
        version=version,
        frontiers=_read("frontiers", given.take("frontiers")),
        size=given.count("size", 0),
        span=given.maybe_count("span"),
        undone_by=undone_by,
    )
    given.end()
    return kept, None if delta is None else _read("delta", delta)


def _parsed_share(value: Any, block: Block) -> Share:
    given = LineFields(value, "a share of a block")
    share = Share(
        block_id=block.id,
        label=block.label,
        agent=given.text("agent", ID),
        permission=checked_permission(given.take("permission")),
        created_at=given.time("created_at"),
    )
    given.end()
    return share


def _parsed_snapshot(value: Any) -> tuple[int, bytes] | None:
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != 2 or isinstance(value[0], bool) or not isinstance(value[0], int):
        raise InvalidInput("snapshot must be a version's number and the bytes in base64, or null")
    return value[0], _read("snapshot", value[1])


def _written(data: bytes) -> str:
    return b64encode(data).decode()


def _read(name: str, value: Any) -> bytes:
    try:
        return b64decode(string(name, value, MESSAGE_TEXT), validate=True)
    except (Error, ValueError):
        raise InvalidInput(f"{name} must be bytes in base64") from None


# An archival entry is a text of its own, beside the blocks.


def entry_line(entry: ArchivalEntry) -> dict[str, Any]:
    """Returns the fields of an archival entry's line, without its type and owner."""
    return {"id": entry.id, "text": entry.text, "metadata": entry.metadata, "created_at": entry.created_at.isoformat()}


def parsed_entry(line: Mapping[str, Any], owner: Owner) -> ArchivalEntry:
    """Returns the archival entry in a line. Raises `InvalidInput`."""
    given = LineFields(line, "an entry")
    entry = ArchivalEntry(
        id=given.text("id", ID),
        text=given.text("text", MEMORY_TEXT, empty=True),
        metadata=given.json_object("metadata"),
        user=owner.user,
        created_at=given.time("created_at"),
    )
    given.end()
    return entry
