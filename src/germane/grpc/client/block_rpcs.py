"""Block RPCs: the client's calls about memory blocks, as `client.blocks`. All return plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf.struct_pb2 import Struct, Value

from germane.errors import InvalidInput
from germane.grpc.client.assembly import ClientScope, checked_text
from germane.grpc.client.block_values import (
    block_of_wire,
    consent_of_wire,
    entry_of_wire,
    number_given,
    share_of_wire,
    version_of_wire,
    wire_struct,
)
from germane.grpc.client.rpcs import ClientRpc, scope_to_wire
from germane.grpc.client.values import struct_of_wire
from germane.grpc.stubs import block_pb2 as pb
from germane.grpc.stubs.block_pb2_grpc import BlockServiceStub
from germane.kinds.blocks.mutation import AppendText, Mutation, ReplaceText, SetText, as_dict, parse_mutation
from germane.kinds.blocks.permission import ConsentRequest, Share
from germane.kinds.blocks.schema import Schema, parse_schema
from germane.kinds.blocks.value import DEFAULT_LIMIT, ArchivalEntry, Block, FoundBlock, FoundEntry, Version
from germane.types.limits import BLOCK_TEXT, COUNT, PAGE, quoted


def create(
    scope: ClientScope,
    label: str,
    *,
    description: str = "",
    type: str = "working",
    schema: Schema | Mapping[str, Any] | str | None = None,
    text: str | None = None,
    value: Any = None,
    permission: str = "read_write",
    limit: int = DEFAULT_LIMIT,
    pinned: bool = False,
    by: str = "",
    reason: str = "",
) -> ClientRpc[Block]:
    """Makes a block and returns it. Raises `Conflict` where the label is taken, and `InvalidInput`."""
    if text is not None and value is not None:
        raise InvalidInput("text and value are both given: text is the value of plain text, so give one of them")
    request = pb.CreateBlockRequest(
        scope=scope_to_wire(scope),
        label=checked_text("label", label),
        description=checked_text("description", description, optional=True),
        type=checked_text("type", type),
        schema=_schema(schema),
        text=checked_text("text", text, optional=True),
        value=None if value is None else _value("value", value),
        permission=checked_text("permission", permission),
        limit=number_given("limit", limit, 1, BLOCK_TEXT.maximum),
        pinned=pinned,
        by=by,
        reason=reason,
    )
    return ClientRpc(BlockServiceStub, "CreateBlock", request, _block)


def get(scope: ClientScope, label: str) -> ClientRpc[Block]:
    """Returns a block as it is now, by its label or id. Raises `NotFound`."""
    return ClientRpc(BlockServiceStub, "GetBlock", pb.GetBlockRequest(**_named(scope, label)), _block)


def value(scope: ClientScope, label: str) -> ClientRpc[Any]:
    """Returns the content of a block as plain JSON of its schema; of plain text, the whole text without any mark. Raises
    `NotFound`."""
    request = pb.GetBlockRequest(**_named(scope, label), with_value=True)

    def read(response: pb.GetBlockResponse) -> Any:
        return struct_of_wire(Struct(fields={"value": response.value}))["value"]

    return ClientRpc(BlockServiceStub, "GetBlock", request, read)


def list_blocks(
    scope: ClientScope, type: str | None = None, *, folder: str | None = None, deleted: bool = False
) -> ClientRpc[tuple[Block, ...]]:
    """Returns the blocks, own ones by label and then shared ones; with `deleted` the own ones that were deleted, the latest
    first."""
    request = pb.ListBlocksRequest(
        scope=scope_to_wire(scope),
        type=checked_text("type", type, optional=True),
        folder=_given("folder", folder),
        deleted=deleted,
    )
    return ClientRpc(BlockServiceStub, "ListBlocks", request, _blocks, streams=True)


def edit(
    scope: ClientScope,
    label: str,
    *mutations: Mutation | Mapping[str, Any],
    base: int | None = None,
    if_hash: str | None = None,
    by: str = "",
    reason: str = "",
    system: bool = False,
) -> ClientRpc[Block]:
    """Applies mutations (values, or their dicts), all or none, and returns the block. `if_hash` is the `content_hash` that the
    caller has read, `base` the version. Raises `Stale`, `NotPermitted`, `ConsentNeeded`, `NotFound`, `InvalidInput`."""
    parsed = [parse_mutation(as_dict(one) if isinstance(one, Mutation) else one) for one in mutations]
    request = pb.EditBlockRequest(
        **_named(scope, label),
        mutations=[wire_struct("a mutation", as_dict(one)) for one in parsed],
        base_version=None if base is None else number_given("base", base, 0, COUNT.maximum),
        if_hash=checked_text("if_hash", if_hash, optional=True),
        by=by,
        reason=reason,
        system=system,
    )
    return ClientRpc(BlockServiceStub, "EditBlock", request, _block)


def set_text(
    scope: ClientScope, label: str, text: str, *, base: int | None = None, by: str = "", reason: str = ""
) -> ClientRpc[Block]:
    """Replaces the text of a plain text block; see `edit`."""
    return edit(scope, label, SetText(text=text), base=base, by=by, reason=reason)


def append(scope: ClientScope, label: str, text: str, *, by: str = "", reason: str = "") -> ClientRpc[Block]:
    """Adds to the end of the text of a plain text block, as it is; see `edit`."""
    return edit(scope, label, AppendText(text=text), by=by, reason=reason)


def replace(scope: ClientScope, label: str, old: str, new: str, *, by: str = "", reason: str = "") -> ClientRpc[Block]:
    """Replaces `old`, which must occur exactly once in the text, with `new`; see `edit`."""
    return edit(scope, label, ReplaceText(old=old, new=new), by=by, reason=reason)


def undo(scope: ClientScope, label: str, *, by: str = "", reason: str = "", system: bool = False) -> ClientRpc[Block]:
    """Takes back the latest edit that isn't undone, and returns the block. What was changed since stays."""
    request = pb.UndoBlockEditRequest(**_named(scope, label), by=by, reason=reason, system=system)
    return ClientRpc(BlockServiceStub, "UndoBlockEdit", request, _block)


