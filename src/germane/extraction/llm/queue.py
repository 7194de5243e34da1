"""Queue: the messages that a language model is still to read, the runs that a worker leased, and what reading cost.

The queue holds positions and no text, so that nothing of a forgotten message can be left in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from germane.kinds.events.value import Event
from germane.types.candidate import SourceKind
from germane.types.plan import Change, Decision, Plan, Read, StoreChange, StoreDecision, StorePlan, StoreRead, TextOf, read
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


# A claim: a run of a session's messages that one worker has leased.


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


def readable(event: Event) -> bool:
    """Whether a message may be sent to a language model: what a user or an assistant said, unless it is sensitive."""
    return (
        event.type in _READABLE_TYPES
        and event.provenance.source_kind in _READABLE_KINDS
        and event.sensitivity != "sensitive"
        and bool(event.text.strip())
    )


# What a store answers and changes. `within` limits a read or a change to a scope's agent, to its user where it has one, and to
# its session where it has one; None stands for the whole store.


@dataclass(frozen=True, slots=True)
class ClaimHeld(Read[bool]):
    """Whether the claim's holder still has its lease, so that nobody else extracted these messages."""

    claim: Claim


@dataclass(frozen=True, slots=True)
class FinishClaim(Change):
    """Ends the lease and removes the claim's messages from the queue."""

    text_of: ClassVar[TextOf] = "nothing"
    claim: Claim


@dataclass(frozen=True, slots=True)
class SpendTokens(Change):
    """Adds one call to what the scope's agent spent on `day` (days since 1970, UTC)."""

    text_of: ClassVar[TextOf] = "nothing"
    day: int
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class TokensSpent(StoreRead[int]):
    """The tokens that were spent on `day` in the whole store."""

    day: int


@dataclass(frozen=True, slots=True)
class QueueState(StoreRead[QueueReport]):
    """Counts what waits. With `everything` also what `ResumeQueue` would add."""

    day: int
    within: Scope | None = None
    everything: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimsWait(StoreRead[bool]):
    """Whether `NextClaim` may find something. Whoever asks this first needs no commit where nothing is due."""

    now: datetime
    within: Scope | None
    eager: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NextClaim(StoreRead["Claim | None"]):
    """The messages that are due longest, as a claim of `holder`; None where nothing is due. `eager` also takes what waits for
    its session to fall silent, or for another try. Answered within a plan alone, and queues what was recorded since the last
    time first."""

    holder: str
    now: datetime
    within: Scope | None
    eager: bool


@dataclass(frozen=True, slots=True)
class BeginQueue(StoreChange):
    """Remembers, the first time, that messages recorded from now on are to be read. Idempotent."""


@dataclass(frozen=True, slots=True)
class LeaseClaim(StoreChange):
    """Leases the claim's messages to its holder until `until`."""

    claim: Claim
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseClaim(StoreChange):
    """Ends the lease without a result: the messages are due again at `retry_at`, and with None they are parked until
    `ResumeQueue`. `failed` says whether that counts as a try. Does nothing where the lease is somebody else's."""

    claim: Claim
    reason: str
    retry_at: datetime | None
    failed: bool = True


@dataclass(frozen=True, slots=True)
class ReleaseClaims(StoreChange):
    """Ends all leases of `holder`, whose messages are due at once."""

    holder: str


@dataclass(frozen=True, slots=True)
class ResumeQueue(StoreChange):
    """Makes what is parked due again and, with `everything`, the messages that were recorded before `BeginQueue`, unless they
    were read."""

    within: Scope | None
    everything: bool = False


def spend_tokens(day: int, input_tokens: int, output_tokens: int) -> Plan[None]:
    """Counts one call for the scope's agent; see `SpendTokens`."""
    yield from ()
    return Decision((SpendTokens(day, input_tokens, output_tokens),), None)


def lease_next(holder: str, *, now: datetime, until: datetime, within: Scope | None, eager: bool) -> StorePlan[Claim | None]:
    """Leases the messages that are due longest until `until`; see `NextClaim`. The outcome is None where nothing is due."""
    claim = yield from read(NextClaim(holder=holder, now=now, within=within, eager=eager))
    return StoreDecision(() if claim is None else (LeaseClaim(claim, until),), claim)
