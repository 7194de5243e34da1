"""Block line: writes a block of an export as one JSON object, and reads it back with a check of every field.

The document and the changes are written in base64, so that a restored block can be edited and undone as before.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

from germane.blocks.block import DEFAULT_LIMIT, Block, block_type, content_hash_of
from germane.blocks.label import checked_label
from germane.blocks.permission import checked_permission
from germane.blocks.schema import parse_schema
from germane.blocks.share import Share
from germane.blocks.version import KeptVersion, Version, VersionKind
from germane.errors import InvalidInput
from germane.transfer.line_fields import LineFields, written_time
from germane.transfer.stored import Owner, StoredBlock
from germane.types.limits import BLOCK_TEXT, ID, MESSAGE_TEXT, REMARK
from germane.types.limits import text as string

__all__ = ["block_line", "parsed_block"]

_KINDS = get_args(VersionKind)
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
        kind=given.one_of("kind", _KINDS),
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
