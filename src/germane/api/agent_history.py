"""Agent history: the long conversations of one scope, as `agent.history`: what compactions took out, summaries, outlines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from germane.api.arguments import number
from germane.api.contents import page_arguments
from germane.api.wiring import Parts
from germane.compaction.archive import EntryKind
from germane.compaction.kept_history import KeptEntry, KeptSummary
from germane.compaction.operations import CompleteOutline
from germane.compaction.outline import OutlinePage
from germane.compaction.shown_entry import shown_entry
from germane.errors import InvalidInput, NotFound
from germane.types.limits import ID, PAGE, shown
from germane.types.limits import text as string
from germane.types.plan import Decision, Plan
from germane.types.scope import Scope

__all__ = ["AgentHistory", "EarlierMessages", "earlier_messages"]


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


class AgentHistory:
    """The histories of one scope's own sessions. `session` may be left out where the scope names one. Every call raises
    `InvalidInput` for what it can't use."""

    def __init__(self, parts: Parts, scope: Scope) -> None:
        self._parts, self._scope = parts, scope
        self._store = parts.store.within(scope)

    async def show(self, handle: str, *, session: str | None = None) -> EarlierMessages:
        """Returns what a handle stands for: of the session, or of the latest session in which it was written. Raises
        `NotFound`, also for what is another scope's."""
        named = None if session is None else self._named(session)
        found = await self._store.history.archived([string("handle", handle, ID)], named)
        if not found:
            raise NotFound(f"nothing that {shown(handle)} stands for is kept here: it was forgotten, or isn't of this scope")
        return earlier_messages(found[0])

    async def summaries(self, session: str | None = None, *, limit: int = 100) -> tuple[KeptSummary, ...]:
        """Returns the last `limit` (1 to 1,000) summaries of the session, oldest first."""
        number("limit", limit, minimum=1, maximum=PAGE.maximum)
        return await self._store.history.summaries(self._named(session), limit)

    async def outline(self, session: str | None = None, *, limit: int = 100, cursor: str | None = None) -> OutlinePage:
        """Returns a page of `limit` (1 to 1,000) lines of the session's outline, oldest first: one for each exchange, with the
        ids and the times of its first and its last message. The line of the exchange that goes on is the last one. Lines that
        the store lacks still, as of sessions of an earlier version, are made first."""
        page_arguments(limit, cursor)
        named = self._named(session)
        while not self._parts.store.read_only and await self._store.history.outline_left(named):
            async with self._parts.background.step():
                await self._store.journal.commit(_complete(named))
        return await self._store.history.outline_page(named, limit=limit, cursor=cursor)

    def _named(self, session: str | None) -> str:
        named = self._scope.session if session is None else session
        if named is None:
            raise InvalidInput("session is missing: name the conversation")
        return self._scope.within(string("session", named, ID)).session or ""


def earlier_messages(archived: KeptEntry) -> EarlierMessages:
    """Returns an entry of the archive as it is shown."""
    entry = archived.entry
    return EarlierMessages(
        handle=entry.handle,
        kind=entry.kind,
        title=entry.title,
        text=shown_entry(entry),
        session=archived.session,
        provider=entry.provider,
        messages=entry.messages,
        previous=entry.previous,
        part=entry.part,
        created_at=archived.created_at,
    )


def _complete(session: str) -> Plan[None]:
    yield from ()
    return Decision((CompleteOutline(session),), None)
