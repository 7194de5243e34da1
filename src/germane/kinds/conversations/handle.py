"""Handle of conversations: one scope's long conversations, as `agent.conversations`: compacted, shown again, outlined."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from germane.api.arguments import check_conversation
from germane.api.contents import check_page
from germane.api.wiring import Parts
from germane.clock import aware
from germane.compaction.plan import Compaction
from germane.compaction.strategy import SUMMARISE, CompactionStrategy
from germane.errors import InvalidInput, NotFound
from germane.integrations.compactor import compactable
from germane.kinds.conversations.aliases import AliasedSession, AliasedSessions, SessionAlias, put_aliases
from germane.kinds.conversations.messages import entry_text, rebuild
from germane.kinds.conversations.outline import OutlinePage
from germane.kinds.conversations.reads import CompleteOutline, EntriesByHandle, LatestSummaries, ListOutline, OutlineLeft
from germane.kinds.conversations.value import ArchiveEntry, EntryKind, KeptEntry, KeptSummary
from germane.stores.contract import ScopedStore
from germane.types.checks import (
    check_entries,
    check_moment,
    check_number,
    check_size,
    check_text,
    check_type,
    check_whole_number,
)
from germane.types.limits import ID, IDS, MESSAGES, PAGE
from germane.types.message import Raw
from germane.types.plan import Decision, Plan
from germane.types.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierMessages:
    """What a handle in a compacted prompt stands for: messages that were taken out, or the message of one masked output, whose
    number among the message's results is `part`. `text` is for a reader, `messages` are the provider's own dicts, in which
    secrets are treated as in recorded messages. `previous` is the handle of the span before this one, "" for the first."""

    handle: str
    kind: EntryKind
    title: str
    text: str
    session: str
    provider: str
    messages: tuple[Mapping[str, Any], ...]
    previous: str
    part: int
    created_at: datetime

    def __repr__(self) -> str:
        return f"<EarlierMessages {self.handle} {len(self.messages)} messages, {len(self.text)} chars>"


class AgentConversations:
    """The long conversations of one scope's own sessions. `session` may be left out where the scope names one. Every call
    raises `InvalidInput` for what it can't use."""

    def __init__(self, parts: Parts, scope: Scope) -> None:
        self._parts, self._scope = parts, scope
        self._store = parts.store.within(scope)

    async def compact(
        self,
        messages: Sequence[Raw],
        *,
        session: str | None = None,
        model: str,
        max_tokens: int | None = None,
        strategy: CompactionStrategy = SUMMARISE,
        system: Any = None,
        tools: Sequence[Mapping[str, Any]] = (),
        provider: str | None = None,
        low_water: float = 0.5,
        max_messages: int | None = None,
        deadline: float | None = 5.0,
    ) -> Compaction:
        """Returns the messages as they fit `max_tokens`, as `germane.integrations.compact` does, and keeps what left in the
        store: what was taken out and masked under handles that bring it back, and the summary. A handle is named only after its
        content was read back. What is kept of a conversation doesn't depend on whether its messages are recorded; secrets are
        treated as in recorded messages.

        The work on the sessions used last is kept in memory: of a conversation that goes on only what is new is counted. With a
        language model configured, it sums up in the background what has left; its text comes in with the next move of the
        boundary. What the store hasn't done `deadline` seconds after the call costs the handles: the messages fit without them,
        and `trace.reasons` says why.
        Raises `InvalidInput` for arguments that can't be used, and nothing else."""
        named = self._named(session)
        _seconds(deadline)
        given = await asyncio.to_thread(
            partial(
                compactable,
                messages,
                model=model,
                max_tokens=max_tokens,
                provider=provider,
                system=system,
                tools=tools,
                strategy=strategy,
                low_water=low_water,
                archive=None,
                max_messages=max_messages,
                catalog=self._parts.catalog,
                cite=True,
            )
        )
        store = self._parts.store.within(self._scope.within(named))
        return await self._parts.compactions.compact(store, model, given.raws, given.messages, given.terms, deadline)

    async def rebuild(self, messages: Sequence[Raw], *, session: str | None = None, provider: str = "openai") -> list[Raw]:
        """Returns the conversation with each summary replaced by the messages that it stands for, and each masked output by the
        output. What isn't kept any more stays as it is in `messages`; secrets that were redacted stay redacted."""
        found = FetchedEntries(self._store, self._named(session))
        given = check_conversation(messages, MESSAGES)
        while True:
            made = await asyncio.to_thread(rebuild, given, found, provider=provider)
            if not await found.fetch():
                return made

    async def show(self, handle: str, *, session: str | None = None) -> EarlierMessages:
        """Returns what a handle stands for: of the session, or of the latest session in which it was written. Raises
        `NotFound`, also for what is another scope's."""
        named = None if session is None else self._named(session)
        found = await self._store.ask(EntriesByHandle([check_text("handle", handle, ID)], named))
        if not found:
            raise NotFound("nothing that {} stands for is kept here: it was forgotten, or isn't of this scope", handle)
        return earlier_messages(found[0])

    async def summaries(self, session: str | None = None, *, limit: int = 100) -> tuple[KeptSummary, ...]:
        """Returns the last `limit` (1 to 1,000) summaries of the session, oldest first."""
        check_whole_number("limit", limit, low=1, high=PAGE.maximum)
        return await self._store.ask(LatestSummaries(self._named(session), limit))

    async def outline(self, session: str | None = None, *, limit: int = 100, cursor: str | None = None) -> OutlinePage:
        """Returns a page of `limit` (1 to 1,000) lines of the session's outline, oldest first: one for each exchange, with the
        ids and the times of its first and its last message. The line of the exchange that goes on is the last one. Lines that
        the store lacks still, as of sessions of an earlier version, are made first."""
        check_page(limit, cursor)
        named = self._named(session)
        while not self._parts.store.read_only and await self._store.ask(OutlineLeft(named)):
            async with self._parts.background.step():
                await self._store.commit(_complete(named))
        return await self._store.ask(ListOutline(named, limit=limit, cursor=cursor))

    async def aliased(self, aliases: Sequence[str]) -> tuple[AliasedSession, ...]:
        """Returns the sessions that were given one of these aliases: for each alias the latest 32 sessions, latest first."""
        return await self._store.ask(AliasedSessions(check_entries("aliases", aliases, IDS, ID)))

    async def add_aliases(
        self, session: str, aliases: Sequence[SessionAlias], *, ended: Sequence[str] = (), at: datetime | None = None
    ) -> None:
        """Gives the session these aliases, by which `aliased` finds it again, and takes those in `ended` from it. `at` is the
        time of that (default: now). Idempotent. Raises `Conflict` where the session or its owner was forgotten since."""
        named = self._named(session)
        when = self._parts.clock.now() if at is None else aware(check_moment("at", at), self._scope.zone, "at")
        check_size("aliases", len(check_type("aliases", aliases, (list, tuple), "a list of SessionAlias")), IDS)
        for index, one in enumerate(aliases):
            alias = check_type(f"aliases[{index}]", one, SessionAlias, "a SessionAlias")
            check_text(f"aliases[{index}].alias", alias.alias, ID)
        check_entries("ended", ended, IDS, ID)
        await self._store.commit(put_aliases(named, aliases, ended=ended, at=when))

    def _named(self, session: str | None) -> str:
        named = self._scope.session if session is None else session
        if named is None:
            raise InvalidInput("is missing", path="session", advice="name the conversation")
        return self._scope.within(check_text("session", named, ID)).session or ""


