"""Blocking blocks: the blocking twin of `kinds/blocks/handle.py`, at `agent.blocks` of `germane.sync`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from germane.kinds.blocks.value import DEFAULT_LIMIT, Block

if TYPE_CHECKING:
    from germane.api.workers.open_blocks import BlockListener
    from germane.api.workers.threads import Loop
    from germane.kinds.blocks import handle as agent_blocks
    from germane.kinds.blocks.mutation import Mutation
    from germane.kinds.blocks.permission import ConsentRequest, Share
    from germane.kinds.blocks.schema import Schema
    from germane.kinds.blocks.value import ArchivalEntry, FoundBlock, FoundEntry, Version
    from germane.kinds.memories.value import Receipt


class MemoryBlocks:
    """As `germane.kinds.blocks.handle.MemoryBlocks`. Listeners are called in the thread of the event loop."""

    def __init__(self, awaited: agent_blocks.MemoryBlocks, loop: Loop) -> None:
        self._awaited, self._call = awaited, loop.call

    def __repr__(self) -> str:
        return repr(self._awaited)

    def create(
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
        return self._call(
            self._awaited.create,
            label,
            description=description,
            type=type,
            schema=schema,
            text=text,
            value=value,
            permission=permission,
            limit=limit,
            pinned=pinned,
            by=by,
            reason=reason,
        )

    def get(self, label: str) -> Block:
        return self._call(self._awaited.get, label)

    def value(self, label: str) -> Any:
        return self._call(self._awaited.value, label)

    def list(self, type: str | None = None, *, folder: str | None = None, deleted: bool = False) -> tuple[Block, ...]:
        return self._call(self._awaited.list, type, folder=folder, deleted=deleted)

    def edit(
        self,
        label: str,
        *mutations: Mutation | Mapping[str, Any],
        base: int | None = None,
        if_hash: str | None = None,
        by: str = "",
        reason: str = "",
        system: bool = False,
    ) -> Block:
        return self._call(
            self._awaited.edit, label, *mutations, base=base, if_hash=if_hash, by=by, reason=reason, system=system
        )

    def set_text(self, label: str, text: str, *, base: int | None = None, by: str = "", reason: str = "") -> Block:
        return self._call(self._awaited.set_text, label, text, base=base, by=by, reason=reason)

    def append(self, label: str, text: str, *, by: str = "", reason: str = "") -> Block:
        return self._call(self._awaited.append, label, text, by=by, reason=reason)

    def replace(self, label: str, old: str, new: str, *, by: str = "", reason: str = "") -> Block:
        return self._call(self._awaited.replace, label, old, new, by=by, reason=reason)

    def undo(self, label: str, *, by: str = "", reason: str = "", system: bool = False) -> Block:
        return self._call(self._awaited.undo, label, by=by, reason=reason, system=system)

    def redo(self, label: str, *, by: str = "", reason: str = "", system: bool = False) -> Block:
        return self._call(self._awaited.redo, label, by=by, reason=reason, system=system)

    def history(self, label: str) -> tuple[Version, ...]:
        return self._call(self._awaited.history, label)

    def show_version(self, label: str, version: int) -> str:
        return self._call(self._awaited.show_version, label, version)

    def pin(self, label: str, pinned: bool = True, *, by: str = "", system: bool = False) -> Block:
        return self._call(self._awaited.pin, label, pinned, by=by, system=system)

    def change(
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
        return self._call(
            self._awaited.change,
            label,
            new_label=new_label,
            description=description,
            type=type,
            schema=schema,
            permission=permission,
            limit=limit,
            if_hash=if_hash,
            by=by,
            reason=reason,
            system=system,
        )

    def delete(self, label: str, *, if_hash: str | None = None, by: str = "", reason: str = "", system: bool = False) -> Block:
        return self._call(self._awaited.delete, label, if_hash=if_hash, by=by, reason=reason, system=system)

    def rename_folder(
        self,
        folder: str,
        new_folder: str,
        *,
        type: str | None = None,
        by: str = "",
        reason: str = "",
        system: bool = False,
    ) -> tuple[Block, ...]:
        return self._call(self._awaited.rename_folder, folder, new_folder, type=type, by=by, reason=reason, system=system)

    def delete_folder(self, folder: str, *, by: str = "", reason: str = "", system: bool = False) -> tuple[Block, ...]:
        return self._call(self._awaited.delete_folder, folder, by=by, reason=reason, system=system)

    def restore(self, id: str, *, by: str = "", reason: str = "", system: bool = False) -> Block:
        return self._call(self._awaited.restore, id, by=by, reason=reason, system=system)

    def share(self, label: str, agent: str, permission: str = "append", *, by: str = "", system: bool = False) -> Share:
        return self._call(self._awaited.share, label, agent, permission, by=by, system=system)

    def unshare(self, label: str, agent: str, *, by: str = "", system: bool = False) -> bool:
        return self._call(self._awaited.unshare, label, agent, by=by, system=system)

    def shares(self, label: str | None = None) -> tuple[Share, ...]:
        return self._call(self._awaited.shares, label)

    def consents(self, *, pending: bool = True, limit: int = 50) -> tuple[ConsentRequest, ...]:
        return self._call(self._awaited.consents, pending=pending, limit=limit)

    def approve(self, id: str, scope: str | float = "once") -> ConsentRequest:
        return self._call(self._awaited.approve, id, scope)

    def deny(self, id: str) -> ConsentRequest:
        return self._call(self._awaited.deny, id)

    def subscribe(self, listener: BlockListener) -> Callable[[], None]:
        return self._awaited.subscribe(listener)

    def archive(self, text: str, metadata: Mapping[str, Any] | None = None) -> ArchivalEntry:
        return self._call(self._awaited.archive, text, metadata)

    def entry(self, id: str) -> ArchivalEntry:
        return self._call(self._awaited.entry, id)

    def search_archive(self, query: str, limit: int = 10) -> tuple[FoundEntry, ...]:
        return self._call(self._awaited.search_archive, query, limit)

    def search(self, query: str, limit: int = 10) -> tuple[FoundBlock, ...]:
        return self._call(self._awaited.search, query, limit)

    def delete_entry(self, id: str, *, by: str = "", reason: str = "") -> Receipt:
        return self._call(self._awaited.delete_entry, id, by=by, reason=reason)