def redo(scope: ClientScope, label: str, *, by: str = "", reason: str = "", system: bool = False) -> ClientRpc[Block]:
    """Makes the edit again that was undone last, and returns the block."""
    request = pb.RedoBlockEditRequest(**_named(scope, label), by=by, reason=reason, system=system)
    return ClientRpc(BlockServiceStub, "RedoBlockEdit", request, _block)


def history(scope: ClientScope, label: str) -> ClientRpc[tuple[Version, ...]]:
    """Returns the versions of a block that are kept, oldest first."""
    request = pb.GetBlockHistoryRequest(**_named(scope, label))

    def read(response: pb.GetBlockHistoryResponse) -> tuple[Version, ...]:
        return tuple(map(version_of_wire, response.versions))

    return ClientRpc(BlockServiceStub, "GetBlockHistory", request, read)


def show_version(scope: ClientScope, label: str, version: int) -> ClientRpc[str]:
    """Returns the text of a block as it was at a version. Raises `NotFound`, also where the version isn't kept."""
    number = number_given("version", version, 0, COUNT.maximum)
    request = pb.GetBlockVersionRequest(**_named(scope, label), version=number)
    return ClientRpc(BlockServiceStub, "GetBlockVersion", request, lambda response: response.text)


def pin(scope: ClientScope, label: str, pinned: bool = True, *, by: str = "", system: bool = False) -> ClientRpc[Block]:
    """Pins a working block, so that it is in every context, or unpins it; returns the block."""
    request = pb.PinBlockRequest(**_named(scope, label), pinned=pinned, by=by, system=system)
    return ClientRpc(BlockServiceStub, "PinBlock", request, _block)


def change(
    scope: ClientScope,
    label: str,
    *,
    new_label: str | None = None,
    description: str | None = None,
    type: str | None = None,
    schema: Schema | Mapping[str, Any] | str | None = None,
    permission: str | None = None,
    limit: int | None = None,
    if_hash: str | None = None,
    by: str = "",
    reason: str = "",
    system: bool = False,
) -> ClientRpc[Block]:
    """Changes settings of an own block and returns it; what isn't given stays."""
    request = pb.ChangeBlockRequest(
        **_named(scope, label),
        new_label=_given("new_label", new_label),
        description=None if description is None else checked_text("description", description, optional=True),
        type=_given("type", type),
        schema=_schema(schema),
        permission=_given("permission", permission),
        limit=0 if limit is None else number_given("limit", limit, 1, BLOCK_TEXT.maximum),
        if_hash=_given("if_hash", if_hash),
        by=by,
        reason=reason,
        system=system,
    )
    return ClientRpc(BlockServiceStub, "ChangeBlock", request, _block)


def delete(
    scope: ClientScope, label: str, *, if_hash: str | None = None, by: str = "", reason: str = "", system: bool = False
) -> ClientRpc[Block]:
    """Deletes a block and returns it: its label is free, and `restore` brings it back."""
    request = pb.DeleteBlockRequest(
        **_named(scope, label), if_hash=_given("if_hash", if_hash), by=by, reason=reason, system=system
    )
    return ClientRpc(BlockServiceStub, "DeleteBlock", request, _block)


def restore(scope: ClientScope, id: str, *, by: str = "", reason: str = "", system: bool = False) -> ClientRpc[Block]:
    """Brings back the deleted block with this id and returns it. Idempotent."""
    request = pb.RestoreBlockRequest(scope=scope_to_wire(scope), id=checked_text("id", id), by=by, reason=reason, system=system)
    return ClientRpc(BlockServiceStub, "RestoreBlock", request, _block)


def share(
    scope: ClientScope, label: str, agent: str, permission: str = "append", *, by: str = "", system: bool = False
) -> ClientRpc[Share]:
    """Shares an own block with another agent of the org, for which the key has to allow writing too; returns the share."""
    request = pb.ShareBlockRequest(
        **_named(scope, label),
        agent_id=checked_text("agent", agent),
        permission=checked_text("permission", permission),
        by=by,
        system=system,
    )
    return ClientRpc(BlockServiceStub, "ShareBlock", request, lambda response: share_of_wire(response.share))


