"""Export: everything that is stored within a reach, as plain dicts that `restore` and `germane import` read back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, cast

from germane.store import Store
from germane.transfer.line import header_line, line_of
from germane.transfer.stored import Contents, Reach

__all__ = ["Exported", "exported"]

Exported = dict[str, Any]


async def exported(store: Store, reach: Reach) -> AsyncIterator[Exported]:
    """Yields the header, then one dict for each thing: `{"type": "directive" | "memory" | "block" | "entry" | "session" |
    "message" | "tombstone", …}`, all as it was at the first step. Times are ISO 8601. The key of the nonces, API keys, vectors,
    and records of what was injected are never exported."""
    async with aclosing(cast("Any", store.dump(reach))) as portions:
        async for portion in portions:
            for thing in portion:
                yield header_line(reach, thing) if isinstance(thing, Contents) else line_of(thing)
