"""Archive: the plan that keeps a text for later searches. An entry is never changed; deleting it forgets it for good
(BLK-7)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from germane.blocks.entry import ArchivalEntry
from germane.blocks.operations import PutEntry
from germane.errors import InvalidInput
from germane.text.secrets.screen import SecretPolicy, SecretScreen
from germane.types.extent import bounded
from germane.types.ids import uuid7
from germane.types.limits import MEMORY_TEXT, shown
from germane.types.limits import text as string
from germane.types.plan import Decision, Plan

__all__ = ["keep_entry", "new_entry"]


def new_entry(
    text: object, metadata: object = None, *, user: str | None, at: datetime, secrets: SecretPolicy = "redact"
) -> ArchivalEntry:
    """Returns an entry, with the policy on secrets applied to its text and its metadata. Raises `InvalidInput`."""
    words = string("text", text, MEMORY_TEXT)
    if not words.strip():
        raise InvalidInput("text is blank: give what is to be kept")
    given: Any = {} if metadata is None else metadata
    if not isinstance(given, Mapping):
        raise InvalidInput(f"metadata must be an object with named values, not {shown(given)}")
    bounded("metadata", given)
    try:
        given = json.loads(json.dumps(dict(given), allow_nan=False))
    except (TypeError, ValueError):
        raise InvalidInput("metadata must be JSON: strings, finite numbers, true, false, null, lists and objects") from None
    screen = SecretScreen(secrets, "the entry")
    kept = screen.json(given)
    written = screen.text(words)
    return ArchivalEntry(
        id=uuid7(int(at.timestamp() * 1000)),
        text=written,
        metadata=kept,
        user=user,
        created_at=at,
        secrets=dict(screen.found),
    )


def keep_entry(entry: ArchivalEntry) -> Plan[ArchivalEntry]:
    """Stores an entry of the scope's own user."""
    yield from ()
    return Decision((PutEntry(entry),), entry)
