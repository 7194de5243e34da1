"""Profile reader: the protocol for what may stand in a scope's profile: its most telling clauses, and its marked lines."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import NamedTuple, Protocol

from germane.profile.marking import Mark
from germane.profile.shown_clause import clause_hash, shown_clause
from germane.types.candidate import Outdated, Sensitivity
from germane.types.query import Filters

__all__ = ["ProfileReader", "ToldClause"]


class ToldClause(NamedTuple):
    """A telling clause of a stored message: `text` is the message's from one character (`start`) to another (`end`). A named
    tuple, as a session's first request reads some hundreds."""

    id: str
    """The message's id of germane's."""
    start: int
    end: int
    text: str
    rule: float
    """P(it is a standing instruction), as of `TellingClause`."""
    matters: float
    """P(it says what matters for requests that don't ask for it)."""
    session: str
    created_at: datetime
    speaker: str = ""
    message_id: str | None = None
    sensitivity: Sensitivity = "private"
    content_hash: int = 0
    """The message's."""
    outdated: tuple[Outdated, ...] = ()
    """What was extracted from the message and was replaced since, the oldest replacement first."""

    @property
    def line(self) -> str:
        """The name under which it is shown, and marked."""
        return shown_clause(self.id, self.start, self.end)

    @property
    def shown_hash(self) -> int:
        """The hash of what is shown, which `Store.injections` tells of its name."""
        return clause_hash(self.content_hash, self.start, self.end)


class ProfileReader(Protocol):
    """Every method sees what belongs to the scope's own user, or the agent-wide things where the scope has no user."""

    async def clauses(self, limit: int, *, filters: Filters) -> tuple[ToldClause, ...]:
        """Returns the `limit` most telling clauses of messages that pass `filters`, by the greater of `rule` and `matters`; of
        equal ones those of the message that was stored last come first, in order. Takes as long however many messages there
        are. Of long messages the first 20,000 characters were read."""

    async def with_assistant(self, sessions: Collection[str]) -> frozenset[str]:
        """Returns which of these sessions are chats with an assistant: it speaks in one of their first 40 messages."""

    async def holding(self, messages: Collection[str], at: datetime) -> frozenset[str]:
        """Returns which of these messages, by germane's ids, are stored and state nothing that has ended by `at`."""

    async def marks(self) -> Mapping[str, Mark]:
        """Returns the lines that are pinned or hidden, by line: a clause's name, or the id of a memory. Nothing that a mark
        names is forgotten."""
