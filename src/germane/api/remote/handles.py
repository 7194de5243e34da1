# Made by tests/support/client_handles.py from the table of operations. To change it, run "make twins".
"""Handles: the handles of the asyncio client.

Each method does what the library's method with the same name does. It raises germane's errors, `StoreUnavailable` where the
service doesn't answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from germane.api.remote.operation_call import ClientHandle
from germane.compaction.strategy import Importance, Summarise, TimeDecay, Truncate
from germane.extraction.archetypes.findings import RecordedEvent
from germane.kinds.blocks.mutation import (
    AppendEntry,
    AppendText,
    AppendToField,
    CheckItem,
    DeleteItem,
    Increment,
    InsertItem,
    InsertLines,
    MoveItem,
    PushItem,
    ReplaceText,
    SetField,
    SetText,
    SetValue,
    UpdateItem,
)
from germane.kinds.blocks.permission import ConsentRequest, Share
from germane.kinds.blocks.schema import CompositeSchema, ListSchema, LogSchema, MapSchema, TextSchema
from germane.kinds.blocks.value import ArchivalEntry, Block, FoundBlock, FoundEntry, Version
from germane.kinds.documents.value import DocumentPage, Ingested, KeptDocument
from germane.kinds.events.value import Event, EventPage, MessagePage, NewEvent, Recorded, SessionPage
from germane.kinds.graph.value import Entity, EntityPage, Neighbourhood, Pattern, Relation, Step
from germane.kinds.memories.conflicts import Contradiction
from germane.kinds.memories.upkeep import Audit, Consolidated
from germane.kinds.memories.value import Memory, Page, Receipt
from germane.kinds.profile.value import ProfileView
from germane.kinds.remote_values import (
    CheckedCalls,
    KnownAbout,
    RemoteActivity,
    RemoteCompaction,
    RemoteContext,
    RemoteDelegation,
    RemoteDigest,
    RemoteEarlier,
    RemoteOutline,
    RemoteRequest,
    RemoteSummary,
)
from germane.kinds.tasks.value import TaskArtifact, TaskBranch, TaskCheckpoint, TaskFrame
from germane.tool_rules.value import (
    AllowedOperations,
    ContinuesTurn,
    EndsTurn,
    ExclusiveGroup,
    FollowedBy,
    MaxCalls,
    Periodic,
    RequiredBeforeExit,
    RequiresConsent,
    RequiresPrior,
    StartWith,
    ToolCooldown,
)
from germane.types.budget import CompressedText, TokenCount
from germane.types.candidate import Provenance, Scored
from germane.types.inventory import AgentPage, Stats, UserPage
from germane.types.message import Message, ToolCall
from germane.types.query import Filters
from germane.types.reports import ExtractionRun, Why

OF_ORG = frozenset({"agents"})
"""The operations on a whole org, whose path over HTTP names no agent."""


class ClientBlocks(ClientHandle):
    """The methods of `agent.blocks`."""

    async def create(
        self,
        label: str,
        *,
        description: str = "",
        type: str = "working",
        schema: TextSchema | Mapping[str, Any] | MapSchema | ListSchema | LogSchema | CompositeSchema | str | None = None,
        text: str | None = None,
        value: Any = None,
        permission: str = "read_write",
        limit: int = 5000,
        pinned: bool = False,
        by: str = "",
        reason: str = "",
    ) -> Block:
        """Makes a block and returns it. `type` is core, working, archival or log; `schema` a `Schema`, its dict, or the name of
        a shape (default: a log for a log, else plain text). The first content is `text`, or the plain `value` of another
        schema. `limit` is the most characters of the rendered text. Raises `Conflict` where the label is taken, and
        `InvalidInput`."""
        found: Block = await self._write(
            "blocks.create",
            Block,
            label=label,
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
        return found

    async def get(self, label: str) -> Block:
        """Returns a block as it is now. Raises `NotFound`, also for a deleted one and for blocks of other scopes."""
        found: Block = await self._read("blocks.get", Block, label=label)
        return found

    async def value(self, label: str) -> Any:
        """Returns the content of a block as plain JSON of its schema; of plain text, the whole text without any mark. Raises
        `NotFound`."""
        found: Any = await self._read("blocks.value", Any, label=label)
        return found

    async def list(self, type: str | None = None, *, folder: str | None = None, deleted: bool = False) -> tuple[Block, ...]:
        """Returns the blocks, own ones by label and then shared ones; of one `type`, and with labels that begin with `folder/`,
        where these are given. With `deleted`, the own ones that were deleted, the latest first."""
        found: tuple[Block, ...] = await self._read("blocks.list", tuple[Block, ...], type=type, folder=folder, deleted=deleted)
        return found

    async def edit(
        self,
        label: str,
        *mutations: SetText
        | Mapping[str, Any]
        | AppendText
        | ReplaceText
        | InsertLines
        | SetField
        | AppendToField
        | Increment
        | PushItem
        | InsertItem
        | UpdateItem
        | CheckItem
        | MoveItem
        | DeleteItem
        | AppendEntry
        | SetValue,
        base: int | None = None,
        if_hash: str | None = None,
        by: str = "",
        reason: str = "",
        system: bool = False,
    ) -> Block:
        """Applies mutations (values, or their dicts), all or none, and returns the block. `if_hash` is the `content_hash` that
        the caller has read: `Stale` where the content is another one. `base` is the version that the caller has read: what
        was changed since stays, and a text that is set is merged with it; `Stale` for what depends on positions."""
        found: Block = await self._write(
            "blocks.edit",
            Block,
            label=label,
            mutations=list(mutations),
            base=base,
            if_hash=if_hash,
            by=by,
            reason=reason,
            system=system,
        )
        return found

    async def set_text(self, label: str, text: str, *, base: int | None = None, by: str = "", reason: str = "") -> Block:
        """Replaces the text of a plain text block; see `edit`."""
        found: Block = await self._write("blocks.set_text", Block, label=label, text=text, base=base, by=by, reason=reason)
        return found

    async def append(self, label: str, text: str, *, by: str = "", reason: str = "") -> Block:
        """Adds to the end of the text of a plain text block, as it is; see `edit`."""
        found: Block = await self._write("blocks.append", Block, label=label, text=text, by=by, reason=reason)
        return found

    async def replace(self, label: str, old: str, new: str, *, by: str = "", reason: str = "") -> Block:
        """Replaces `old`, which must occur exactly once in the text, with `new`; see `edit`."""
        found: Block = await self._write("blocks.replace", Block, label=label, old=old, new=new, by=by, reason=reason)
        return found

    async def undo(self, label: str, *, by: str = "", reason: str = "", system: bool = False) -> Block:
        """Takes back the latest edit that isn't undone, whoever made it, and returns the block. What was changed since stays.
        Survives a restart; how far it goes is bounded by the versions that are kept."""
        found: Block = await self._write("blocks.undo", Block, label=label, by=by, reason=reason, system=system)
        return found

    async def redo(self, label: str, *, by: str = "", reason: str = "", system: bool = False) -> Block:
        """Makes the edit again that was undone last, unless another edit followed, and returns the block."""
        found: Block = await self._write("blocks.redo", Block, label=label, by=by, reason=reason, system=system)
        return found

    async def versions(self, label: str) -> tuple[Version, ...]:
        """Returns the versions of a block that are kept, oldest first: after consolidation the last 3 to 100, as many as fit
        into 8 KB or 1.6 times the text. Raises `NotFound`."""
        found: tuple[Version, ...] = await self._read("blocks.versions", tuple[Version, ...], label=label)
        return found

    async def show_version(self, label: str, version: int) -> str:
        """Returns the text of a block as it was at a version. Raises `NotFound`, also where the version isn't kept."""
        found: str = await self._read("blocks.show_version", str, label=label, version=version)
        return found

    async def pin(self, label: str, pinned: bool = True, *, by: str = "", system: bool = False) -> Block:
        """Pins a working block, so that it is in every context, or unpins it; returns the block."""
        found: Block = await self._write("blocks.pin", Block, label=label, pinned=pinned, by=by, system=system)
        return found

    async def change(
        self,
        label: str,
        *,
        new_label: str | None = None,
        description: str | None = None,
        type: str | None = None,
        schema: TextSchema | Mapping[str, Any] | MapSchema | ListSchema | LogSchema | CompositeSchema | str | None = None,
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
        found: Block = await self._write(
            "blocks.change",
            Block,
            label=label,
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
        return found

    async def delete(
        self, label: str, *, if_hash: str | None = None, by: str = "", reason: str = "", system: bool = False
    ) -> Block:
        """Deletes a block and returns it: its label is free, and `restore` brings it back. `agent.forget([block.id])` removes
        it for good. `if_hash` as in `edit`. Needs `admin`."""
        found: Block = await self._write(
            "blocks.delete", Block, label=label, if_hash=if_hash, by=by, reason=reason, system=system
        )
        return found

    async def rename_folder(
        self, folder: str, new_folder: str, *, type: str | None = None, by: str = "", reason: str = "", system: bool = False
    ) -> tuple[Block, ...]:
        """Renames all blocks with labels that begin with `folder/` so that they begin with `new_folder/`, or none of them, and
        returns them. Core and working blocks also get `type`, where it is given. Raises `NotFound` for a folder without
        blocks."""
        found: tuple[Block, ...] = await self._write(
            "blocks.rename_folder",
            tuple[Block, ...],
            folder=folder,
            new_folder=new_folder,
            type=type,
            by=by,
            reason=reason,
            system=system,
        )
        return found

    async def delete_folder(self, folder: str, *, by: str = "", reason: str = "", system: bool = False) -> tuple[Block, ...]:
        """Deletes all blocks with labels that begin with `folder/`, or none of them, and returns them; see `delete`. Raises
        `NotFound` for a folder without blocks."""
        found: tuple[Block, ...] = await self._write(
            "blocks.delete_folder", tuple[Block, ...], folder=folder, by=by, reason=reason, system=system
        )
        return found

    async def restore(self, id: str, *, by: str = "", reason: str = "", system: bool = False) -> Block:
        """Brings back the deleted block with this id and returns it. Idempotent. Needs `admin`. Raises `Conflict` where another
        block has its label by now."""
        found: Block = await self._write("blocks.restore", Block, id=id, by=by, reason=reason, system=system)
        return found

    async def share(self, label: str, agent: str, permission: str = "append", *, by: str = "", system: bool = False) -> Share:
        """Shares an own block with another agent of the org, which may do at most what the block's own permission allows;
        returns the share. A user's block is shared for the same user. Sharing again changes the permission. Needs `admin`."""
        found: Share = await self._write(
            "blocks.share", Share, label=label, agent=agent, permission=permission, by=by, system=system
        )
        return found

    async def unshare(self, label: str, agent: str, *, by: str = "", system: bool = False) -> bool:
        """Ends the share of an own block with an agent, and returns whether there was one. Idempotent. Needs `admin`."""
        found: bool = await self._write("blocks.unshare", bool, label=label, agent=agent, by=by, system=system)
        return found

    async def shares(self, label: str | None = None) -> tuple[Share, ...]:
        """Returns the shares of an own block, or of all of them, by label and agent. Raises `NotFound`."""
        found: tuple[Share, ...] = await self._read("blocks.shares", tuple[Share, ...], label=label)
        return found

    async def consents(self, *, pending: bool = True, limit: int = 50) -> tuple[ConsentRequest, ...]:
        """Returns at most `limit` (1 to 1,000) requests for consent on the scope's own blocks, newest first: those that can be
        answered now, or with `pending=False` all that are kept."""
        found: tuple[ConsentRequest, ...] = await self._read(
            "blocks.consents", tuple[ConsentRequest, ...], pending=pending, limit=limit
        )
        return found

    async def approve(self, id: str, scope: str | float = "once") -> ConsentRequest:
        """Approves a request: for this edit `once`, for a number of seconds, or for the `block`: all that the same agent does
        with its content, and what rules the block itself (delete, share, permission) only where that was asked for. The agent
        tries its edit again then. Idempotent. Raises `NotFound`, and `InvalidInput` for a request that has
        expired or was answered otherwise."""
        found: ConsentRequest = await self._write("blocks.approve", ConsentRequest, id=id, scope=scope)
        return found

    async def deny(self, id: str) -> ConsentRequest:
        """Denies a request: the same edit can be asked for again after the time that requests wait. Idempotent. Raises what
        `approve` raises."""
        found: ConsentRequest = await self._write("blocks.deny", ConsentRequest, id=id)
        return found

    async def archive(self, text: str, metadata: Mapping[str, Any] | None = None) -> ArchivalEntry:
        """Keeps a text for later searches, by its words and those of its `metadata` (JSON), and returns the entry, which is
        never changed. Raises `InvalidInput`."""
        found: ArchivalEntry = await self._write("blocks.archive", ArchivalEntry, text=text, metadata=metadata)
        return found

    async def entry(self, id: str) -> ArchivalEntry:
        """Returns one archival entry. Raises `NotFound`."""
        found: ArchivalEntry = await self._read("blocks.entry", ArchivalEntry, id=id)
        return found

    async def search_archive(self, query: str, limit: int = 10) -> tuple[FoundEntry, ...]:
        """Returns at most `limit` (1 to 1,000) archival entries and archival blocks that answer `query`, best first. Raises
        `InvalidInput`."""
        found: tuple[FoundEntry, ...] = await self._read(
            "blocks.search_archive", tuple[FoundEntry, ...], query=query, limit=limit
        )
        return found

    async def search(self, query: str, limit: int = 10) -> tuple[FoundBlock, ...]:
        """Returns at most `limit` (1 to 1,000) blocks of any type that answer `query`, best first, as they are now: the user's
        and agent-wide ones, and none that others share. The first search after edits indexes what was edited. Raises
        `InvalidInput`."""
        found: tuple[FoundBlock, ...] = await self._read("blocks.search", tuple[FoundBlock, ...], query=query, limit=limit)
        return found

    async def delete_entry(self, id: str, *, by: str = "", reason: str = "") -> Receipt:
        """Forgets an archival entry of the scope's own for good, and returns the receipt of `Agent.forget`. Raises
        `NotFound`."""
        found: Receipt = await self._write("blocks.delete_entry", Receipt, id=id, by=by, reason=reason)
        return found


class ClientDelegations(ClientHandle):
    """The methods of `agent.delegations`."""

    async def finish(
        self,
        id: str,
        result: str,
        *,
        status: str = "complete",
        artifacts: Iterable[str | tuple[str, str] | TaskArtifact | Mapping[str, Any]] = (),
    ) -> TaskFrame:
        """Ends a delegated task with the result that its agent brought, and returns its frame: a completed (or failed) task
        below the one that delegated it, which `agent.expand` reads back whole. Raises `NotFound`, and `InvalidInput`
        where it has ended already."""
        found: TaskFrame = await self._write(
            "delegations.finish", TaskFrame, id=id, result=result, status=status, artifacts=artifacts
        )
        return found

    async def list(self, session: str | None = None, *, open: bool = False, limit: int = 100) -> tuple[TaskFrame, ...]:
        """Returns at most `limit` (1 to 1,000) delegated tasks of a session, the latest first; with `open` those that run."""
        found: tuple[TaskFrame, ...] = await self._read(
            "delegations.list", tuple[TaskFrame, ...], session=session, open=open, limit=limit
        )
        return found


class ClientDocuments(ClientHandle):
    """The methods of `agent.documents`."""

    async def ingest(
        self,
        *,
        text: str | None = None,
        data: bytes | None = None,
        source: str | None = None,
        title: str | None = None,
        media_type: str | None = None,
        agent_wide: bool = False,
        sensitivity: Literal["public", "private", "sensitive"] = "private",
        dry_run: bool = False,
    ) -> Ingested:
        """Stores the passages of a document: of the file at `path`, or of a `text`, or the `data` of a file, with a `source`.
        Idempotent by content: the same document again adds nothing; of a changed one, passages that stay keep their ids, and
        those that are gone are forgotten. `source` names the document (default: the file's whole path), `title` is shown
        (default: the file's name). `media_type` is text/markdown, text/html, text/x-code, text/x-log, text/csv, text/plain or
        application/pdf (default: by name and content). `agent_wide` stores it for every user of the agent. `dry_run` stores
        nothing and returns what would be done. `progress` is called with hundredths done and 100. Secrets are treated as in
        messages. Raises `InvalidInput` for what can't be read, `MissingExtra` for a PDF without pypdf, and `Conflict`."""
        found: Ingested = await self._write(
            "documents.ingest",
            Ingested,
            text=text,
            data=data,
            source=source,
            title=title,
            media_type=media_type,
            agent_wide=agent_wide,
            sensitivity=sensitivity,
            dry_run=dry_run,
        )
        return found

    async def list(self, *, limit: int = 50, cursor: str | None = None) -> DocumentPage:
        """Returns a page of `limit` (1 to 1,000) documents, the one that was ingested last first. Raises `InvalidInput`."""
        found: DocumentPage = await self._read("documents.list", DocumentPage, limit=limit, cursor=cursor)
        return found

    async def get(self, source: str) -> KeptDocument:
        """Returns a document by its source, by its session, by the id of one of its passages, or by its title, where only one
        document has it. `agent.messages(session)` lists the passages. Raises `NotFound`, and `InvalidInput` for a title that
        several documents have."""
        found: KeptDocument = await self._read("documents.get", KeptDocument, source=source)
        return found

    async def forget(
        self, source: str, *, agent_wide: bool = False, dry_run: bool = False, by: str = "", reason: str = ""
    ) -> Receipt:
        """Removes a document with all its passages, as `agent.forget` removes messages. `agent_wide` removes that of all users.
        Raises `NotFound`, and `InvalidInput` for a user's scope that names a document of all users without `agent_wide`."""
        found: Receipt = await self._write(
            "documents.forget", Receipt, source=source, agent_wide=agent_wide, dry_run=dry_run, by=by, reason=reason
        )
        return found


class ClientEvents(ClientHandle):
    """The methods of `agent.events`."""

    async def record(
        self,
        type: str,
        content: str | Mapping[str, Any] | None = None,
        *,
        session: str | None = None,
        outcome: str = "",
        task: str | None = None,
        at: datetime | None = None,
        id: str | None = None,
        sensitivity: Literal["public", "private", "sensitive"] = "private",
        metadata: Mapping[str, Any] | None = None,
        archetype: str | None = None,
    ) -> RecordedEvent:
        """Stores one event, and in the same transaction what the archetype's extractors find in it. `type` is `file_read`,
        `file_write`, `file_edit`, `shell_exec`, `search`, `error`, `decision`, `test`, or any other word; `content` a string or
        a dict; `outcome` a word such as `success` or `failure`; `task` the id of a task (default: the
        current one of the session, if any; '' for none); `at` when it happened (default: now).

        Idempotent by `id`, your own within the session: the same event again is found and not stored. Secrets are treated as in
        messages. An extractor that fails is reported in the result. Raises `InvalidInput`, `Conflict` for an `id` that was
        recorded with other content, and what a hook of the archetype raises."""
        found: RecordedEvent = await self._write(
            "events.record",
            RecordedEvent,
            type=type,
            content=content,
            session=session,
            outcome=outcome,
            task=task,
            at=at,
            id=id,
            sensitivity=sensitivity,
            metadata=metadata,
            archetype=archetype,
        )
        return found

    async def record_many(
        self, events: Sequence[NewEvent | Mapping[str, Any]], *, session: str | None = None, archetype: str | None = None
    ) -> tuple[RecordedEvent, ...]:
        """Stores events, each a `NewEvent` or a dict with the arguments of `record`, and returns what was stored of each, in
        order. Each is a transaction of its own, and up to 32 become durable together: sending an interrupted call again
        completes it, where its events have ids. Raises as `record`, once for the first event that can't be stored; others may
        be stored then."""
        found: tuple[RecordedEvent, ...] = await self._write(
            "events.record_many", tuple[RecordedEvent, ...], events=events, session=session, archetype=archetype
        )
        return found

    async def list(
        self,
        session: str | None = None,
        *,
        types: Sequence[str] | None = None,
        task: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> EventPage:
        """Returns a page of `limit` (1 to 1,000) events, the latest by their time first, of one session or all, of these
        `types`, of one `task`; its `cursor` asks for the next page. Messages aren't among them.
        Without `whole`, long texts are cut to their beginning. Raises `InvalidInput`."""
        found: EventPage = await self._read(
            "events.list",
            EventPage,
            session=session,
            types=types,
            task=task,
            since=since,
            until=until,
            limit=limit,
            cursor=cursor,
        )
        return found

    async def highlights(
        self, sessions: int = 5, *, session: str | None = None, task: str | None = None, limit: int = 8
    ) -> tuple[Event, ...]:
        """Returns the events of the `sessions` latest sessions (or of one `session`) that are worth knowing later, at most
        `limit` of each: decisions, errors and what they were resolved with, changes, outcomes, the last message. The latest
        session comes first, and each one's events oldest first. Long texts are cut. Raises `InvalidInput`."""
        found: tuple[Event, ...] = await self._read(
            "events.highlights", tuple[Event, ...], sessions=sessions, session=session, task=task, limit=limit
        )
        return found


class ClientPatterns(ClientHandle):
    """The methods of `agent.graph.patterns`."""

    async def learn(
        self,
        action: str,
        *,
        keywords: Iterable[str] = (),
        intent: str | None = None,
        entity_types: Iterable[str] = (),
        sensitivity: Literal["public", "private", "sensitive"] = "private",
    ) -> Pattern:
        """Stores an action and when it applies, and returns the pattern; learning the same again returns the one that is there.
        `keywords` are words of requests, `intent` is fix, explain, question, action or other."""
        found: Pattern = await self._write(
            "graph.patterns.learn",
            Pattern,
            action=action,
            keywords=keywords,
            intent=intent,
            entity_types=entity_types,
            sensitivity=sensitivity,
        )
        return found

    async def match(
        self, query: str = "", *, intent: str | None = None, entity_types: Iterable[str] = (), limit: int = 20
    ) -> tuple[Pattern, ...]:
        """Returns the patterns that apply to a request: all that a pattern says must match. The best success rate first."""
        found: tuple[Pattern, ...] = await self._read(
            "graph.patterns.match", tuple[Pattern, ...], query=query, intent=intent, entity_types=entity_types, limit=limit
        )
        return found

    async def apply_result(self, id: str, succeeded: bool) -> Pattern:
        """Counts that a pattern was tried, and whether it worked; returns the pattern. Raises `NotFound`."""
        found: Pattern = await self._write("graph.patterns.apply_result", Pattern, id=id, succeeded=succeeded)
        return found


class ClientConversations(ClientHandle):
    """The methods of `agent.conversations`."""

    async def compact(
        self,
        messages: Sequence[Mapping[str, Any] | Message],
        *,
        session: str | None = None,
        model: str,
        max_tokens: int | None = None,
        strategy: Truncate | Mapping[str, Any] | Summarise | Importance | TimeDecay | None = None,
        system: Any = None,
        tools: Sequence[Mapping[str, Any]] = (),
        provider: str | None = None,
        low_water: float = 0.5,
        max_messages: int | None = None,
        deadline: float = 5.0,
    ) -> RemoteCompaction:
        """Returns the messages as they fit `max_tokens`, as `germane.Agent.conversations.compact` does, and keeps what left
        under handles that `show` brings back. `deadline` are the seconds that the store may take. The answer may hold a summary
        that was kept before, so the key has to allow reading too. Raises `InvalidInput`."""
        found: RemoteCompaction = await self._write(
            "conversations.compact",
            RemoteCompaction,
            messages=messages,
            session=session,
            model=model,
            max_tokens=max_tokens,
            strategy=strategy,
            system=system,
            tools=tools,
            provider=provider,
            low_water=low_water,
            max_messages=max_messages,
            deadline=deadline,
        )
        return found

    async def show(self, handle: str, *, session: str | None = None) -> RemoteEarlier:
        """Returns what a handle in a compacted conversation stands for. Raises `NotFound`, also for what is another scope's."""
        found: RemoteEarlier = await self._read("conversations.show", RemoteEarlier, handle=handle, session=session)
        return found

    async def rebuild(
        self, messages: Sequence[Mapping[str, Any] | Message], *, session: str | None = None, provider: str = "openai"
    ) -> Sequence[Mapping[str, Any]]:
        """Returns a compacted conversation with what was taken out of it, as far as it is kept. Raises `InvalidInput`."""
        found: Sequence[Mapping[str, Any]] = await self._read(
            "conversations.rebuild", Sequence[Mapping[str, Any]], messages=messages, session=session, provider=provider
        )
        return found

    async def outline(self, session: str | None = None, *, limit: int = 100, cursor: str | None = None) -> RemoteOutline:
        """Returns a page of `limit` (1 to 1,000) lines of a session's outline, oldest first: one for each exchange."""
        found: RemoteOutline = await self._read(
            "conversations.outline", RemoteOutline, session=session, limit=limit, cursor=cursor
        )
        return found

    async def summaries(self, session: str | None = None, *, limit: int = 100) -> tuple[RemoteSummary, ...]:
        """Returns the last `limit` (1 to 1,000) summaries of a session, oldest first."""
        found: tuple[RemoteSummary, ...] = await self._read(
            "conversations.summaries", tuple[RemoteSummary, ...], session=session, limit=limit
        )
        return found


class ClientMemories(ClientHandle):
    """The methods of `agent.memories`."""

    async def get(self, id: str) -> Memory:
        """Returns one memory. Raises `NotFound`, also for a memory of another scope (SCOPE-3)."""
        found: Memory = await self._read("memories.get", Memory, id=id)
        return found

    async def list(
        self, filters: Filters | Mapping[str, Any] | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> Page:
        """Returns a page of `limit` (1 to 1,000) memories, newest first; its `cursor` asks for the next page. Without `filters`
        every sensitivity is listed. Raises `InvalidInput`."""
        found: Page = await self._read("memories.list", Page, filters=filters, limit=limit, cursor=cursor)
        return found

    async def update(self, id: str, text: str | None = None, **changes: Any) -> Memory:
        """Changes fields of a memory and returns it. Raises `NotFound`, and `InvalidInput` for fields that its kind doesn't
        have."""
        found: Memory = await self._write("memories.update", Memory, id=id, text=text, changes=changes)
        return found

    async def review(self, *, limit: int = 50) -> tuple[Contradiction, ...]:
        """Returns at most `limit` (1 to 1,000) open conflicts between the scope's own memories, oldest first: what superseding
        and linking couldn't decide. Raises `InvalidInput`."""
        found: tuple[Contradiction, ...] = await self._read("memories.review", tuple[Contradiction, ...], limit=limit)
        return found

    async def resolve(self, id: str, *, keep: str) -> Contradiction:
        """Closes a conflict and returns it. `keep` is the id of the memory to keep, or `both`; the other memory ends.
        Idempotent. Raises `NotFound`, and `InvalidInput` for another `keep` or another decision than before."""
        found: Contradiction = await self._write("memories.resolve", Contradiction, id=id, keep=keep)
        return found

    async def versions(self, id: str) -> tuple[Memory, ...]:
        """Returns the memory with everything that superseded it or that it superseded, oldest first. Raises `NotFound`."""
        found: tuple[Memory, ...] = await self._read("memories.versions", tuple[Memory, ...], id=id)
        return found


class ClientTasks(ClientHandle):
    """The methods of `agent.tasks`."""

    async def push(
        self,
        goal: str,
        *,
        session: str | None = None,
        sensitivity: str = "private",
        provenance: Provenance | Mapping[str, Any] | None = None,
    ) -> TaskFrame:
        """Begins a task below the current one, which may be none, and returns its frame: it is the current one now. Raises
        `InvalidInput` beyond 32 levels, 256 open tasks or 10,000 tasks of the session."""
        found: TaskFrame = await self._write(
            "tasks.push", TaskFrame, goal=goal, session=session, sensitivity=sensitivity, provenance=provenance
        )
        return found

    async def pop(
        self,
        result: str,
        *,
        session: str | None = None,
        status: str = "complete",
        artifacts: Iterable[str | tuple[str, str] | TaskArtifact | Mapping[str, Any]] = (),
    ) -> TaskFrame:
        """Ends the current task with its result and returns its frame; the task above it is the current one now. `status` is
        complete or failed (then `result` says what went wrong). `artifacts` are ids of stored things that belong to the
        result, each alone or with a title; `expand` reads them back. Raises `InvalidInput` where tasks below are open: the
        message has their ids."""
        found: TaskFrame = await self._write(
            "tasks.pop", TaskFrame, result=result, session=session, status=status, artifacts=artifacts
        )
        return found

    async def fail(
        self,
        result: str,
        *,
        session: str | None = None,
        artifacts: Iterable[str | tuple[str, str] | TaskArtifact | Mapping[str, Any]] = (),
    ) -> TaskFrame:
        """As `pop` with the status failed."""
        found: TaskFrame = await self._write("tasks.fail", TaskFrame, result=result, session=session, artifacts=artifacts)
        return found

    async def block(self, reason: str, *, session: str | None = None) -> TaskFrame:
        """Marks the current task as blocked and returns its frame. The task above it is the current one then, so that other
        work can go on; `resume` comes back to it."""
        found: TaskFrame = await self._write("tasks.block", TaskFrame, reason=reason, session=session)
        return found

    async def resume(self, id: str | None = None, *, session: str | None = None) -> TaskFrame:
        """Makes an open task of the running branch the current one, active again where it was blocked. Without an id: the one
        blocked task that the session stands at, or that lies below."""
        found: TaskFrame = await self._write("tasks.resume", TaskFrame, id=id, session=session)
        return found

    async def peek(self, session: str | None = None) -> TaskFrame | None:
        """Returns the current task; None where the stack is empty."""
        found: TaskFrame | None = await self._read("tasks.peek", TaskFrame | None, session=session)
        return found

    async def path(self, session: str | None = None) -> tuple[TaskFrame, ...]:
        """Returns the tasks from the root to the current one; () where the stack is empty."""
        found: tuple[TaskFrame, ...] = await self._read("tasks.path", tuple[TaskFrame, ...], session=session)
        return found

    async def get(self, id: str) -> TaskFrame:
        """Returns one task, of any session of the scope's own. Raises `NotFound`."""
        found: TaskFrame = await self._read("tasks.get", TaskFrame, id=id)
        return found

    async def list(self, session: str | None = None, *, status: str | None = None, limit: int = 100) -> tuple[TaskFrame, ...]:
        """Returns at most `limit` (1 to 1,000) tasks, the latest first: of one session, or of all where neither the call nor
        the scope names one. `status` is active, complete, blocked or failed."""
        found: tuple[TaskFrame, ...] = await self._read(
            "tasks.list", tuple[TaskFrame, ...], session=session, status=status, limit=limit
        )
        return found

    async def checkpoint(self, name: str, *, session: str | None = None) -> TaskCheckpoint:
        """Remembers under a name where the session stands, so that a branch can begin there later. A checkpoint of that name
        moves here."""
        found: TaskCheckpoint = await self._write("tasks.checkpoint", TaskCheckpoint, name=name, session=session)
        return found

    async def branch(
        self, name: str, goal: str | None = None, *, session: str | None = None, checkpoint: str | None = None
    ) -> TaskFrame:
        """Opens a branch where the session stands, or at a checkpoint, and switches to it. It begins with a task of its own,
        which is returned: `goal`, or else the goal of the task that it leaves from. What happens on a branch isn't seen on the
        branch that it left until `inject`. Raises `Conflict` where the name is taken."""
        found: TaskFrame = await self._write(
            "tasks.branch", TaskFrame, name=name, goal=goal, session=session, checkpoint=checkpoint
        )
        return found

    async def switch(self, name: str, *, session: str | None = None) -> TaskBranch:
        """Makes a branch the running one. The first branch of a session is `main`."""
        found: TaskBranch = await self._write("tasks.switch", TaskBranch, name=name, session=session)
        return found

    async def inject(
        self,
        name: str,
        result: str | None = None,
        *,
        session: str | None = None,
        artifacts: Iterable[str | tuple[str, str] | TaskArtifact | Mapping[str, Any]] = (),
    ) -> TaskFrame:
        """Brings a branch's result to the running branch and ends that branch: a completed task with the result is added below
        the current one, and returned; it points to the branch's own task. `result` is needed where that task is still open."""
        found: TaskFrame = await self._write(
            "tasks.inject", TaskFrame, name=name, result=result, session=session, artifacts=artifacts
        )
        return found

    async def abandon(self, name: str, *, session: str | None = None) -> TaskBranch:
        """Ends a branch without a result; its tasks count no more. Idempotent."""
        found: TaskBranch = await self._write("tasks.abandon", TaskBranch, name=name, session=session)
        return found

    async def branches(self, session: str | None = None) -> tuple[TaskBranch, ...]:
        """Returns the branches of a session, the oldest first."""
        found: tuple[TaskBranch, ...] = await self._read("tasks.branches", tuple[TaskBranch, ...], session=session)
        return found


class ClientVerbs(ClientHandle):
    """The methods of the agent itself, and its handles."""

    @property
    def blocks(self) -> ClientBlocks:
        """The operations of `agent.blocks`."""
        return ClientBlocks(self)

    @property
    def delegations(self) -> ClientDelegations:
        """The operations of `agent.delegations`."""
        return ClientDelegations(self)

    @property
    def documents(self) -> ClientDocuments:
        """The operations of `agent.documents`."""
        return ClientDocuments(self)

    @property
    def events(self) -> ClientEvents:
        """The operations of `agent.events`."""
        return ClientEvents(self)

    @property
    def graph(self) -> ClientGraph:
        """The operations of `agent.graph`."""
        return ClientGraph(self)

    @property
    def conversations(self) -> ClientConversations:
        """The operations of `agent.conversations`."""
        return ClientConversations(self)

    @property
    def memories(self) -> ClientMemories:
        """The operations of `agent.memories`."""
        return ClientMemories(self)

    @property
    def tasks(self) -> ClientTasks:
        """The operations of `agent.tasks`."""
        return ClientTasks(self)

    async def estimate_tokens(self, content: str, *, model: str = "gpt-4o") -> TokenCount:
        """Returns the tokens of `content` for `model`: exact where the model's vocabulary is installed, else an upper estimate.
        Raises `InvalidInput`."""
        found: TokenCount = await self._read("estimate_tokens", TokenCount, content=content, model=model)
        return found

    async def compress(
        self, content: str, max_tokens: int, *, model: str = "gpt-4o", query: str | None = None, use_llm: bool | None = None
    ) -> CompressedText:
        """Returns `content` within `max_tokens` tokens of `model`, never longer than it was: as it is where it fits, else
        shortened by the language model of this `Germane` (default: where one is configured), else the sentences that say most,
        those about `query` first, with `…` where something was left out. Where the language model fails or writes too much, its
        answer isn't used, and `note` says so. Raises `InvalidInput`, also for `use_llm=True` without a language model."""
        found: CompressedText = await self._read(
            "compress", CompressedText, content=content, max_tokens=max_tokens, model=model, query=query, use_llm=use_llm
        )
        return found

    async def record(
        self,
        messages: Sequence[Mapping[str, Any] | Message],
        *,
        session: str,
        source_kind: str = "user",
        channel: str | None = None,
    ) -> Recorded:
        """Stores a conversation verbatim and indexes it. Idempotent: each message is stored once, however often it is sent (see
        `kinds/messages/plans.py`). What germane injected is left out. A call of more than 128 messages or 64K characters is
        written in slices, with other calls in between: each slice is durable by itself, and sending an interrupted call again
        completes it. Secrets are redacted, or treated as the policy says that germane was opened with; the result's `secrets`
        counts them. `said_at` is for a recording that had to wait: messages without a `created_at` get this time (default:
        now), and where the session or its owner was forgotten as a whole since, nothing is written. Raises `InvalidInput`, and
        `Conflict` for an id that was recorded before with other content; a conflicting call writes nothing."""
        found: Recorded = await self._write(
            "record", Recorded, messages=messages, session=session, source_kind=source_kind, channel=channel
        )
        return found

    async def extract(self, *, session: str | None = None, everything: bool = False, dry_run: bool = False) -> ExtractionRun:
        """Has the configured language model read what waits in this scope, to the end: the messages recorded since a model was
        configured, and those that were parked. Without a user in the scope that means all users of the agent. `session` reads
        one session, `everything` also what was recorded before. With `dry_run` only counts. `progress(done, total)` gets
        numbers of messages. Raises `InvalidInput` where no model is configured."""
        found: ExtractionRun = await self._write(
            "extract", ExtractionRun, session=session, everything=everything, dry_run=dry_run
        )
        return found

    async def remember(self, text: str | None = None, *, kind: str = "note", agent_wide: bool = False, **fields: Any) -> Memory:
        """Stores a memory and returns it. `kind` is fact, preference, procedure, behavior, episode or note; `text` is the
        kind's main field; `fields` are its other fields (`key`, `value`, `title`, `observed_at`, `occurred_at`) and those that
        every memory has: `tags`, `sensitivity`, `confidence`, `pinned`, `expires_at`, `valid_from`, `valid_to`. A newer fact
        on the same key supersedes the older one. An exact duplicate returns the memory that is stored already. `agent_wide`
        stores it for every user of the agent. The result's `secrets` counts the secrets that were found, by kind. Raises
        `InvalidInput`, `UnknownName`."""
        found: Memory = await self._write("remember", Memory, text=text, kind=kind, agent_wide=agent_wide, fields=fields)
        return found

    async def forget(
        self,
        ids: Sequence[str] | None = None,
        *,
        key: str | None = None,
        tag: str | None = None,
        session: str | None = None,
        source_kind: str | None = None,
        channel: str | None = None,
        user: str | None = None,
        everything: bool = False,
        dry_run: bool = False,
        by: str = "",
        reason: str = "",
    ) -> Receipt:
        """Removes what matches every criterion given, with its vectors and index entries, and leaves a tombstone without
        content. `everything`, or a `user` and no other criterion, also removes the directive, the sessions and the names of
        their owner. `session`, `source_kind` and `channel` are those of the provenance. The receipt
        tells where the store was searched for what is left, and whether the texts are gone from every file, or what that waits
        for; the same call later tells the state then. `dry_run` removes nothing and returns what would be removed. Raises
        `InvalidInput`, also without any criterion."""
        found: Receipt = await self._write(
            "forget",
            Receipt,
            ids=ids,
            key=key,
            tag=tag,
            session=session,
            source_kind=source_kind,
            channel=channel,
            user=user,
            everything=everything,
            dry_run=dry_run,
            by=by,
            reason=reason,
        )
        return found

    async def feedback(self, ids: Sequence[str], *, helpful: bool = True) -> int:
        """Counts that memories helped, or did harm, which moves their usefulness. Returns for how many it was counted: the
        scope's own. Agent-wide memories, which all users share, take feedback from a scope without a user only. Ids of messages
        and unknown ids are ignored, so the ids of a whole context may be passed. Raises `InvalidInput`."""
        found: int = await self._write("feedback", int, ids=ids, helpful=helpful)
        return found

    async def consolidate(
        self, *, max_memories: int | None = None, max_bytes: int | None = None, dry_run: bool = False, by: str = ""
    ) -> Consolidated:
        """Brings the scope's own memories within a storage budget: merges duplicates, compresses the oldest episodes into
        notes, drops vectors, and evicts the least valuable memories (episodes, notes, procedures, facts), each only as far as
        needed. Pinned memories, preferences, behaviors and messages stay. What goes is forgotten, with a tombstone. `dry_run`
        changes nothing and returns what would be done. A call that is interrupted loses nothing, and the next one goes on.
        Raises `InvalidInput`, also without a limit."""
        found: Consolidated = await self._write(
            "consolidate", Consolidated, max_memories=max_memories, max_bytes=max_bytes, dry_run=dry_run, by=by
        )
        return found

    async def find(self, id: str) -> Memory | Event:
        """Returns one memory or message, by its id, by the beginning of its id (four characters or more), or by your own id of
        the message. Raises `NotFound`, also for things of another scope (SCOPE-3), and `InvalidInput` where several have it."""
        found: Memory | Event = await self._read("find", Memory | Event, id=id)
        return found

    async def profile(self, at: datetime | None = None, *, tokens: int | None = None) -> ProfileView:
        """Returns the lines that stand in every prompt of a session that begins now, or at `at`: standing instructions and what
        holds about the person, each with the reason; what was left out; and the text. The assembly makes the same choice.
        `tokens` (0 to 1,000,000) is the budget (default: that of the strategy `default`). Raises `InvalidInput`."""
        found: ProfileView = await self._read("profile", ProfileView, at=at, tokens=tokens)
        return found

    async def mark_line(self, id: str, mark: Literal["pin", "hide"] | None) -> str:
        """Pins a line of the profile (`pin`: it is chosen before all others) or hides it (`hide`: it never stands); None takes
        the mark away. Idempotent; returns the line's whole id. `id` is a line's, or the beginning of one: four characters or
        more, and `@` with the place at which it begins where a message has several lines. The next session shows the change.
        Raises `NotFound`, and `InvalidInput`, also where several lines begin so."""
        found: str = await self._write("mark_line", str, id=id, mark=mark)
        return found

    async def audit(self, *, unused_days: int = 30, limit: int = 100, messages: bool = True) -> Audit:
        """Returns what deserves a look among the scope's own memories: duplicates, near-duplicates, contradictions, secrets
        (with `messages` in its messages too), what is stale or expired, and what was never retrieved although it is
        `unused_days` old. At most `limit` (1 to 1,000) findings of each kind, with ids and without content; all are counted.
        Raises `InvalidInput`."""
        found: Audit = await self._read("audit", Audit, unused_days=unused_days, limit=limit, messages=messages)
        return found

    async def messages(
        self,
        session: str | None = None,
        *,
        filters: Filters | Mapping[str, Any] | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> MessagePage:
        """Returns a page of `limit` (1 to 1,000) stored messages, newest first, of one session or of all; its `cursor` asks for
        the next page. Without `whole`, long texts are cut to their beginning. Without `filters` every sensitivity is listed.
        Raises `InvalidInput`."""
        found: MessagePage = await self._read(
            "messages", MessagePage, session=session, filters=filters, limit=limit, cursor=cursor
        )
        return found

    async def sessions(self, *, limit: int = 50, cursor: str | None = None) -> SessionPage:
        """Returns a page of `limit` (1 to 1,000) sessions, the one with the latest message first. Raises `InvalidInput`."""
        found: SessionPage = await self._read("sessions", SessionPage, limit=limit, cursor=cursor)
        return found

    async def users(self, *, limit: int = 50, cursor: str | None = None) -> UserPage:
        """Returns a page of `limit` (1 to 1,000) of the agent's users with what each has stored, in the order of their first
        write. Raises `InvalidInput`, also where the scope has a user: it sees no other."""
        found: UserPage = await self._read("users", UserPage, limit=limit, cursor=cursor)
        return found

    async def stats(self) -> Stats:
        """Returns how much this scope sees: memories by kind, messages, sessions, users, bytes, times."""
        found: Stats = await self._read("stats", Stats)
        return found

    async def texts(self, ids: Sequence[str]) -> dict[str, str]:
        """Returns the texts of these memories and messages by id, for what a trace names without its text
        (`context.trace.unread`). What has been forgotten since, or may not be shown, is missing. Raises `InvalidInput`."""
        found: dict[str, str] = await self._read("texts", dict[str, str], ids=ids)
        return found

    async def agents(self, *, limit: int = 50, cursor: str | None = None) -> AgentPage:
        """Returns a page of `limit` (1 to 1,000) of the org's agents with what each has stored. Raises `InvalidInput`, and
        `GermaneError` where the key doesn't allow all agents of the org."""
        found: AgentPage = await self._read("agents", AgentPage, limit=limit, cursor=cursor)
        return found

    async def directive(self) -> str:
        """Returns the agent's standing instructions (a user's own where one is set)."""
        found: str = await self._read("directive", str)
        return found

    async def set_directive(self, text: str) -> str:
        """Replaces the standing instructions and returns them; an empty text removes them. Raises `InvalidInput`."""
        found: str = await self._write("set_directive", str, text=text)
        return found

    async def search(
        self,
        query: str,
        limit: int = 10,
        *,
        filters: Filters | Mapping[str, Any] | None = None,
        at: datetime | None = None,
        strategy: str = "default",
    ) -> tuple[Scored, ...]:
        """Returns the memories, messages, archival entries and blocks that answer `query` best, scored, best first, at most
        `limit` (1 to 1,000). Raises `InvalidInput`."""
        found: tuple[Scored, ...] = await self._read(
            "search", tuple[Scored, ...], query=query, limit=limit, filters=filters, at=at, strategy=strategy
        )
        return found

    async def about(
        self,
        name: str | None = None,
        *,
        at: datetime | None = None,
        max_tokens: int = 1000,
        model: str = "gpt-4o",
        filters: Filters | Mapping[str, Any] | None = None,
    ) -> KnownAbout:
        """Returns everything that is known about a person or a thing: what holds now, what no longer holds, and the messages
        that name it, within `max_tokens`; without a name, about the user. `at` is the time asked about (default: now). Raises
        `InvalidInput`."""
        found: KnownAbout = await self._read(
            "about", KnownAbout, name=name, at=at, max_tokens=max_tokens, model=model, filters=filters
        )
        return found

    async def build_context(
        self,
        query: str,
        *,
        session: str | None = None,
        max_tokens: int,
        strategy: str | Mapping[str, Any] | None = None,
        additional_context: str | None = None,
        filters: Filters | Mapping[str, Any] | None = None,
        model: str = "gpt-4o",
        at: datetime | None = None,
        deadline: float = 0.25,
        explain: bool = False,
    ) -> RemoteContext:
        """Returns what is known for `query` as one text of at most `max_tokens` tokens, with its components, as
        `germane.Agent.build` does. `strategy` is a name, or the settings to change; `deadline` is in seconds. `explain` asks
        for everything that was considered, in and out, with the reasons. Raises `InvalidInput`."""
        found: RemoteContext = await self._read(
            "build_context",
            RemoteContext,
            query=query,
            session=session,
            max_tokens=max_tokens,
            strategy=strategy,
            additional_context=additional_context,
            filters=filters,
            model=model,
            at=at,
            deadline=deadline,
            explain=explain,
        )
        return found

    async def digest(
        self,
        query: str,
        *,
        model: str = "gpt-4o",
        session: str | None = None,
        at: datetime | None = None,
        deadline: float = 0.25,
        max_tokens: int | None = None,
        filters: Filters | Mapping[str, Any] | None = None,
        strategy: str = "digest",
    ) -> RemoteDigest:
        """Returns the memories that matter for `query` as a text of its own, for a prompt that you build yourself, as
        `germane.Agent.digest` does: a list with ids and provenance, or one line that says why there is none. `deadline` is in
        seconds. Raises `InvalidInput`."""
        found: RemoteDigest = await self._read(
            "digest",
            RemoteDigest,
            query=query,
            model=model,
            session=session,
            at=at,
            deadline=deadline,
            max_tokens=max_tokens,
            filters=filters,
            strategy=strategy,
        )
        return found

    async def expand(self, id: str, *, filters: Filters | Mapping[str, Any] | None = None) -> str:
        """Returns the whole text of what has this id: a task's result, a message, a memory, an archival entry, a block. The ids
        of a context's lines are those of its items, or a component's `source`. Raises `NotFound`."""
        found: str = await self._read("expand", str, id=id, filters=filters)
        return found

    async def why(
        self,
        id: str,
        messages: Sequence[Mapping[str, Any] | Message] = (),
        *,
        model: str,
        provider: str | None = None,
        session: str | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        query: str | None = None,
        at: datetime | None = None,
        max_tokens: int | None = None,
        strategy: str = "default",
        filters: Filters | Mapping[str, Any] | None = None,
        effort: Literal["low", "medium", "high"] | float | None = None,
        window: int | None = None,
        like: str | None = None,
        system: str | Sequence[str | Mapping[str, Any]] | Mapping[str, Any] | None = None,
        blocks: Sequence[str] = (),
        task: str | bool | None = None,
        deadline: float = 10.0,
    ) -> Why:
        """Assembles `messages` anew and returns what that did with one stored thing, and the reason. `id` is as in `find`; the
        others are those of `assemble`, and `deadline` is long enough that no slow source hides the reason. Raises
        `InvalidInput`."""
        found: Why = await self._read(
            "why",
            Why,
            id=id,
            messages=messages,
            model=model,
            provider=provider,
            session=session,
            tools=tools,
            query=query,
            at=at,
            max_tokens=max_tokens,
            strategy=strategy,
            filters=filters,
            effort=effort,
            window=window,
            like=like,
            system=system,
            blocks=blocks,
            task=task,
            deadline=deadline,
        )
        return found

    async def build(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        model: str,
        provider: str | None = None,
        session: str | None = None,
        instructions: str = "",
        tools: Sequence[Mapping[str, Any]] = (),
        rules: Sequence[
            StartWith
            | Mapping[str, Any]
            | EndsTurn
            | ContinuesTurn
            | MaxCalls
            | RequiresPrior
            | FollowedBy
            | RequiredBeforeExit
            | ToolCooldown
            | ExclusiveGroup
            | Periodic
            | RequiresConsent
            | AllowedOperations
        ] = (),
        blocks: Sequence[str] = (),
        activity: Sequence[RemoteActivity] = (),
        limits: Mapping[str, int] | None = None,
        query: str | None = None,
        filters: Filters | Mapping[str, Any] | None = None,
        at: datetime | None = None,
        strategy: str = "default",
        like: str | None = None,
        window: int | None = None,
        deadline: float = 0.25,
        schemas: bool = False,
        descriptions: bool = True,
        history: Truncate | Mapping[str, Any] | Summarise | Importance | TimeDecay | None = None,
    ) -> RemoteRequest:
        """Builds a whole request, as `agent.builder()` does: instructions, directive, blocks, tools with their rules, as much
        of the history as fits, and what is found. `limits` holds some of `RequestLimits` by name, `deadline` is in seconds.
        `history` says what leaves first where the conversation doesn't fit (default `Summarise()`). Raises `InvalidInput`."""
        found: RemoteRequest = await self._read(
            "build",
            RemoteRequest,
            messages=messages,
            model=model,
            provider=provider,
            session=session,
            instructions=instructions,
            tools=tools,
            rules=rules,
            blocks=blocks,
            activity=activity,
            limits=limits,
            query=query,
            filters=filters,
            at=at,
            strategy=strategy,
            like=like,
            window=window,
            deadline=deadline,
            schemas=schemas,
            descriptions=descriptions,
            history=history,
        )
        return found

    async def check_tool_calls(
        self,
        rules: Sequence[
            StartWith
            | Mapping[str, Any]
            | EndsTurn
            | ContinuesTurn
            | MaxCalls
            | RequiresPrior
            | FollowedBy
            | RequiredBeforeExit
            | ToolCooldown
            | ExclusiveGroup
            | Periodic
            | RequiresConsent
            | AllowedOperations
        ],
        calls: Sequence[ToolCall | Mapping[str, Any]] = (),
        *,
        state: str = "",
        begin_turn: bool = False,
        approved: Sequence[ToolCall | Mapping[str, Any]] = (),
        made: Sequence[ToolCall | Mapping[str, Any]] = (),
    ) -> CheckedCalls:
        """Says for each call of a batch whether the rules allow it, as `ToolRules` does. In this order: the turn begins anew
        where `begin_turn` says so, `approved` calls are consented to, `made` ones are recorded as one batch, and `calls` are
        judged. `state` is that of the last answer; empty: an agent's first turn. Raises `InvalidInput`."""
        found: CheckedCalls = await self._read(
            "check_tool_calls",
            CheckedCalls,
            rules=rules,
            calls=calls,
            state=state,
            begin_turn=begin_turn,
            approved=approved,
            made=made,
        )
        return found

    async def delegate(
        self,
        task: str,
        mode: str = "brief",
        *,
        model: str,
        session: str | None = None,
        messages: Sequence[Mapping[str, Any] | Message] | None = None,
        max_tokens: int = 2000,
        provider: str | None = None,
        filters: Filters | Mapping[str, Any] | None = None,
        agent_wide: bool = False,
        deadline: float = 5.0,
    ) -> RemoteDelegation:
        """Gives a task to another agent, and returns the messages for it, as `germane.Agent.delegate` does. `agent_wide` keeps
        from the other agent what belongs to the user. `delegations.finish` brings the result back. Raises `InvalidInput`, and
        `GermaneError` for a key that may not read."""
        found: RemoteDelegation = await self._write(
            "delegate",
            RemoteDelegation,
            task=task,
            mode=mode,
            model=model,
            session=session,
            messages=messages,
            max_tokens=max_tokens,
            provider=provider,
            filters=filters,
            agent_wide=agent_wide,
            deadline=deadline,
        )
        return found


class ClientGraph(ClientHandle):
    """The methods of `agent.graph`."""

    @property
    def patterns(self) -> ClientPatterns:
        """The operations of `agent.graph.patterns`."""
        return ClientPatterns(self)

    async def add(
        self,
        type: str,
        name: str,
        *,
        aliases: Iterable[str] = (),
        properties: Mapping[str, Any] | None = None,
        sensitivity: Literal["public", "private", "sensitive"] = "private",
    ) -> Entity:
        """Stores an entity and returns it. Where one of this type has one of the names, what is new is added to it. It stays
        until it is forgotten. Raises `Conflict` where several have the names."""
        found: Entity = await self._write(
            "graph.add", Entity, type=type, name=name, aliases=aliases, properties=properties, sensitivity=sensitivity
        )
        return found

    async def get(self, id: str) -> Entity:
        """Returns the entity with this id. Raises `NotFound`."""
        found: Entity = await self._read("graph.get", Entity, id=id)
        return found

    async def find(self, name: str, type: str | None = None) -> tuple[Entity, ...]:
        """Returns the entities that have this name or alias, whatever its case and accents; of one `type` where it is given.
        Where none has it, the one of which it is a short form, as Caro is of Caroline; none where that fits several."""
        found: tuple[Entity, ...] = await self._read("graph.find", tuple[Entity, ...], name=name, type=type)
        return found

    async def list(
        self,
        type: str | None = None,
        *,
        prefix: str = "",
        limit: int = 50,
        cursor: str | None = None,
        filters: Filters | Mapping[str, Any] | None = None,
    ) -> EntityPage:
        """Returns a page of entities by name: those whose name begins with `prefix`."""
        found: EntityPage = await self._read(
            "graph.list", EntityPage, type=type, prefix=prefix, limit=limit, cursor=cursor, filters=filters
        )
        return found

    async def salient(self, limit: int = 10, *, at: datetime | str | None = None) -> tuple[Entity, ...]:
        """Returns the entities that matter most at a time (default: now): often mentioned, and lately."""
        found: tuple[Entity, ...] = await self._read("graph.salient", tuple[Entity, ...], limit=limit, at=at)
        return found

    async def relate(
        self,
        source: str,
        type: str,
        target: str,
        *,
        weight: float = 1.0,
        confidence: float = 0.8,
        properties: Mapping[str, Any] | None = None,
        valid_from: datetime | str | None = None,
        valid_to: datetime | str | None = None,
        exclusive: bool = False,
        sensitivity: Literal["public", "private", "sensitive"] = "private",
    ) -> Relation:
        """Stores how one entity stands to another, from `valid_from` (default: now) until `valid_to`, and returns it. A
        relation that says the same of the same time is the same one. `exclusive`: the source has one target of this type at a
        time, so that what held before ends. Raises `NotFound`."""
        found: Relation = await self._write(
            "graph.relate",
            Relation,
            source=source,
            type=type,
            target=target,
            weight=weight,
            confidence=confidence,
            properties=properties,
            valid_from=valid_from,
            valid_to=valid_to,
            exclusive=exclusive,
            sensitivity=sensitivity,
        )
        return found

    async def unrelate(self, id: str, at: datetime | str | None = None) -> Relation:
        """Ends a relation at a time (default: now) and returns it. Raises `NotFound`."""
        found: Relation = await self._write("graph.unrelate", Relation, id=id, at=at)
        return found

    async def relations(self, entity: str, *, at: datetime | str | None = None, limit: int = 100) -> tuple[Relation, ...]:
        """Returns the relations of an entity in both directions, the heaviest first; those that hold `at` a time where it is
        given, else all. Raises `NotFound`."""
        found: tuple[Relation, ...] = await self._read(
            "graph.relations", tuple[Relation, ...], entity=entity, at=at, limit=limit
        )
        return found

    async def mentions(self, entity: str, *, limit: int = 100, before: datetime | str | None = None) -> tuple[str, ...]:
        """Returns the ids of the messages and memories that mention an entity, the latest first. Raises `NotFound`."""
        found: tuple[str, ...] = await self._read("graph.mentions", tuple[str, ...], entity=entity, limit=limit, before=before)
        return found

    async def traverse(
        self, start: str, *, depth: int = 2, fan_out: int = 20, at: datetime | str | None = None, limit: int = 200
    ) -> Neighbourhood:
        """Returns what is within `depth` steps (0 to 10) of an entity: breadth first, in both directions, of each entity at
        most `fan_out` relations, the heaviest first, and at most `limit` relations in all. `at` leaves out what doesn't hold
        then. Raises `NotFound`."""
        found: Neighbourhood = await self._read(
            "graph.traverse", Neighbourhood, start=start, depth=depth, fan_out=fan_out, at=at, limit=limit
        )
        return found

    async def path(self, start: str, goal: str, *, at: datetime | str | None = None) -> tuple[Step, ...] | None:
        """Returns a shortest path between two entities, of at most 10 relations in either direction; () where both are one,
        None where there is none. Raises `NotFound`."""
        found: tuple[Step, ...] | None = await self._read("graph.path", tuple[Step, ...] | None, start=start, goal=goal, at=at)
        return found

    async def chain(
        self, start: str, types: Iterable[str] = ("causes", "fixes"), *, backwards: bool = False, limit: int = 50
    ) -> tuple[Relation, ...]:
        """Returns the causal chain from an entity: relations of these types followed from source to target, or `backwards`, the
        nearest first. Raises `NotFound`."""
        found: tuple[Relation, ...] = await self._read(
            "graph.chain", tuple[Relation, ...], start=start, types=types, backwards=backwards, limit=limit
        )
        return found

    async def merge(self, kept: str, gone: str) -> Entity:
        """Makes one entity of two: names, mentions and relations of `gone` go to `kept`, which is returned. Raises
        `NotFound`."""
        found: Entity = await self._write("graph.merge", Entity, kept=kept, gone=gone)
        return found

    async def forget(self, ids: Sequence[str], *, dry_run: bool = False, by: str = "", reason: str = "") -> Receipt:
        """Forgets entities with their relations, relations, and patterns, by id, and returns the receipt of `Agent.forget`."""
        found: Receipt = await self._write("graph.forget", Receipt, ids=ids, dry_run=dry_run, by=by, reason=reason)
        return found
