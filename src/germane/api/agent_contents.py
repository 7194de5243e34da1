"""Agent contents: the part of `Agent` for all that is stored, and the handles of the kinds (`agent.blocks`, `agent.tasks` …).

Its verbs find, list, explain, consolidate, export and restore. Handles and longer verbs are imported at their first use.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from germane.api.arguments import flags, identifiers, number, optional, remarks
from germane.api.contents import find_thing, list_messages, list_sessions, list_users, statistics
from germane.api.wiring import Parts
from germane.errors import InvalidInput
from germane.kinds.archetypes.value import Archetype
from germane.kinds.events.reads import MessagePage, SessionPage
from germane.kinds.events.value import Event
from germane.kinds.memories.value import Memory
from germane.stores.contract import ScopedStore
from germane.types.context import Context
from germane.types.inventory import Stats, UserPage
from germane.types.limits import COUNT, ID, LABEL, PAGE
from germane.types.limits import check_text as string
from germane.types.operation import operation
from germane.types.query import Filters
from germane.types.scope import Scope

if TYPE_CHECKING:
    from germane.api.builder.builder import Builder
    from germane.api.verbs.about import AboutEntity
    from germane.api.verbs.consolidate import Consolidated
    from germane.api.verbs.transfer import Exported, Line, Restored
    from germane.kinds.archive.handle import AgentHistory
    from germane.kinds.blocks.handle import MemoryBlocks
    from germane.kinds.documents.handle import Documents
    from germane.kinds.events.handle import EventLog
    from germane.kinds.graph.handle import KnownGraph
    from germane.kinds.memories.forgetting import Audit
    from germane.kinds.memories.handle import Recollections
    from germane.kinds.profile.handle import ProfileView
    from germane.kinds.profile.reads import Mark
    from germane.kinds.tasks.handle import TaskStack
    from germane.transfer.contents import Reach
    from germane.types.reports import Why


# The handles of the kinds, by name.


class AgentRooms:
    """The part of `Agent` that opens its rooms."""

    def __init__(self, parts: Parts, scope: Scope, archetype: Archetype | None) -> None:
        self._parts, self.scope, self._archetype = parts, scope, archetype

    @cached_property
    def memories(self) -> Recollections:
        """The memories, to read and correct."""
        from germane.kinds.memories.handle import Recollections

        return Recollections(self._parts.store.within(self.scope), self.scope, self._parts.clock, self._parts.secrets)

    @cached_property
    def blocks(self) -> MemoryBlocks:
        """The memory blocks."""
        from germane.kinds.blocks.handle import MemoryBlocks

        return MemoryBlocks(self._parts, self.scope)

    @cached_property
    def documents(self) -> Documents:
        """The documents."""
        from germane.kinds.documents.handle import Documents

        return Documents(self._parts, self.scope)

    @cached_property
    def events(self) -> EventLog:
        """What the agent did."""
        from germane.kinds.events.handle import EventLog

        return EventLog(self._parts, self.scope, self._archetype)

    @cached_property
    def graph(self) -> KnownGraph:
        """The people, places and things, and how they relate."""
        from germane.kinds.graph.handle import KnownGraph

        return KnownGraph(self._parts, self.scope)

    @cached_property
    def tasks(self) -> TaskStack:
        """The stack of tasks."""
        from germane.kinds.tasks.handle import TaskStack

        return TaskStack(self._parts, self.scope)

    @cached_property
    def history(self) -> AgentHistory:
        """The conversations, to compact them."""
        from germane.kinds.archive.handle import AgentHistory

        return AgentHistory(self._parts, self.scope)

    def builder(self) -> Builder:
        """Returns a builder of whole requests: instructions, blocks, tools and their rules, history, what is remembered."""
        from germane.api.builder.builder import Builder
        from germane.api.builder.building import Building

        return Builder(Building(self._parts, self.scope).build, zone=self.scope.zone)


class AgentContents(AgentRooms):
    """The part of `Agent` that looks through, tidies and moves what is stored. Verbs that few programs call import their work
    when they are called."""

    @operation("read")
    async def find(self, id: str) -> Memory | Event:
        """Returns one memory or message, by its id, by the beginning of its id (four characters or more), or by your own id of
        the message. Raises `NotFound`, also for things of another scope (SCOPE-3), and `InvalidInput` where several have it."""
        return await find_thing(self._scoped(self.scope), string("id", id, ID))

    async def about(
        self,
        name: str | None = None,
        *,
        at: datetime | None = None,
        max_tokens: int = 1000,
        model: str = "gpt-4o",
        filters: Filters | None = None,
    ) -> AboutEntity:
        """Returns everything that is known about a person or a thing by its `name`: what holds now, what no longer holds with
        its dates, and the messages that name it, within `max_tokens` (1 to 1,000,000) of `model`. Without a name, and by a word
        for oneself such as `me`, `ich` or `yo`, it is about the user: their own memories and messages. The user's id, the name
        that they gave and, where one person speaks, the name under which they speak mean the same. `at` is the time asked
        about (default: now): what was said or began later isn't known then. Nothing has to be configured. Raises
        `InvalidInput`."""
        from germane.api.verbs.about import about

        if name is not None and not string("name", name, LABEL).strip():
            raise InvalidInput("name must be the name of a person or a thing, not blank; leave it out for the user")
        number("max_tokens", max_tokens, minimum=1, maximum=COUNT.maximum)
        return await about(self._parts, self.scope, name, at=at, max_tokens=max_tokens, model=model, filters=filters)

    async def profile(self, at: datetime | None = None, *, tokens: int | None = None) -> ProfileView:
        """Returns the lines that stand in every prompt of a session that begins now, or at `at`: standing instructions and what
        holds about the person, each with the reason; what was left out; and the text. The assembly makes the same choice.
        `tokens` (0 to 1,000,000) is the budget (default: that of the strategy `default`). Raises `InvalidInput`."""
        from germane.kinds.profile.handle import look_at_profile

        if tokens is not None:
            number("tokens", tokens, maximum=COUNT.maximum)
        return await look_at_profile(self._parts, self.scope, at=at, tokens=tokens)

    async def mark_line(self, id: str, mark: Mark | None) -> str:
        """Pins a line of the profile (`pin`: it is chosen before all others) or hides it (`hide`: it never stands); None takes
        the mark away. Idempotent; returns the line's whole id. `id` is a line's, or the beginning of one: four characters or
        more, and `@` with the place at which it begins where a message has several lines. The next session shows the change.
        Raises `NotFound`, and `InvalidInput`, also where several lines begin so."""
        from germane.kinds.profile.handle import mark_named_line

        return await mark_named_line(self._parts, self.scope, id, mark)

    async def why(self, id: str, context: Context, *, session: str | None = None) -> Why:
        """Returns what the assembly that made `context` did with one stored thing, and the reason: it went in, was left out,
        was filtered, isn't valid, stands in the request, was forgotten, or the search didn't reach it (then with its rank and
        its P(relevant)). `id` is as in `find`; `session` that of the assembly. Raises `InvalidInput`."""
        from germane.api.verbs.why import explain_one

        optional("session", session, ID)
        store, engine = self._scoped(self.scope), self._parts.engine
        return await explain_one(string("id", id, ID), context, session, store, engine.relevance, self._parts.embedder)

    async def consolidate(
        self,
        *,
        max_memories: int | None = None,
        max_bytes: int | None = None,
        dry_run: bool = False,
        by: str = "",
        progress: Callable[[int, int], None] | None = None,
    ) -> Consolidated:
        """Brings the scope's own memories within a storage budget: merges duplicates, compresses the oldest episodes into
        notes, drops vectors, and evicts the least valuable memories (episodes, notes, procedures, facts), each only as far as
        needed. Pinned memories, preferences, behaviors and messages stay. What goes is forgotten, with a tombstone. `dry_run`
        changes nothing and returns what would be done. A call that is interrupted loses nothing, and the next one goes on.
        Raises `InvalidInput`, also without a limit."""
        from germane.api.verbs.consolidate import Consolidating
        from germane.api.verbs.consolidate import check_storage_budget as storage_budget

        flags(dry_run=dry_run)
        budget = storage_budget(max_memories, max_bytes)
        scoped, now = self._scoped(self.scope), self._parts.clock.now
        work = Consolidating(scoped, now=now, background=self._parts.background, progress=progress)
        report = await work.run(budget, dry_run=dry_run, by=remarks(self._parts.secrets, by)["by"])
        if not dry_run:
            self._parts.engine.forget(self.scope)
        return report

    async def audit(self, *, unused_days: int = 30, limit: int = 100, messages: bool = True) -> Audit:
        """Returns what deserves a look among the scope's own memories: duplicates, near-duplicates, contradictions, secrets
        (with `messages` in its messages too), what is stale or expired, and what was never retrieved although it is
        `unused_days` old. At most `limit` (1 to 1,000) findings of each kind, with ids and without content; all are counted.
        Raises `InvalidInput`."""
        from germane.api.verbs.consolidate import audit

        number("unused_days", unused_days, maximum=100_000)
        number("limit", limit, minimum=1, maximum=PAGE.maximum)
        flags(messages=messages)
        store, parts = self._scoped(self.scope), self._parts
        unused = timedelta(days=unused_days)
        return await audit(
            store, now=parts.clock.now(), background=parts.background, unused=unused, limit=limit, messages=messages
        )

    @operation("read", fixed={"whole": False})
    async def messages(
        self,
        session: str | None = None,
        *,
        filters: Filters | None = None,
        limit: int = 50,
        cursor: str | None = None,
        whole: bool = True,
    ) -> MessagePage:
        """Returns a page of `limit` (1 to 1,000) stored messages, newest first, of one session or of all; its `cursor` asks for
        the next page. Without `whole`, long texts are cut to their beginning. Without `filters` every sensitivity is listed.
        Raises `InvalidInput`."""
        return await list_messages(self._scoped(self.scope), session, filters, limit, cursor, whole=whole)

    @operation("read")
    async def sessions(self, *, limit: int = 50, cursor: str | None = None) -> SessionPage:
        """Returns a page of `limit` (1 to 1,000) sessions, the one with the latest message first. Raises `InvalidInput`."""
        return await list_sessions(self._scoped(self.scope), limit, cursor)

    @operation("read")
    async def users(self, *, limit: int = 50, cursor: str | None = None) -> UserPage:
        """Returns a page of `limit` (1 to 1,000) of the agent's users with what each has stored, in the order of their first
        write. Raises `InvalidInput`, also where the scope has a user: it sees no other."""
        return await list_users(self._scoped(self.scope), limit, cursor)

    @operation("read")
    async def stats(self) -> Stats:
        """Returns how much this scope sees: memories by kind, messages, sessions, users, bytes, times."""
        return await statistics(self._scoped(self.scope), self._parts.clock)

    @operation("read")
    async def texts(self, ids: Sequence[str]) -> dict[str, str]:
        """Returns the texts of these memories and messages by id, for what a trace names without its text
        (`context.trace.unread`). What has been forgotten since, or may not be shown, is missing. Raises `InvalidInput`."""
        wanted, store = identifiers(ids), self._scoped(self.scope)
        allowed = await store.allowed(wanted, at=self._parts.clock.now(), filters=Filters())
        readable = [id for id in wanted if id in allowed]
        memories, events = await asyncio.gather(store.memories.get(readable), store.events.get(readable))
        return {memory.id: memory.text for memory in memories} | {event.id: event.text for event in events}

    def export(self) -> AsyncIterator[Exported]:
        """Yields all that this scope can see, one dict at a time, as it was at the first step: a header, the directives,
        memories, contradictions, sessions with their messages, and tombstones. `docs/use/export.md` describes them. API keys
        and vectors aren't part of it."""
        from germane.api.verbs.transfer import export_lines as exported

        return exported(self._parts.store, self._reach)

    async def restore(
        self, lines: Iterable[Line] | AsyncIterable[Line], *, into: bool = False, skip_conflicts: bool = False
    ) -> Restored:
        """Stores what an export of this scope holds as it was: ids, times, counts, what was superseded and what was forgotten.
        `lines` are the dicts of `export`, or lines of JSON. With `into` the export of another agent or user goes into this
        scope. Idempotent; an interrupted call is completed by the next one. What was forgotten here isn't stored again. Raises
        `InvalidInput`, and `Conflict` where something else is stored in a line's place, unless `skip_conflicts`; what stands
        before the line that it names may be stored then."""
        from germane.api.verbs.transfer import restore_lines as restored

        flags(into=into, skip_conflicts=skip_conflicts)
        return await restored(self._parts, lines, target=self._reach, into=into, skip_conflicts=skip_conflicts)

    @property
    def _reach(self) -> Reach:
        from germane.transfer.contents import Reach

        return Reach(org=self.scope.org, agent=self.scope.agent, user=self.scope.user)

    def _scoped(self, scope: Scope) -> ScopedStore:
        return self._parts.store.within(scope)
