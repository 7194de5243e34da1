"""Aliases: by what a session is found again where a request doesn't name it, and whether it was forgotten since (PROXY-4).

An alias is a hash that the caller makes: of how a conversation ends, or of an id that a provider gave to an answer. It tells
nothing of what was said. A session has several, and several sessions may have the same one: conversations that begin alike.
Aliases aren't exported; they go with their session or its owner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, TypeVar

from germane.errors import Conflict
from germane.types.plan import Change, Decision, Plan, Read, TextOf, read

T = TypeVar("T")

MAX_ALIASES = 64
"""Aliases of one session; the oldest go first."""
MAX_ALIAS_DAYS = 90
"""Days after which an alias is removed, when its owner's next one is written."""
MAX_FORGOTTEN_DAYS = 8
"""Days for which it is kept that something was forgotten as a whole; no recording may wait as long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionAlias:
    """`alias` is a hash of at most 64 characters. `turns` is what the caller keeps with it, at most 4,096 bytes, such as hashes
    of the conversation's turns; empty for the id of an answer."""

    alias: str
    turns: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasedSession:
    """A session that has one of the aliases asked for, with the `turns` that it was kept with, and the time of that."""

    alias: str
    session: str
    turns: bytes
    at: datetime


@dataclass(frozen=True, slots=True)
class AliasedSessions(Read[tuple[AliasedSession, ...]]):
    """The sessions of the scope's own user that have one of these aliases, for each alias the latest `limit` of them, latest
    first."""

    quick: ClassVar[bool] = True
    aliases: tuple[str, ...]
    limit: int = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class PutAliases(Change):
    """Gives the session of the scope's own user these aliases, and takes those in `ended` from it. An alias that it has already
    gets the new `turns`. Doesn't raise the content's revision."""

    text_of: ClassVar[TextOf] = "its_owner"
    session: str
    aliases: tuple[SessionAlias, ...]
    ended: tuple[str, ...] = ()
    at: datetime


@dataclass(frozen=True, slots=True)
class ForgottenSince(Read[bool]):
    """Whether the session of the scope's own user, this user, the agent or the org was forgotten as a whole at `since` or
    later."""

    session: str
    since: datetime


@dataclass(frozen=True, slots=True)
class NoteForgotten(Change):
    """Keeps that the scope's agent, or its org, is forgotten as a whole at this time, whoever the users are. What is stored
    isn't touched. Doesn't raise the content's revision."""

    text_of: ClassVar[TextOf] = "nothing"
    at: datetime
    whole_org: bool = False


class ForgottenMeanwhile(Conflict):
    """What was to be recorded belongs to a session or an owner that was forgotten since it was said; nothing was written."""


def put_aliases(session: str, aliases: Sequence[SessionAlias], *, ended: Sequence[str] = (), at: datetime) -> Plan[None]:
    """Gives a session its aliases: see `PutAliases`. Raises `ForgottenMeanwhile` where the session was forgotten at `at` or
    later."""
    change = PutAliases(session=session, aliases=tuple(aliases), ended=tuple(ended), at=at)

    def plan() -> Plan[None]:
        yield from ()
        return Decision((change,), None)

    return unless_forgotten(plan(), session, at)


def note_forgotten(at: datetime, *, whole_org: bool) -> Plan[None]:
    """Keeps that an agent or an org is forgotten: see `NoteForgotten`."""
    yield from ()
    return Decision((NoteForgotten(at, whole_org),), None)


def unless_forgotten(plan: Plan[T], session: str, since: datetime) -> Plan[T]:
    """The same plan, which raises `ForgottenMeanwhile` where the session or its owner was forgotten at `since` or later. The
    store runs a plan in one transaction, so no forgetting comes between the answer and what is written."""
    if (yield from read(ForgottenSince(session, since))):
        raise ForgottenMeanwhile("was forgotten since this was said", path="session", advice="record what was said later")
    return (yield from plan)