def unshare(scope: ClientScope, label: str, agent: str, *, by: str = "", system: bool = False) -> ClientRpc[bool]:
    """Ends the share of an own block with an agent, and returns whether there was one. Idempotent."""
    request = pb.UnshareBlockRequest(**_named(scope, label), agent_id=checked_text("agent", agent), by=by, system=system)
    return ClientRpc(BlockServiceStub, "UnshareBlock", request, lambda response: response.ended)


def shares(scope: ClientScope, label: str | None = None) -> ClientRpc[tuple[Share, ...]]:
    """Returns the shares of an own block, or of all of them, by label and agent."""
    request = pb.ListBlockSharesRequest(scope=scope_to_wire(scope), block=_given("label", label))

    def read(responses: Sequence[pb.ListBlockSharesResponse]) -> tuple[Share, ...]:
        return tuple(share_of_wire(response.share) for response in responses)

    return ClientRpc(BlockServiceStub, "ListBlockShares", request, read, streams=True)


def consents(scope: ClientScope, *, pending: bool = True, limit: int = 50) -> ClientRpc[tuple[ConsentRequest, ...]]:
    """Returns at most `limit` (1 to 1,000) requests for consent on the scope's own blocks, newest first: those that can be
    answered now, or with `pending=False` all that are kept."""
    number = number_given("limit", limit, 1, PAGE.maximum)
    request = pb.ListConsentsRequest(scope=scope_to_wire(scope), answered_too=not pending, limit=number)

    def read(response: pb.ListConsentsResponse) -> tuple[ConsentRequest, ...]:
        return tuple(map(consent_of_wire, response.requests))

    return ClientRpc(BlockServiceStub, "ListConsents", request, read)


def approve(own: ClientScope, id: str, scope: str | float = "once") -> ClientRpc[ConsentRequest]:
    """Approves a request: for this edit `once`, for a number of seconds, or for the `block`. Idempotent."""
    if scope == "once":
        return _answer(own, id, pb.CONSENT_ANSWER_APPROVE_ONCE)
    if scope == "block":
        return _answer(own, id, pb.CONSENT_ANSWER_APPROVE_BLOCK)
    if isinstance(scope, bool) or not isinstance(scope, int | float) or not scope > 0:
        raise InvalidInput(f"scope must be 'once', 'block' or a number of seconds, not {quoted(scope)}")
    return _answer(own, id, pb.CONSENT_ANSWER_APPROVE_UNTIL, scope)


def deny(scope: ClientScope, id: str) -> ClientRpc[ConsentRequest]:
    """Denies a request. Idempotent."""
    return _answer(scope, id, pb.CONSENT_ANSWER_DENY)


def _answer(scope: ClientScope, id: str, answer: pb.ConsentAnswer.ValueType, seconds: float = 0.0) -> ClientRpc[ConsentRequest]:
    request = pb.AnswerConsentRequest(scope=scope_to_wire(scope), id=checked_text("id", id), answer=answer, seconds=seconds)
    return ClientRpc(BlockServiceStub, "AnswerConsent", request, lambda response: consent_of_wire(response.request))


def _block(response: Any) -> Block:
    return block_of_wire(response.block)


def _blocks(responses: Sequence[pb.ListBlocksResponse]) -> tuple[Block, ...]:
    return tuple(map(_block, responses))


def _named(scope: ClientScope, label: str) -> dict[str, Any]:
    return {"scope": scope_to_wire(scope), "block": checked_text("label", label)}


def _given(name: str, value: str | None) -> str:
    """An empty string on the wire means that nothing was given."""
    return "" if value is None else checked_text(name, value)


def _schema(schema: Schema | Mapping[str, Any] | str | None) -> Struct | None:
    return None if schema is None else wire_struct("schema", parse_schema(schema).as_dict())


def _value(name: str, value: Any) -> Value:
    return wire_struct(name, {"value": value}).fields["value"]


# Calls about all blocks under one folder.


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
    return ClientRpc(BlockServiceStub, "RenameBlockFolder", request, _blocks_of_folder)


def delete_folder(
    scope: ClientScope, folder: str, *, by: str = "", reason: str = "", system: bool = False
) -> ClientRpc[tuple[Block, ...]]:
    """Deletes all blocks with labels that begin with `folder/`, or none of them, and returns them. Raises `NotFound`."""
    request = pb.DeleteBlockFolderRequest(
        scope=scope_to_wire(scope), folder=checked_text("folder", folder), by=by, reason=reason, system=system
    )
    return ClientRpc(BlockServiceStub, "DeleteBlockFolder", request, _blocks_of_folder)


def _blocks_of_folder(response: Any) -> tuple[Block, ...]:
    return tuple(map(block_of_wire, response.blocks))


# Calls about archival entries, and the searches of the archive and of all blocks.


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
