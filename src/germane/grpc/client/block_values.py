"""Block values: reads blocks from wire messages, and writes the objects and numbers of all requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from google.protobuf.struct_pb2 import Struct

from germane.errors import InvalidInput
from germane.grpc.client.values import struct_of_wire, time_of_wire
from germane.grpc.stubs import block_pb2 as pb
from germane.kinds.blocks.permission import Asked, ConsentRequest, ConsentScope, ConsentState, Needs, Permission, Share
from germane.kinds.blocks.schema import parse_schema
from germane.kinds.blocks.value import ArchivalEntry, Block, BlockType, Version, VersionKind
from germane.types.limits import quoted
from germane.types.nested_data import bounded


def block_of_wire(wire: pb.Block) -> Block:
    """A block as `germane.Agent.blocks` returns it. A key without the right to read gets no text, no hash
    and no description."""
    return Block(
        id=wire.id,
        label=wire.label,
        description=wire.description,
        type=cast("BlockType", wire.type),
        schema=parse_schema(struct_of_wire(wire.schema)),
        permission=cast("Permission", wire.permission),
        limit=wire.limit,
        pinned=wire.pinned,
        user=wire.user_id or None,
        agent=wire.agent_id,
        version=wire.version,
        text=wire.text,
        content_hash=wire.content_hash,
        created_at=time_of_wire(wire.created_at),
        updated_at=time_of_wire(wire.updated_at),
        shared_from=wire.shared_from or None,
        granted=cast("Permission", wire.granted),
        deleted_at=time_of_wire(wire.deleted_at) if wire.HasField("deleted_at") else None,
        secrets=dict(wire.secrets),
    )


def version_of_wire(wire: pb.BlockVersion) -> Version:
    return Version(
        number=wire.number,
        kind=cast("VersionKind", wire.kind),
        at=time_of_wire(wire.at),
        by=wire.by,
        operation=wire.operation,
        reason=wire.reason,
        characters=wire.characters,
        content_hash=wire.content_hash,
        target=wire.target if wire.HasField("target") else None,
        undone=wire.undone,
    )


def share_of_wire(wire: pb.BlockShare) -> Share:
    return Share(
        block_id=wire.block_id,
        label=wire.label,
        agent=wire.agent_id,
        permission=cast("Permission", wire.permission),
        created_at=time_of_wire(wire.created_at),
    )


def consent_of_wire(wire: pb.ConsentRequest) -> ConsentRequest:
    """A request for consent, without the hash of its edit."""
    return ConsentRequest(
        id=wire.id,
        block_id=wire.block_id,
        label=wire.label,
        asked_of=cast("Asked", wire.asked_of),
        operation=wire.operation,
        needs=cast("Needs", wire.needs),
        digest=b"",
        requested_by=wire.requested_by,
        requested_at=time_of_wire(wire.requested_at),
        expires_at=time_of_wire(wire.expires_at),
        state=cast("ConsentState", wire.state),
        scope=cast("ConsentScope", wire.covers) if wire.covers else None,
        until=time_of_wire(wire.until) if wire.HasField("until") else None,
        answered_at=time_of_wire(wire.answered_at) if wire.HasField("answered_at") else None,
        used_at=time_of_wire(wire.used_at) if wire.HasField("used_at") else None,
    )


def entry_of_wire(wire: pb.ArchivalEntry) -> ArchivalEntry:
    return ArchivalEntry(
        id=wire.id,
        text=wire.text,
        metadata=struct_of_wire(wire.metadata),
        user=wire.user_id or None,
        created_at=time_of_wire(wire.created_at),
        label=wire.label or None,
        type="archival" if wire.label else None,
        secrets=dict(wire.secrets),
    )


def wire_struct(name: str, value: Mapping[str, Any]) -> Struct:
    """Returns JSON as it goes over the wire. Raises `InvalidInput` for what is too large."""
    made = Struct()
    bounded(name, value)
    made.update(value)
    return made


def number_given(name: str, value: object, minimum: int, maximum: int) -> int:
    """Returns a whole number within these bounds. Raises `InvalidInput`."""
    if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
        raise InvalidInput(f"{name} must be a whole number, {minimum} to {maximum:,}, not {quoted(value)}")
    return value
