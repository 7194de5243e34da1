"""Handle of blocks: the memory blocks of one scope, as `agent.blocks`: make, read, edit, share, agree, archive."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from germane.api.arguments import remarks
from germane.api.contents import search_archive, search_blocks
from germane.api.wiring import Parts
from germane.api.workers.open_blocks import BlockListener, agreed
from germane.errors import InvalidInput, NotFound, StoreCorrupt
from germane.kinds.blocks.access import Editor, answer_consent, consent_scope, share_block, unshare_block
from germane.kinds.blocks.field import checked_label, label_key
from germane.kinds.blocks.mutation import AppendText, Mutation, ReplaceText, SetText
from germane.kinds.blocks.permission import ConsentRequest, Share, checked_permission
from germane.kinds.blocks.plans import (
    NewBlock,
    create_block,
    edit_block,
    fitting_schema,
    keep_entry,
    new_entry,
    redo_edit,
    screened_mutations,
    undo_edit,
)
from germane.kinds.blocks.reads import (
    BlocksUnder,
    DocumentOf,
    FirstNamed,
    ListBlocks,
    ListConsents,
    SeenEntries,
    SharesOf,
    StoredDocument,
    VersionsOf,
)
from germane.kinds.blocks.revision import Edited, past_text, present_value
from germane.kinds.blocks.schema import Schema, parse_schema
from germane.kinds.blocks.settings import BlockSettings, change_block, delete_block, delete_folder, rename_folder, restore_block
from germane.kinds.blocks.value import DEFAULT_LIMIT, ArchivalEntry, Block, FoundBlock, FoundEntry, Version, block_type
from germane.kinds.memories.forgetting import forget, left_of
from germane.kinds.memories.value import Receipt
from germane.ports.background import aside
from germane.stores.contract import scrub_files
from germane.types.checks import check_flags, check_optional_text, check_text, check_whole_number
from germane.types.limits import BLOCK_TEXT, COUNT, ID, PAGE, REMARK
from germane.types.operation import operation
from germane.types.plan import Plan
from germane.types.scope import Scope

T = TypeVar("T")
_MAX_INLINE = 32
"""Mutations of one edit that are read on the event loop: 2 ms."""


class AgentBlocks:
    """The blocks that one scope sees: its user's, agent-wide ones, and those that other agents share with it. A block is named
    by its label or its id; a user's block stands before the agent's with the same label, and both before a shared one. A scope
    changes its own user's blocks (agent-wide ones where it has none), and shared ones as far as granted.

    `by` and `reason` are kept with the version. `system=True` says that your application changes an own block, and not the
    agent: then no permission is asked for. Every change raises `NotFound`, `NotPermitted`, `ConsentNeeded`, and `InvalidInput`
    where it doesn't fit; then nothing is written but the request for consent."""

    def __init__(self, parts: Parts, scope: Scope) -> None:
        self._parts, self._scope, self._open = parts, scope, parts.blocks
        self._store = parts.store.within(scope)

    @operation("write")
    async def create(
        self,
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
    ) -> Block:
        """Makes a block and returns it. `type` is core, working, archival or log; `schema` a `Schema`, its dict, or the name of
        a shape (default: a log for a log, else plain text). The first content is `text`, or the plain `value` of another
        schema. `limit` is the most characters of the rendered text. Raises `Conflict` where the label is taken, and
        `InvalidInput`."""
        check_flags(pinned=pinned)
        if text is not None and value is not None:
            raise InvalidInput("is given beside value, and is the value of plain text", path="text", advice="give one of them")
        kind = block_type(type)
        new = NewBlock(
            label=checked_label(label),
            description=check_text("description", description, REMARK),
            type=kind,
            schema=fitting_schema(kind, None if schema is None else parse_schema(schema)),
            permission=checked_permission(permission),
            limit=check_whole_number("limit", limit, low=1, high=BLOCK_TEXT.maximum),
            pinned=pinned,
            value=value if text is None else check_text("text", text, BLOCK_TEXT),
        )
        editor = self._editor(by, reason)
        edited = await self._commit(create_block(new, editor, cache=self._open.documents, secrets=self._parts.secrets))
        return edited.block

    @operation("read")
    async def get(self, label: str) -> Block:
        """Returns a block as it is now. Raises `NotFound`, also for a deleted one and for blocks of other scopes."""
        found = [block for block in await self._store.ask(FirstNamed([label_key(label)])) if block.deleted_at is None]
        if not found:
            raise NotFound("no block {} here", label)
        self._open.feed.seen(self._scope, found)
        return found[0]

    @operation("read")
    async def value(self, label: str) -> Any:
        """Returns the content of a block as plain JSON of its schema; of plain text, the whole text without any mark. Raises
        `NotFound`."""
        block = await self.get(label)
        return await self._from_document(block, partial(present_value, block))

    @operation("read")
    async def list(self, type: str | None = None, *, folder: str | None = None, deleted: bool = False) -> tuple[Block, ...]:
        """Returns the blocks, own ones by label and then shared ones; of one `type`, and with labels that begin with `folder/`,
        where these are given. With `deleted`, the own ones that were deleted, the latest first."""
        check_flags(deleted=deleted)
        chosen = None if type is None else block_type(type)
        if folder is not None and not deleted:
            found = await self._store.ask(BlocksUnder(label_key(folder, "folder")))
            found = tuple(block for block in found if chosen in (None, block.type))
        else:
            found = await self._store.ask(ListBlocks(chosen, deleted=deleted))
        if folder is not None and deleted:
            found = tuple(block for block in found if block.label.startswith(f"{label_key(folder, 'folder')}/"))
        self._open.feed.seen(self._scope, () if deleted else found)
        return found

    @operation("write")
    async def edit(
        self,
        label: str,
        *mutations: Mutation | Mapping[str, Any],
        base: int | None = None,
        if_hash: str | None = None,
        by: str = "",
        reason: str = "",
        system: bool = False,
    ) -> Block:
        """Applies mutations (values, or their dicts), all or none, and returns the block. `if_hash` is the `content_hash` that
        the caller has read: `Stale` where the content is another one. `base` is the version that the caller has read: what
        was changed since stays, and a text that is set is merged with it; `Stale` for what depends on positions."""
        if base is not None:
            check_whole_number("base", base, low=0, high=COUNT.maximum)
        check_optional_text("if_hash", if_hash, ID)
        screen = partial(screened_mutations, mutations, self._parts.secrets)
        screened, secrets = await aside(len(mutations), screen, _MAX_INLINE)
        editor = self._editor(by, reason, system)
        given: dict[str, Any] = {"base": base, "if_hash": if_hash, "secrets": secrets, "policy": self._parts.secrets}
        plan = edit_block(label, screened, editor, cache=self._open.documents, **given)
        return (await self._commit(plan)).block

    @operation("write")
    async def set_text(self, label: str, text: str, *, base: int | None = None, by: str = "", reason: str = "") -> Block:
        """Replaces the text of a plain text block; see `edit`."""
        return await self.edit(label, SetText(text=text), base=base, by=by, reason=reason)

    @operation("write")
    async def append(self, label: str, text: str, *, by: str = "", reason: str = "") -> Block:
        """Adds to the end of the text of a plain text block, as it is; see `edit`."""
        return await self.edit(label, AppendText(text=text), by=by, reason=reason)

    @operation("write")
    async def replace(self, label: str, old: str, new: str, *, by: str = "", reason: str = "") -> Block:
        """Replaces `old`, which must occur exactly once in the text, with `new`; see `edit`."""
        return await self.edit(label, ReplaceText(old=old, new=new), by=by, reason=reason)

    @operation("write")
    async def undo(self, label: str, *, by: str = "", reason: str = "", system: bool = False) -> Block:
        """Takes back the latest edit that isn't undone, whoever made it, and returns the block. What was changed since stays.
        Survives a restart; how far it goes is bounded by the versions that are kept."""
        return (await self._commit(undo_edit(label, self._editor(by, reason, system), cache=self._open.documents))).block

    @operation("write")
    async def redo(self, label: str, *, by: str = "", reason: str = "", system: bool = False) -> Block:
        """Makes the edit again that was undone last, unless another edit followed, and returns the block."""
        return (await self._commit(redo_edit(label, self._editor(by, reason, system), cache=self._open.documents))).block

    @operation("read")
    async def versions(self, label: str) -> tuple[Version, ...]:
        """Returns the versions of a block that are kept, oldest first: after consolidation the last 3 to 100, as many as fit
        into 8 KB or 1.6 times the text. Raises `NotFound`."""
        block = await self.get(label)
        return tuple(kept.version for kept in await self._store.ask(VersionsOf(block.id)))

    @operation("read")
    async def show_version(self, label: str, version: int) -> str:
        """Returns the text of a block as it was at a version. Raises `NotFound`, also where the version isn't kept."""
        check_whole_number("version", version, low=0, high=COUNT.maximum)
        block = await self.get(label)
        kept = await self._store.ask(VersionsOf(block.id))
        return await self._from_document(block, partial(past_text, block, versions=kept, version=version))

    @operation("write")
    async def pin(self, label: str, pinned: bool = True, *, by: str = "", system: bool = False) -> Block:
        """Pins a working block, so that it is in every context, or unpins it; returns the block."""
        check_flags(pinned=pinned)
        return await self._change(label, BlockSettings(pinned=pinned), self._editor(by, "", system))

    @operation("write")
    async def change(
        self,
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
    ) -> Block:
        """Changes settings of an own block and returns it. A new `schema` takes over the content; `InvalidInput` names what
        doesn't fit, and edits before it can't be undone any more. Limit, permission and schema need `admin`. `if_hash` as in
        `edit`."""
        settings = BlockSettings(
            label=None if new_label is None else checked_label(new_label, "new_label"),
            description=None if description is None else check_text("description", description, REMARK),
            type=None if type is None else block_type(type),
            schema=None if schema is None else parse_schema(schema),
            permission=None if permission is None else checked_permission(permission),
            limit=None if limit is None else check_whole_number("limit", limit, low=1, high=BLOCK_TEXT.maximum),
        )
        return await self._change(label, settings, self._editor(by, reason, system), if_hash)

    @operation("write")
    async def delete(
        self, label: str, *, if_hash: str | None = None, by: str = "", reason: str = "", system: bool = False
    ) -> Block:
        """Deletes a block and returns it: its label is free, and `restore` brings it back. `agent.forget([block.id])` removes
        it for good. `if_hash` as in `edit`. Needs `admin`."""
        check_optional_text("if_hash", if_hash, ID)
        return (await self._commit(delete_block(label, self._editor(by, reason, system), if_hash=if_hash))).block

    @operation("write")
    async def rename_folder(
        self,
        folder: str,
        new_folder: str,
        *,
        type: str | None = None,
        by: str = "",
        reason: str = "",
        system: bool = False,
    ) -> tuple[Block, ...]:
        """Renames all blocks with labels that begin with `folder/` so that they begin with `new_folder/`, or none of them, and
        returns them. Core and working blocks also get `type`, where it is given. Raises `NotFound` for a folder without
        blocks."""
        kind, editor = None if type is None else block_type(type), self._editor(by, reason, system)
        documents, secrets = self._open.documents, self._parts.secrets
        plan = rename_folder(folder, new_folder, editor, cache=documents, secrets=secrets, type=kind)
        return tuple(edited.block for edited in await self._open.commit_all(self._scope, plan))

    @operation("write")
    async def delete_folder(self, folder: str, *, by: str = "", reason: str = "", system: bool = False) -> tuple[Block, ...]:
        """Deletes all blocks with labels that begin with `folder/`, or none of them, and returns them; see `delete`. Raises
        `NotFound` for a folder without blocks."""
        plan = delete_folder(folder, self._editor(by, reason, system))
        return tuple(edited.block for edited in await self._open.commit_all(self._scope, plan))

    @operation("write")
    async def restore(self, id: str, *, by: str = "", reason: str = "", system: bool = False) -> Block:
        """Brings back the deleted block with this id and returns it. Idempotent. Needs `admin`. Raises `Conflict` where another
        block has its label by now."""
        return (await self._commit(restore_block(check_text("id", id, ID), self._editor(by, reason, system)))).block

    @operation("write", of_agent="agent")
    async def share(self, label: str, agent: str, permission: str = "append", *, by: str = "", system: bool = False) -> Share:
        """Shares an own block with another agent of the org, which may do at most what the block's own permission allows;
        returns the share. A user's block is shared for the same user. Sharing again changes the permission. Needs `admin`."""
        editor = self._editor(by, "", system)
        plan = share_block(label, agent, checked_permission(permission), editor)
        return agreed(await self._store.commit(plan))

    @operation("write")
    async def unshare(self, label: str, agent: str, *, by: str = "", system: bool = False) -> bool:
        """Ends the share of an own block with an agent, and returns whether there was one. Idempotent. Needs `admin`."""
        check_text("agent", agent, ID)
        return agreed(await self._store.commit(unshare_block(label, agent, self._editor(by, "", system))))

    @operation("read")
    async def shares(self, label: str | None = None) -> tuple[Share, ...]:
        """Returns the shares of an own block, or of all of them, by label and agent. Raises `NotFound`."""
        return await self._store.ask(SharesOf(None if label is None else (await self.get(label)).id))

    @operation("read")
    async def consents(self, *, pending: bool = True, limit: int = 50) -> tuple[ConsentRequest, ...]:
        """Returns at most `limit` (1 to 1,000) requests for consent on the scope's own blocks, newest first: those that can be
        answered now, or with `pending=False` all that are kept."""
        check_flags(pending=pending)
        check_whole_number("limit", limit, low=1, high=PAGE.maximum)
        return await self._store.ask(ListConsents(at=self._parts.clock.now(), pending=pending, limit=limit))

    @operation("write")
    async def approve(self, id: str, scope: str | float = "once") -> ConsentRequest:
        """Approves a request: for this edit `once`, for a number of seconds, or for the `block`: all that the same agent does
        with its content, and what rules the block itself (delete, share, permission) only where that was asked for. The agent
        tries its edit again then. Idempotent. Raises `NotFound`, and `InvalidInput` for a request that has
        expired or was answered otherwise."""
        chosen, lasting = consent_scope(scope)
        now = self._parts.clock.now()
        plan = answer_consent(check_text("id", id, ID), approve=True, scope=chosen, lasting=lasting, at=now)
        return await self._store.commit(plan)

    @operation("write")
    async def deny(self, id: str) -> ConsentRequest:
        """Denies a request: the same edit can be asked for again after the time that requests wait. Idempotent. Raises what
        `approve` raises."""
        plan = answer_consent(check_text("id", id, ID), approve=False, at=self._parts.clock.now())
        return await self._store.commit(plan)

    def subscribe(self, listener: BlockListener) -> Callable[[], None]:
        """Calls `listener` with each block of this scope that changes from now on, on the event loop; the returned function
        ends it. What this process commits is told at once, what another one commits when this process next reads the block."""
        if not callable(listener):
            raise InvalidInput("must be a function of a block, not {}", listener, path="listener")
        return self._open.feed.subscribe(self._scope, listener, since=self._parts.clock.now().timestamp())

    @operation("write")
    async def archive(self, text: str, metadata: Mapping[str, Any] | None = None) -> ArchivalEntry:
        """Keeps a text for later searches, by its words and those of its `metadata` (JSON), and returns the entry, which is
        never changed. Raises `InvalidInput`."""
        now = self._parts.clock.now()
        entry = new_entry(text, metadata, user=self._scope.user, at=now, secrets=self._parts.secrets)
        stored = await self._store.commit(keep_entry(entry))
        if not self._parts.embedder.quick:
            await self._parts.catch_up.settle()
        return stored

    @operation("read")
    async def entry(self, id: str) -> ArchivalEntry:
        """Returns one archival entry. Raises `NotFound`."""
        found = await self._store.ask(SeenEntries([check_text("id", id, ID)]))
        if not found:
            raise NotFound("no archival entry {} here", id)
        return found[0]

    @operation("read")
    async def search_archive(self, query: str, limit: int = 10) -> tuple[FoundEntry, ...]:
        """Returns at most `limit` (1 to 1,000) archival entries and archival blocks that answer `query`, best first. Raises
        `InvalidInput`."""
        return await search_archive(self._parts, self._scope, query, limit)

    @operation("read")
    async def search(self, query: str, limit: int = 10) -> tuple[FoundBlock, ...]:
        """Returns at most `limit` (1 to 1,000) blocks of any type that answer `query`, best first, as they are now: the user's
        and agent-wide ones, and none that others share. The first search after edits indexes what was edited. Raises
        `InvalidInput`."""
        return await search_blocks(self._parts, self._scope, query, limit)

    @operation("write")
    async def delete_entry(self, id: str, *, by: str = "", reason: str = "") -> Receipt:
        """Forgets an archival entry of the scope's own for good, and returns the receipt of `Agent.forget`. Raises
        `NotFound`."""
        entry = await self.entry(id)
        if entry.user != self._scope.user:
            raise NotFound("no archival entry {} of this scope's own", id)
        return await self._forget(entry.id, by, reason)

    def __repr__(self) -> str:
        return f"<AgentBlocks {self._scope}>"

    def _editor(self, by: str, reason: str, system: object = False) -> Editor:
        check_flags(system=system)
        given = remarks(self._parts.secrets, by, reason)
        timeout = timedelta(seconds=self._parts.consent_timeout)
        return Editor(scope=self._scope, at=self._parts.clock.now(), system=bool(system), timeout=timeout, **given)

    async def _commit(self, plan: Plan[Edited] | Plan[Edited | ConsentRequest]) -> Edited:
        edited = await self._open.commit(self._scope, plan)
        if not self._parts.embedder.quick and edited.block.type == "archival":
            await self._parts.catch_up.settle()
        return edited

    async def _change(self, label: str, settings: BlockSettings, editor: Editor, if_hash: str | None = None) -> Block:
        check_optional_text("if_hash", if_hash, ID)
        documents, secrets = self._open.documents, self._parts.secrets
        plan = change_block(label, settings, editor, cache=documents, secrets=secrets, if_hash=if_hash)
        return (await self._commit(plan)).block

    async def _from_document(self, block: Block, look: Callable[[StoredDocument], T]) -> T:
        """What `look` finds in the block's document; where its snapshot is damaged, in what its changes make. Raises
        `StoreCorrupt`."""
        try:
            return await asyncio.to_thread(look, await self._store.ask(DocumentOf(block.id)))
        except StoreCorrupt:
            stored = await self._store.ask(DocumentOf(block.id, rebuild=True))
            if not stored.deltas:
                raise
            return await asyncio.to_thread(look, stored)

    async def _forget(self, id: str, by: str, reason: str) -> Receipt:
        now, given = self._parts.clock.now(), remarks(self._parts.secrets, by, reason)
        receipt = await self._store.commit(forget(ids=(id,), scope=self._scope, at=now, **given))
        self._parts.engine.forget(self._scope)
        receipt = await self._store.commit(left_of(receipt))
        waiting_for = await scrub_files(self._store)
        return replace(receipt, scrubbed=not waiting_for, waiting_for=waiting_for)