class FetchedEntries:
    """An `Archive` of what was fetched of a session's. What is asked for in vain is fetched by `fetch`."""

    def __init__(self, store: ScopedStore, session: str) -> None:
        self._store, self._session = store, session
        self._entries: dict[str, ArchiveEntry | None] = {}
        self._wanted: dict[str, None] = {}

    def put(self, entries: Iterable[ArchiveEntry]) -> None:
        raise TypeError("fetched entries are only read")

    def get(self, handle: str) -> ArchiveEntry | None:
        if handle not in self._entries:
            self._wanted[handle] = None
        return self._entries.get(handle)

    async def fetch(self) -> bool:
        """Fetches what was asked for, and the spans before. Returns whether anything was found."""
        wanted, self._wanted, more = list(self._wanted), {}, False
        while wanted:
            found = [one.entry for one in await self._store.ask(EntriesByHandle(wanted, self._session))]
            self._entries |= dict.fromkeys(wanted) | {entry.handle: entry for entry in found}
            more = more or bool(found)
            wanted = [entry.previous for entry in found if entry.previous and entry.previous not in self._entries]
        return more


def earlier_messages(archived: KeptEntry) -> EarlierMessages:
    """Returns an entry of the archive as it is shown."""
    entry = archived.entry
    return EarlierMessages(
        handle=entry.handle,
        kind=entry.kind,
        title=entry.title,
        text=entry_text(entry),
        session=archived.session,
        provider=entry.provider,
        messages=entry.messages,
        previous=entry.previous,
        part=entry.part,
        created_at=archived.created_at,
    )


def _seconds(deadline: float | None) -> None:
    if deadline is not None:
        check_number("deadline", deadline, 0, 60, unit="seconds")


def _complete(session: str) -> Plan[None]:
    yield from ()
    return Decision((CompleteOutline(session),), None)
