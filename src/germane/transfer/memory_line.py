"""Memory line: writes a memory, and a contradiction between two, as JSON objects, and reads them back with a check of every
field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from germane.errors import InvalidInput
from germane.memories.checks import share, tag_names
from germane.memories.compose import compose, content_fields
from germane.memories.link import CONFLICT_REASONS, ContradictionRecord
from germane.memories.memory import Behavior, Content, Episode, Fact, Memory, Note, Preference, Procedure
from germane.memories.remember import hash_of
from germane.memories.resolve import BOTH
from germane.transfer.line_fields import LineFields, written_time
from germane.transfer.line_provenance import parsed_provenance, provenance_fields
from germane.transfer.stored import Owner
from germane.types.limits import ID, NAME, REFERENCES, entries

__all__ = ["contradiction_line", "memory_line", "parsed_contradiction", "parsed_memory"]


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
        derived_from=entries("derived_from", given.take("derived_from", ()), REFERENCES, ID),
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
