"""Claim: a run of a session's messages that one worker has leased from the queue, and the changes that end its lease."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from germane.events.event import Event
from germane.types.candidate import SourceKind
from germane.types.plan import Change, Read, TextOf
from germane.types.scope import Scope

__all__ = ["Claim", "ClaimHeld", "FinishClaim", "readable"]

_TYPES = ("user_message", "assistant_message")
_OWN: tuple[SourceKind, ...] = ("user", "import")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The messages of a session from position `first` up to `stop` (exclusive), leased by `holder`. `turns` are those of them
    that may be sent; `before` are a few messages that precede them. `session` is the store's key of the scope's session.
    `tries` counts earlier failures."""

    scope: Scope
    session: int
    first: int
    stop: int
    holder: str
    tries: int = 0
    turns: tuple[Event, ...] = ()
    before: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class ClaimHeld(Read[bool]):
    """Whether the claim's holder still has its lease, so that nobody else extracted these messages."""

    claim: Claim


@dataclass(frozen=True, slots=True)
class FinishClaim(Change):
    """Ends the lease and removes the claim's messages from the queue."""

    text_of: ClassVar[TextOf] = "nothing"
    claim: Claim


def readable(event: Event) -> bool:
    """Whether a message may be sent to a language model: what a user or an assistant said, unless it is sensitive."""
    return (
        event.type in _TYPES
        and event.provenance.source_kind in _OWN
        and event.sensitivity != "sensitive"
        and bool(event.text.strip())
    )
