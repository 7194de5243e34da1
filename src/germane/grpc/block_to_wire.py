"""Block to wire: converts blocks, versions, shares, requests for consent and archival entries to wire messages."""

from __future__ import annotations

from typing import Any

from google.protobuf.struct_pb2 import Struct, Value

from germane.blocks.block import Block
from germane.blocks.consent_request import ConsentRequest
from germane.blocks.entry import ArchivalEntry
from germane.blocks.share import Share
from germane.blocks.version import Version
from germane.grpc.stubs import block_pb2 as pb
from germane.grpc.to_wire import plain, stamp, text

__all__ = ["archival_entry", "block", "consent_request", "json_value", "share", "version"]


def block(stored: Block, *, readable: bool) -> pb.Block:
    """Returns a block; without its text, its hash and any description where the caller may not read."""
    return pb.Block(
        id=stored.id,
        label=stored.label,
        description=text(stored.description) if readable else "",
        type=stored.type,
        schema=_struct(stored.schema.as_dict() if readable else _undescribed(stored.schema.as_dict())),
        permission=stored.permission,
        limit=stored.limit,
        pinned=stored.pinned,
        user_id=stored.user or "",
        agent_id=stored.agent,
        version=stored.version,
        text=text(stored.text) if readable else "",
        content_hash=stored.content_hash if readable else "",
        created_at=stamp(stored.created_at),
        updated_at=stamp(stored.updated_at),
        shared_from=stored.shared_from or "",
        granted=stored.granted,
        deleted_at=stamp(stored.deleted_at),
        secrets=stored.secrets,
    )


def version(stored: Version) -> pb.BlockVersion:
    return pb.BlockVersion(
        number=stored.number,
        kind=stored.kind,
        at=stamp(stored.at),
        by=text(stored.by),
        operation=text(stored.operation),
        reason=text(stored.reason),
        characters=stored.characters,
        content_hash=stored.content_hash,
        target=stored.target,
        undone=stored.undone,
    )


def share(stored: Share) -> pb.BlockShare:
    return pb.BlockShare(
        block_id=stored.block_id,
        label=stored.label,
        agent_id=stored.agent,
        permission=stored.permission,
        created_at=stamp(stored.created_at),
    )


def consent_request(stored: ConsentRequest) -> pb.ConsentRequest:
    return pb.ConsentRequest(
        id=stored.id,
        block_id=stored.block_id,
        label=stored.label,
        asked_of=stored.asked_of,
        operation=text(stored.operation),
        needs=stored.needs,
        requested_by=text(stored.requested_by),
        requested_at=stamp(stored.requested_at),
        expires_at=stamp(stored.expires_at),
        state=stored.state,
        covers=stored.scope or "",
        until=stamp(stored.until),
        answered_at=stamp(stored.answered_at),
        used_at=stamp(stored.used_at),
    )


def archival_entry(stored: ArchivalEntry, *, readable: bool) -> pb.ArchivalEntry:
    """Returns an entry; without its text and metadata where the caller may not read."""
    return pb.ArchivalEntry(
        id=stored.id,
        text=text(stored.text) if readable else "",
        metadata=_struct(dict(stored.metadata)) if readable else None,
        user_id=stored.user or "",
        created_at=stamp(stored.created_at),
        label=stored.label or "",
        secrets=stored.secrets,
    )


def json_value(value: Any) -> Value:
    """Returns plain JSON as a value."""
    return _struct({"value": value}).fields["value"]


def _undescribed(value: Any) -> Any:
    """The dict of a schema without the descriptions of its sections."""
    if isinstance(value, dict):
        return {name: _undescribed(one) for name, one in value.items() if name != "description"}
    return [_undescribed(one) for one in value] if isinstance(value, list) else value


def _struct(value: dict[str, object]) -> Struct:
    made = Struct()
    made.update(plain(value))
    return made
