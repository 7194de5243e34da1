"""Block servicer: the RPCs of `BlockService`; each calls the method of `agent.blocks` with the same meaning."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from google.protobuf.struct_pb2 import Struct, Value

from germane.api.workers.threads import by_turns
from germane.errors import InvalidInput
from germane.grpc.server.authorisation import AgentResolver, denied
from germane.grpc.server.call import RpcCall, may_read
from germane.grpc.server.from_wire import plain, plain_object
from germane.grpc.server.memory_servicer import limit_of
from germane.grpc.server.refusals import invalid
from germane.grpc.server.to_wire import stamp, struct_value, wire_text
from germane.grpc.stubs import block_pb2 as pb
from germane.kinds.blocks.access import MAX_CONSENT
from germane.kinds.blocks.permission import ConsentRequest, Share
from germane.kinds.blocks.value import DEFAULT_LIMIT, ArchivalEntry, Block, Version
from germane.kinds.keys.value import Right
from germane.types.limits import LIST_ITEMS, check_size
from germane.types.scope import Scope

_DEFAULT_CONSENTS = 50
_DEFAULT_RESULTS = 10


class BlockServicer:
    """Runs on the engine's loop. Every method raises `Refused` and `InvalidInput` for a request that its caller has to correct,
    and germane's other errors. What a key without the right to read gets holds no content."""

    rights: ClassVar[Mapping[str, Right]] = MappingProxyType(
        {
            "CreateBlock": "write",
            "GetBlock": "read",
            "ListBlocks": "read",
            "EditBlock": "write",
            "UndoBlockEdit": "write",
            "RedoBlockEdit": "write",
            "GetBlockHistory": "read",
            "GetBlockVersion": "read",
            "PinBlock": "write",
            "ChangeBlock": "write",
            "DeleteBlock": "write",
            "RenameBlockFolder": "write",
            "DeleteBlockFolder": "write",
            "RestoreBlock": "write",
            "ShareBlock": "write",
            "UnshareBlock": "write",
            "ListBlockShares": "read",
            "ListConsents": "read",
            "AnswerConsent": "write",
            "Archive": "write",
            "GetArchivalEntry": "read",
            "SearchArchive": "read",
            "SearchBlocks": "read",
            "DeleteArchivalEntry": "write",
        }
    )

    def __init__(self, resolver: AgentResolver) -> None:
        self._resolver = resolver

    async def create_block(self, request: pb.CreateBlockRequest, call: RpcCall) -> pb.CreateBlockResponse:
        blocks = self._resolver.scoped(request.scope, call).blocks
        made = await blocks.create(
            _named("label", request.label),
            description=request.description,
            type=request.type or "working",
            schema=_object(request, "schema"),
            text=request.text or None,
            value=plain(request.value, "value") if request.HasField("value") else None,
            permission=request.permission or "read_write",
            limit=request.limit or DEFAULT_LIMIT,
            pinned=request.pinned,
            by=request.by,
            reason=request.reason,
        )
        return pb.CreateBlockResponse(block=_block(made, call))

    async def get_block(self, request: pb.GetBlockRequest, call: RpcCall) -> pb.GetBlockResponse:
        blocks = self._resolver.scoped(request.scope, call).blocks
        found = await blocks.get(_named("block", request.block))
        content = json_value(await blocks.value(found.id)) if request.with_value else None
        return pb.GetBlockResponse(block=_block(found, call), value=content)

    async def list_blocks(self, request: pb.ListBlocksRequest, call: RpcCall) -> AsyncGenerator[pb.ListBlocksResponse, None]:
        blocks = self._resolver.scoped(request.scope, call).blocks
        for one in await blocks.list(request.type or None, folder=request.folder or None, deleted=request.deleted):
            yield pb.ListBlocksResponse(block=_block(one, call))

    async def edit_block(self, request: pb.EditBlockRequest, call: RpcCall) -> pb.EditBlockResponse:
        blocks = self._resolver.scoped(request.scope, call).blocks
        check_size("mutations", len(request.mutations), LIST_ITEMS)
        mutations = await by_turns(request.mutations, lambda one, index: plain_object(one, f"mutations[{index}]"))
        edited = await blocks.edit(
            _named("block", request.block),
            *mutations,
            base=request.base_version if request.HasField("base_version") else None,
            if_hash=request.if_hash or None,
            **_history(request),
        )
        return pb.EditBlockResponse(block=_block(edited, call))

    async def undo_block_edit(self, request: pb.UndoBlockEditRequest, call: RpcCall) -> pb.UndoBlockEditResponse:
        blocks = self._resolver.scoped(request.scope, call).blocks
        undone = await blocks.undo(_named("block", request.block), **_history(request))
        return pb.UndoBlockEditResponse(block=_block(undone, call))

    async def redo_block_edit(self, request: pb.RedoBlockEditRequest, call: RpcCall) -> pb.RedoBlockEditResponse:
        blocks = self._resolver.scoped(request.scope, call).blocks
        redone = await blocks.redo(_named("block", request.block), **_history(request))
        return pb.RedoBlockEditResponse(block=_block(redone, call))

    async def get_block_history(self, request: pb.GetBlockHistoryRequest, call: RpcCall) -> pb.GetBlockHistoryResponse:
        blocks = self._resolver.scoped(request.scope, call).blocks
        return pb.GetBlockHistoryResponse(versions=map(version, await blocks.history(_named("block", request.block))))

    async def get_block_version(self, request: pb.GetBlockVersionRequest, call: RpcCall) -> pb.GetBlockVersionResponse:
        blocks = self._resolver.scoped(request.scope, call).blocks
        return pb.GetBlockVersionResponse(
            text=wire_text(await blocks.show_version(_named("block", request.block), request.version))
        )

    async def pin_block(self, request: pb.PinBlockRequest, call: RpcCall) -> pb.PinBlockResponse:
        blocks = self._resolver.scoped(request.scope, call).blocks
        pinned = await blocks.pin(_named("block", request.block), request.pinned, by=request.by, system=request.system)
        return pb.PinBlockResponse(block=_block(pinned, call))

    async def change_block(self, request: pb.ChangeBlockRequest, call: RpcCall) -> pb.ChangeBlockResponse:
        blocks = self._resolver.scoped(request.scope, call).blocks
        changed = await blocks.change(
            _named("block", request.block),
            new_label=request.new_label or None,
            description=request.description if request.HasField("description") else None,
            type=request.type or None,
            schema=_object(request, "schema"),
            permission=request.permission or None,
            limit=request.limit or None,
            if_hash=request.if_hash or None,
            **_history(request),
        )
        return pb.ChangeBlockResponse(block=_block(changed, call))

    async def delete_block(self, request: pb.DeleteBlockRequest, call: RpcCall) -> pb.DeleteBlockResponse:
        blocks = self._resolver.scoped(request.scope, call).blocks
        deleted = await blocks.delete(_named("block", request.block), if_hash=request.if_hash or None, **_history(request))
        return pb.DeleteBlockResponse(block=_block(deleted, call))

    async def rename_block_folder(self, request: pb.RenameBlockFolderRequest, call: RpcCall) -> pb.RenameBlockFolderResponse:
        blocks = self._resolver.scoped(request.scope, call).blocks
        named, new = _named("folder", request.folder), _named("new_folder", request.new_folder)
        renamed = await blocks.rename_folder(named, new, type=request.type or None, **_history(request))
        return pb.RenameBlockFolderResponse(blocks=[_block(one, call) for one in renamed])

    async def delete_block_folder(self, request: pb.DeleteBlockFolderRequest, call: RpcCall) -> pb.DeleteBlockFolderResponse:
        blocks = self._resolver.scoped(request.scope, call).blocks
        deleted = await blocks.delete_folder(_named("folder", request.folder), **_history(request))
        return pb.DeleteBlockFolderResponse(blocks=[_block(one, call) for one in deleted])

    async def restore_block(self, request: pb.RestoreBlockRequest, call: RpcCall) -> pb.RestoreBlockResponse:
        blocks = self._resolver.scoped(request.scope, call).blocks
        restored = await blocks.restore(_named("id", request.id), **_history(request))
        return pb.RestoreBlockResponse(block=_block(restored, call))

    async def share_block(self, request: pb.ShareBlockRequest, call: RpcCall) -> pb.ShareBlockResponse:
        """The block gets into the other agent's prompts, so the key has to allow writing for that agent too."""
        blocks = self._resolver.scoped(request.scope, call).blocks
        other = _agent(request.agent_id)
        if call.grant is not None and not call.grant.allows("write", org=call.record.org, agent=other):
            raise denied()
        shared = await blocks.share(
            _named("block", request.block), other, request.permission or "append", by=request.by, system=request.system
        )
        return pb.ShareBlockResponse(share=share(shared))

    async def unshare_block(self, request: pb.UnshareBlockRequest, call: RpcCall) -> pb.UnshareBlockResponse:
        blocks = self._resolver.scoped(request.scope, call).blocks
        named, other = _named("block", request.block), _agent(request.agent_id)
        return pb.UnshareBlockResponse(ended=await blocks.unshare(named, other, by=request.by, system=request.system))

    async def list_block_shares(
        self, request: pb.ListBlockSharesRequest, call: RpcCall
    ) -> AsyncGenerator[pb.ListBlockSharesResponse, None]:
        blocks = self._resolver.scoped(request.scope, call).blocks
        for one in await blocks.shares(request.block or None):
            yield pb.ListBlockSharesResponse(share=share(one))

    async def list_consents(self, request: pb.ListConsentsRequest, call: RpcCall) -> pb.ListConsentsResponse:
        blocks = self._resolver.scoped(request.scope, call).blocks
        limit = limit_of("limit", request.limit, _DEFAULT_CONSENTS)
        found = await blocks.consents(pending=not request.answered_too, limit=limit)
        return pb.ListConsentsResponse(requests=map(consent_request, found))

    async def answer_consent(self, request: pb.AnswerConsentRequest, call: RpcCall) -> pb.AnswerConsentResponse:
        blocks = self._resolver.scoped(request.scope, call).blocks
        id = _named("id", request.id)
        if request.seconds and request.answer != pb.CONSENT_ANSWER_APPROVE_UNTIL:
            raise invalid("seconds: they belong to CONSENT_ANSWER_APPROVE_UNTIL")
        match request.answer:
            case pb.CONSENT_ANSWER_DENY:
                answered = await blocks.deny(id)
            case pb.CONSENT_ANSWER_APPROVE_ONCE:
                answered = await blocks.approve(id)
            case pb.CONSENT_ANSWER_APPROVE_UNTIL:
                if not 0 < request.seconds <= MAX_CONSENT.total_seconds():
                    raise invalid("seconds must be above 0 and at most a year: say for how long the approval is good")
                answered = await blocks.approve(id, request.seconds)
            case pb.CONSENT_ANSWER_APPROVE_BLOCK:
                answered = await blocks.approve(id, "block")
            case _:
                raise invalid("answer is missing: give CONSENT_ANSWER_DENY or one of CONSENT_ANSWER_APPROVE_…")
        return pb.AnswerConsentResponse(request=consent_request(answered))

    async def archive(self, request: pb.ArchiveRequest, call: RpcCall) -> pb.ArchiveResponse:
        blocks = self._resolver.scoped(request.scope, call).blocks
        kept = await blocks.archive(request.text, _object(request, "metadata"))
        return pb.ArchiveResponse(entry=archival_entry(kept, readable=may_read(call)))

    async def get_archival_entry(self, request: pb.GetArchivalEntryRequest, call: RpcCall) -> pb.GetArchivalEntryResponse:
        blocks = self._resolver.scoped(request.scope, call).blocks
        found = await blocks.entry(_named("id", request.id))
        return pb.GetArchivalEntryResponse(entry=archival_entry(found, readable=may_read(call)))

    async def search_archive(
        self, request: pb.SearchArchiveRequest, call: RpcCall
    ) -> AsyncGenerator[pb.SearchArchiveResponse, None]:
        blocks = self._resolver.scoped(request.scope, call).blocks
        if not request.query:
            raise invalid("query is missing: say what to look for")
        for found in await blocks.search_archive(request.query, limit_of("limit", request.limit, _DEFAULT_RESULTS)):
            entry = archival_entry(found.entry, readable=may_read(call))
            yield pb.SearchArchiveResponse(entry=entry, relevance=found.relevance)

    async def search_blocks(
        self, request: pb.SearchBlocksRequest, call: RpcCall
    ) -> AsyncGenerator[pb.SearchBlocksResponse, None]:
        blocks = self._resolver.scoped(request.scope, call).blocks
        if not request.query:
            raise invalid("query is missing: say what to look for")
        for found in await blocks.search(request.query, limit_of("limit", request.limit, _DEFAULT_RESULTS)):
            yield pb.SearchBlocksResponse(block=_block(found.block, call), relevance=found.relevance)

    async def delete_archival_entry(
        self, request: pb.DeleteArchivalEntryRequest, call: RpcCall
    ) -> pb.DeleteArchivalEntryResponse:
        blocks = self._resolver.scoped(request.scope, call).blocks
        receipt = await blocks.delete_entry(_named("id", request.id), by=request.by, reason=request.reason)
        return pb.DeleteArchivalEntryResponse(scrubbed=receipt.scrubbed, waiting_for=receipt.waiting_for)


