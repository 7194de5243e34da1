"""Auditing: one call of `audit`: reads what a scope's own user has stored, page by page, and reports what deserves a look."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from germane.events.event import DOCUMENT, Event
from germane.memories.audit import Audit, AuditFinding, MemoryAudit, secret_finding
from germane.memories.consolidation.holding import Stored
from germane.pipeline.background import Background
from germane.store import ScopedStore
from germane.types.query import Filters

__all__ = ["audit"]

_PAGE = 500
_MANY = 1 << 31
_EVERYTHING = Filters(sensitivities=("public", "private", "sensitive"))
_PASSAGES = replace(_EVERYTHING, event_types=(DOCUMENT,))


async def audit(
    store: ScopedStore, *, now: datetime, background: Background, unused: timedelta, limit: int, messages: bool
) -> Audit:
    """See `Agent.audit`."""
    looking = MemoryAudit(now=now, unused=unused, limit=limit)
    position = 0
    while page := await store.memories.stored(after=position, limit=_PAGE):
        await background.run(partial(_look, looking, page, background))
        position = page[-1].position
    looking.contradict(await store.memories.conflicts(at=now, limit=_MANY))
    read = 0
    for filters in (_EVERYTHING, _PASSAGES) if messages else ():
        cursor: str | None = None
        more = True
        while more:
            some = await store.events.page(filters, limit=_PAGE, cursor=cursor, whole=True)
            own = [event for event in some.messages if event.user == store.scope.user]
            for finding in await background.run(partial(_secrets, own, background)):
                looking.add(finding)
            read += len(own)
            cursor = some.cursor
            more = cursor is not None
    findings = looking.findings()
    return Audit(memories=looking.memories, messages=read, counts=looking.counts, findings=findings)


def _look(looking: MemoryAudit, page: tuple[Stored, ...], background: Background) -> None:
    for stored in page:
        looking.look(stored.memory)
        background.breath()


def _secrets(events: list[Event], background: Background) -> list[AuditFinding]:
    found = list[AuditFinding]()
    for event in events:
        finding = secret_finding(event.id, event.text)
        background.breath()
        if finding is not None:
            found.append(finding)
    return found
