"""Queue: the messages that a language model is still to read, the runs that a worker leased, and what reading cost.

The queue holds positions and no text, so that nothing of a forgotten message can be left in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Protocol

from germane.kinds.events.value import Event
from germane.types.candidate import SourceKind
from germane.types.plan import Change, Read, TextOf
from germane.types.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMUsage:
    """What an org's agent spent on one day (UTC): calls, and tokens as the endpoint counted them."""

    org: str
    agent: str
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueReport:
    """`waiting` and `parked` count runs of messages in sessions; `reasons` says, without content, why those that are parked
    failed, each with how many. `messages` and `characters` count what waits. `usage` is the day's."""

    waiting: int = 0
    parked: int = 0
    messages: int = 0
    characters: int = 0
    reasons: tuple[tuple[str, int], ...] = ()
    usage: tuple[LLMUsage, ...] = ()

    @property
    def tokens(self) -> int:
        return sum(used.input_tokens + used.output_tokens for used in self.usage)


class ExtractionQueue(Protocol):
    """`within` limits a call to a scope's agent, to its user where it has one, and to its session where it has one; None stands
    for the whole store."""

    async def begin(self) -> None:
        """Remembers, the first time, that messages recorded from now on are to be read. Idempotent."""

    async def claim(self, holder: str, *, now: datetime, until: datetime, within: Scope | None, eager: bool) -> Claim | None:
        """Leases the messages that are due longest to `holder` until `until`; None where nothing is due. `eager` also takes
        what waits for its session to fall silent, or for another try."""

    async def release(self, claim: Claim, *, reason: str, retry_at: datetime | None, failed: bool = True) -> None:
        """Ends the lease without a result: the messages are due again at `retry_at`, and with None they are parked until
        `resume`. `failed` says whether that counts as a try. Does nothing where the lease is somebody else's."""

    async def release_all(self, holder: str) -> None:
        """Ends all leases of `holder`, whose messages are due at once."""

    async def resume(self, within: Scope | None, *, everything: bool) -> None:
        """Makes what is parked due again and, with `everything`, the messages that were recorded before `begin`, unless they
        were read."""

    async def spend(self, scope: Scope, day: int, *, calls: int, input_tokens: int, output_tokens: int) -> None:
        """Adds to what the scope's agent spent on `day` (days since 1970, UTC)."""

    async def spent(self, day: int) -> int:
        """Returns the tokens that were spent on `day` in the whole store."""

    async def report(self, day: int, within: Scope | None = None, *, everything: bool = False) -> QueueReport:
        """Counts what waits. With `everything` also what `resume` would add."""


# A claim: a run of a session's messages that one worker has leased, and the changes that end its lease.


_READABLE_TYPES = ("user_message", "assistant_message")
_READABLE_KINDS: tuple[SourceKind, ...] = ("user", "import")


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
        event.type in _READABLE_TYPES
        and event.provenance.source_kind in _READABLE_KINDS
        and event.sensitivity != "sensitive"
        and bool(event.text.strip())
    )
