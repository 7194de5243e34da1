"""Injection: the record of what was injected for one turn of a session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from germane.types.earlier import InjectedItem

__all__ = ["Injection", "KeptInjections"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    """`turn` is the keyed hash of the turn's content together with the message before it, `said` of its content alone; neither
    tells what was said. `occurrence` counts the turns of the session with the same `turn` from 1. An empty `text` records that
    nothing was injected. `last_handle` is the highest number of a handle so far. `tokens` are by the tokenizer named
    `tokenizer`. `created_at` is by the clock."""

    turn: str
    said: str
    occurrence: int
    text: str
    tokens: int
    tokenizer: str
    last_handle: int
    items: tuple[InjectedItem, ...]
    created_at: datetime
    withdrawn: str = ""
    """Handles of the items that were forgotten or updated since: the text is gone then, and the turn has no text any more."""
    relies_on: tuple[str, ...] = ()
    """Handles of the items that weren't added because they stood at earlier turns of the prompt."""

    @property
    def key(self) -> tuple[str, int]:
        """Identifies the record within its session."""
        return self.turn, self.occurrence


@dataclass(frozen=True, slots=True)
class KeptInjections:
    """What the store answers: a session's records, oldest first, and the content hashes, by id, of those items that the scope
    may see now."""

    records: tuple[Injection, ...] = ()
    allowed: Mapping[str, int] = field(default_factory=dict)