def _block(stored: Block, call: RpcCall) -> pb.Block:
    return block(stored, readable=may_read(call))


def _history(request: Any) -> dict[str, Any]:
    """What a request says about who changes a block, and why."""
    return {"by": request.by, "reason": request.reason, "system": request.system}


def _named(field: str, value: str) -> str:
    if not value:
        raise invalid(f"{field} is missing: say which {'label' if field == 'label' else 'one'}")
    return value


def _agent(value: str) -> str:
    if not value:
        raise invalid("agent_id is missing: say which agent it is")
    try:
        return Scope(org="any", agent=value).agent
    except InvalidInput:
        raise invalid("agent_id can't be an agent's name: it is too long, or holds control characters") from None


def _object(request: Any, field: str) -> dict[str, Any] | None:
    wire: Struct = getattr(request, field)
    return plain_object(wire, field) if request.HasField(field) else None


# Blocks, versions, shares, requests for consent and archival entries as wire messages.


def block(stored: Block, *, readable: bool) -> pb.Block:
    """Returns a block; without its text, its hash and any description where the caller may not read."""
    return pb.Block(
        id=stored.id,
        label=stored.label,
        description=wire_text(stored.description) if readable else "",
        type=stored.type,
        schema=_struct(stored.schema.as_dict() if readable else _undescribed(stored.schema.as_dict())),
        permission=stored.permission,
        limit=stored.limit,
        pinned=stored.pinned,
        user_id=stored.user or "",
        agent_id=stored.agent,
        version=stored.version,
        text=wire_text(stored.text) if readable else "",
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
        by=wire_text(stored.by),
        operation=wire_text(stored.operation),
        reason=wire_text(stored.reason),
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
        operation=wire_text(stored.operation),
        needs=stored.needs,
        requested_by=wire_text(stored.requested_by),
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
        text=wire_text(stored.text) if readable else "",
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
    made.update(struct_value(value))
    return made
