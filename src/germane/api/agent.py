"""Agent: the handle whose verbs are a few lines each. Checks what the caller gave, asks the engine or commits a plan."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, get_args, overload

from germane.api.agent_memories import Recollections
from germane.api.arguments import build_request, flags, identifiers, number, optional
from germane.api.conversation import listed
from germane.api.export import Exported, everything
from germane.api.recording import Recording
from germane.api.wiring import Parts
from germane.errors import EmbedderError, InvalidInput
from germane.events.appending import Origin
from germane.events.record import Recorded
from germane.memories.checks import check_provenance
from germane.memories.directive import set_directive
from germane.memories.feedback import feedback
from germane.memories.forget import Receipt, forget
from germane.memories.memory import Memory
from germane.memories.remember import new_memory, remember
from germane.pipeline.format.nonce import nonce
from germane.store import ScopedStore
from germane.types.candidate import Provenance, Scored, SourceKind
from germane.types.context import Context
from germane.types.limits import COUNT, DIRECTIVE, ID, LABEL, NAME, QUERY, RECORDED, REMARK, TAG, shown
from germane.types.limits import text as string
from germane.types.message import Message
from germane.types.query import Filters
from germane.types.scope import Scope
from germane.types.strategy import Strategy

__all__ = ["Agent"]

Raw = Mapping[str, Any] | Message


class Agent:
    """One scope of one store. Cheap to make, holds nothing of its own."""

    def __init__(self, parts: Parts, scope: Scope) -> None:
        self._parts, self.scope = parts, scope
        self.memories = Recollections(parts.store.within(scope), scope, parts.clock)

    async def assemble(
        self,
        messages: Sequence[Raw],
        *,
        model: str,
        provider: str | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        query: str | None = None,
        session: str | None = None,
        at: datetime | None = None,
        deadline: float | None = 0.048,
        max_tokens: int | None = None,
        strategy: str | Strategy = "default",
        filters: Filters | None = None,
    ) -> Context:
        """The messages with what the model needs to know, within its token budget, before the deadline.

        `messages` are OpenAI, Anthropic or Gemini dicts, or `Message` values; what comes back is shaped for `provider`
        (`openai`, `anthropic`, `gemini`), else for the model's. `query` stands in for the last user message, `session` says
        which conversation this is, `at` the time asked about, `deadline` the seconds until the answer is due (48 ms at most;
        None waits for everything), `max_tokens` caps all the text that is added.

        Raises `InvalidInput` for what the caller can put right, and nothing for a fault of germane's own: that gives less
        context, with the reason in `metadata.fallback_reason` and `trace`.
        """
        began = self._parts.clock.steady()
        scope = self.scope.within(session)
        request = build_request(
            scope=scope,
            catalog=self._parts.catalog,
            clock=self._parts.clock,
            messages=messages,
            model=model,
            provider=provider,
            at=at,
            tools=tools,
            query=query,
            deadline=deadline,
            max_tokens=max_tokens,
            filters=filters,
        )
        plan = self._parts.strategies.find(strategy)
        context = await self._parts.engine.assemble(request, self._scoped(scope), plan, began)
        self._parts.retrievals.note(self.scope, [item.id for item in context.items if item.category != "conversation"])
        return context

    async def fallback(
        self,
        messages: Sequence[Raw],
        *,
        model: str,
        provider: str | None = None,
        session: str | None = None,
        strategy: str | Strategy = "default",
        reason: str = "assembly_timeout",
    ) -> Context:
        """What `assemble` answers when there is no time for anything: the messages with the directive as it was last known in
        this process. Waits for nobody and asks no store, on any event loop. Raises `InvalidInput`."""
        scope = self.scope.within(session)
        string("reason", reason, NAME)
        request = build_request(
            scope=scope,
            catalog=self._parts.catalog,
            clock=self._parts.clock,
            messages=messages,
            model=model,
            provider=provider,
        )
        return self._parts.engine.fall_back(request, scope, self._parts.strategies.find(strategy), reason)

    async def recall(
        self,
        query: str,
        limit: int = 10,
        *,
        filters: Filters | None = None,
        at: datetime | None = None,
        strategy: str | Strategy = "default",
    ) -> tuple[Scored, ...]:
        """What answers `query` best, memories and messages alike, scored; at most `limit`. Packs and counts nothing."""
        limit, parts = number("limit", limit, most=COUNT.most), self._parts
        string("query", query, QUERY, valid=False)
        request = build_request(
            scope=self.scope,
            catalog=parts.catalog,
            clock=parts.clock,
            messages=(),
            model="any",
            query=query,
            at=at,
            filters=filters,
        )
        found = await parts.engine.recall(request, self._scoped(self.scope), parts.strategies.find(strategy))
        return found[:limit]

    async def record(
        self, messages: Sequence[Raw], *, session: str, source_kind: str = "user", channel: str | None = None
    ) -> Recorded:
        """Keep a conversation verbatim, indexed: each message once, however often it is sent (see `events/record.py`).
        What germane itself injected is left out. A call of more than 128 messages or 64K characters is written in slices, with
        other calls in between: each slice is durable by itself, and an interrupted call is completed by sending it again.
        Raises `Conflict` for an id that came before with other content; nothing is written then."""
        scope = self.scope.within(session)
        if scope.session is None:
            raise InvalidInput("session must be the name of the conversation that is recorded, not None")
        optional("channel", channel, NAME)
        if source_kind not in get_args(SourceKind):
            raise InvalidInput(f"source_kind {shown(source_kind)} is none of {', '.join(get_args(SourceKind))}")
        listed(messages, RECORDED)
        origin = Origin(scope=scope, session=session, source_kind=source_kind, channel=channel)  # type: ignore[arg-type]
        recording = Recording(
            self._scoped(scope).journal,
            origin,
            now=self._parts.clock.now(),
            nonces=[nonce(self._parts.engine.nonce_key, asked) for asked in (scope, self.scope)],  # it may have named none
            background=self._parts.background,
        )
        outcome = await recording.keep(messages)
        if outcome.added:
            await self._embed()
        return outcome

    async def remember(
        self,
        text: str | None = None,
        *,
        kind: str = "note",
        agent_wide: bool = False,
        provenance: Provenance | None = None,
        **fields: Any,
    ) -> Memory:
        """Keep something worth knowing: `kind` is fact, preference, procedure, behavior, episode or note, `text` its main
        field, `fields` its others (`key`, `value`, `title`, `observed_at`, `occurred_at`) and what any memory may have:
        `tags`, `sensitivity`, `confidence`, `pinned`, `expires_at`, `valid_from`, `valid_to`. A newer fact on a key
        supersedes the older; an exact duplicate answers the memory there is. Raises `InvalidInput`, `UnknownName`."""
        string("kind", kind, NAME)
        flags(agent_wide=agent_wide)
        if provenance is not None:
            provenance = check_provenance(provenance)
        scope = self._shared if agent_wide else self.scope
        now = self._parts.clock.now()
        memory = new_memory(text, kind=kind, scope=scope, now=now, provenance=provenance, given=fields)
        outcome = await self._scoped(scope).journal.commit(remember(memory))
        await self._embed()
        return outcome.memory

    async def forget(
        self,
        ids: Sequence[str] | None = None,
        *,
        key: str | None = None,
        tag: str | None = None,
        session: str | None = None,
        user: str | None = None,
        everything: bool = False,
        dry_run: bool = False,
        by: str = "",
        reason: str = "",
    ) -> Receipt:
        """Remove what matches every criterion given, text, vector and index entry alike, and leave a tombstone without
        content. `everything`, or a `user` and no other criterion, also takes the directive, the sessions and the names of whose
        they were. The receipt says whether nothing is left in any file, or what that waits for; asked again, it says how it is
        then. `dry_run` tells what would go. Without any criterion it raises `InvalidInput`."""
        flags(everything=everything, dry_run=dry_run)
        for name, value, limit in (
            *(("key", key, LABEL), ("tag", tag, TAG), ("session", session, ID), ("user", user, ID)),
            *(("by", by, REMARK), ("reason", reason, REMARK)),
        ):
            optional(name, value, limit)
        plan = forget(
            ids=None if ids is None else identifiers(ids),
            key=key,
            tag=tag,
            session=session,
            user=user,
            everything=everything,
            dry_run=dry_run,
            scope=self.scope,
            at=self._parts.clock.now(),
            by=by,
            reason=reason,
        )
        journal = self._scoped(self.scope).journal
        receipt = await journal.commit(plan)
        if dry_run:
            return receipt
        self._parts.engine.forget(self.scope)
        waiting_for = await journal.scrub()
        return replace(receipt, scrubbed=not waiting_for, waiting_for=waiting_for)

    async def feedback(self, ids: Sequence[str], *, helpful: bool = True) -> int:
        """Say of memories that they helped, or that they did harm: it moves their usefulness. Answers how many it counted for:
        the scope's own. Agent-wide memories, which every user shares, are judged by a scope without a user only; ids of
        messages and of what isn't here count for nothing, so the ids of a whole context can be given."""
        return await self._scoped(self.scope).journal.commit(feedback(identifiers(ids), helpful, scope=self.scope))

    @overload
    async def directive(self) -> str: ...
    @overload
    async def directive(self, text: str) -> str: ...
    async def directive(self, text: str | None = None) -> str:
        """The agent's standing instructions (a user's own where one is set); with `text`, set them first. Empty removes."""
        scoped = self._scoped(self.scope)
        if text is not None:
            string("directive", text, DIRECTIVE)
            await scoped.journal.commit(set_directive(text))
            self._parts.engine.directive_cache.forget(self.scope)
        found = await scoped.directive()
        self._parts.engine.directive_cache.learn(self.scope, found)
        return found

    async def warm(self) -> None:
        """Load what this scope searches into memory, so that the first answer has every source, and its directive, so that
        every answer has that."""
        await self._parts.store.warm(self.scope)
        await self.directive()

    def export(self) -> AsyncIterator[Exported]:
        """Everything this scope can see, one dict at a time: the directive, memories, messages by session. No keys."""
        return everything(self._scoped(self.scope), self._parts.clock.now())

    def _scoped(self, scope: Scope) -> ScopedStore:
        return self._parts.store.within(scope)

    @property
    def _shared(self) -> Scope:
        return Scope(org=self.scope.org, agent=self.scope.agent, zone=self.scope.zone)

    async def _embed(self) -> None:
        """A slow embedder's vectors come after the commit; what it can't embed now stays findable by keywords."""
        if self._parts.embedder.quick:
            return
        try:
            await self._parts.store.embed_pending()
        except EmbedderError:
            return
