"""Export: everything that a scope can see, as plain dicts that `germane import` reads back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import asdict
from datetime import datetime
from typing import Any

from germane.events.event import Event
from germane.memories.memory import Memory
from germane.store import ScopedStore
from germane.types.query import Filters

__all__ = ["Exported", "everything"]

Exported = dict[str, Any]

_ALL = Filters(sensitivities=("public", "private", "sensitive"), with_history=True)
_NO_LIMIT = 1 << 31


async def everything(store: ScopedStore, now: datetime) -> AsyncIterator[Exported]:
    """Yields `{"type": "directive" | "memory" | "message", …}`: the directive, the memories newest first, the messages by
    session in their order. Times are ISO 8601. The key of the nonces, API keys, their hashes and vectors are never
    exported."""
    if directive := (await store.directive()).text:
        yield {"type": "directive", "text": directive}
    cursor = None
    while True:
        page = await store.memories.list(_ALL, at=now, limit=500, cursor=cursor)
        for memory in page.memories:
            yield _memory(memory)
        if (cursor := page.cursor) is None:
            break
    for session in reversed((await store.events.sessions(_NO_LIMIT)).sessions):
        for event in reversed(await store.events.recent(_NO_LIMIT, session=session.id, filters=_ALL, whole=True)):
            yield _message(event)


def _memory(memory: Memory) -> Exported:
    plain = _plain(asdict(memory))
    content = plain.pop("content")
    plain.pop("content_hash")
    plain.pop("secrets")
    return {"type": "memory", **plain, **content}


def _message(event: Event) -> Exported:
    return {
        "type": "message",
        "session": event.session,
        "user": event.user,
        "id": event.message_id,
        "role": event.role,
        "name": event.name or None,
        "content": event.text,
        "created_at": event.created_at.isoformat(),
        "germane_id": event.id,
        "sensitivity": event.sensitivity,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
