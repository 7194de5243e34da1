"""Archive RPCs: the client's calls about archival entries, and its searches of the archive and of all blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from germane.blocks.entry import ArchivalEntry, FoundBlock, FoundEntry
from germane.grpc.calling.assemble_call import ClientScope, checked_text
from germane.grpc.calling.block_values import block_of_wire, entry_of_wire, number_given, wire_struct
from germane.grpc.calling.rpcs import ClientRpc, scope_to_wire
from germane.grpc.stubs import block_pb2 as pb
from germane.grpc.stubs.block_pb2_grpc import BlockServiceStub
from germane.types.limits import PAGE

__all__ = ["archive", "delete_entry", "entry", "search", "search_archive"]


def archive(scope: ClientScope, text: str, metadata: Mapping[str, Any] | None = None) -> ClientRpc[ArchivalEntry]:
    """Keeps a text for later searches, by its words and those of its `metadata` (JSON), and returns the entry."""
    request = pb.ArchiveRequest(
        scope=scope_to_wire(scope),
        text=checked_text("text", text),
        metadata=None if metadata is None else wire_struct("metadata", metadata),
    )
    return ClientRpc(BlockServiceStub, "Archive", request, _entry)


def entry(scope: ClientScope, id: str) -> ClientRpc[ArchivalEntry]:
    """Returns one archival entry. Raises `NotFound`."""
    request = pb.GetArchivalEntryRequest(scope=scope_to_wire(scope), id=checked_text("id", id))
    return ClientRpc(BlockServiceStub, "GetArchivalEntry", request, _entry)


def search_archive(scope: ClientScope, query: str, limit: int = 10) -> ClientRpc[tuple[FoundEntry, ...]]:
    """Returns at most `limit` (1 to 1,000) archival entries and archival blocks that answer `query`, best first."""
    number = number_given("limit", limit, 1, PAGE.maximum)
    request = pb.SearchArchiveRequest(scope=scope_to_wire(scope), query=checked_text("query", query), limit=number)

    def read(responses: Sequence[pb.SearchArchiveResponse]) -> tuple[FoundEntry, ...]:
        return tuple(FoundEntry(entry=entry_of_wire(one.entry), relevance=one.relevance) for one in responses)

    return ClientRpc(BlockServiceStub, "SearchArchive", request, read, streams=True)


def delete_entry(scope: ClientScope, id: str, *, by: str = "", reason: str = "") -> ClientRpc[pb.DeleteArchivalEntryResponse]:
    """Deletes an archival entry of the scope's own for good. The answer says whether its bytes are gone already."""
    request = pb.DeleteArchivalEntryRequest(scope=scope_to_wire(scope), id=checked_text("id", id), by=by, reason=reason)
    return ClientRpc(BlockServiceStub, "DeleteArchivalEntry", request, lambda response: response)


def search(scope: ClientScope, query: str, limit: int = 10) -> ClientRpc[tuple[FoundBlock, ...]]:
    """Returns at most `limit` (1 to 1,000) blocks of any type that answer `query`, best first, as they are now; none that
    others share."""
    number = number_given("limit", limit, 1, PAGE.maximum)
    request = pb.SearchBlocksRequest(scope=scope_to_wire(scope), query=checked_text("query", query), limit=number)

    def read(responses: Sequence[pb.SearchBlocksResponse]) -> tuple[FoundBlock, ...]:
        return tuple(FoundBlock(block=block_of_wire(one.block), relevance=one.relevance) for one in responses)

    return ClientRpc(BlockServiceStub, "SearchBlocks", request, read, streams=True)


def _entry(response: Any) -> ArchivalEntry:
    return entry_of_wire(response.entry)
