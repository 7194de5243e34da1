"""Block folder RPCs: the client's calls about all blocks under one folder."""

from __future__ import annotations

from typing import Any

from germane.blocks.block import Block
from germane.grpc.calling.assemble_call import ClientScope, checked_text
from germane.grpc.calling.block_values import block_of_wire
from germane.grpc.calling.rpcs import ClientRpc, scope_to_wire
from germane.grpc.stubs import block_pb2 as pb
from germane.grpc.stubs.block_pb2_grpc import BlockServiceStub

__all__ = ["delete_folder", "rename_folder"]


def rename_folder(
    scope: ClientScope,
    folder: str,
    new_folder: str,
    *,
    type: str | None = None,
    by: str = "",
    reason: str = "",
    system: bool = False,
) -> ClientRpc[tuple[Block, ...]]:
    """Renames all blocks with labels that begin with `folder/`, or none of them, and returns them. Raises `NotFound`."""
    request = pb.RenameBlockFolderRequest(
        scope=scope_to_wire(scope),
        folder=checked_text("folder", folder),
        new_folder=checked_text("new_folder", new_folder),
        type="" if type is None else checked_text("type", type),
        by=by,
        reason=reason,
        system=system,
    )
    return ClientRpc(BlockServiceStub, "RenameBlockFolder", request, _blocks)


def delete_folder(
    scope: ClientScope, folder: str, *, by: str = "", reason: str = "", system: bool = False
) -> ClientRpc[tuple[Block, ...]]:
    """Deletes all blocks with labels that begin with `folder/`, or none of them, and returns them. Raises `NotFound`."""
    request = pb.DeleteBlockFolderRequest(
        scope=scope_to_wire(scope), folder=checked_text("folder", folder), by=by, reason=reason, system=system
    )
    return ClientRpc(BlockServiceStub, "DeleteBlockFolder", request, _blocks)


def _blocks(response: Any) -> tuple[Block, ...]:
    return tuple(map(block_of_wire, response.blocks))
