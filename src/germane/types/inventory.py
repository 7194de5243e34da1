"""Inventory values: what a scope holds, in figures: statistics, users, agents, and the records of what was forgotten."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

TombstoneKind = Literal[
    "memory", "message", "block", "entity", "relation", "pattern", "task", "archived", "summary", "directive"
]
"""What was forgotten."""
StoredKind = Literal[TombstoneKind, "entry"]
"""What has an id: as `TombstoneKind`, with archival entries apart from blocks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """What one scope sees, counted. `memories` counts those that are valid now, by kind; `ended` those that were superseded or
    are no longer valid. `events` counts what was recorded beside `messages`. `blocks` and `archival_entries` count what isn't
    deleted, `relations` also those that ended; `documents` and their `passages` are no sessions, messages or events. `users`
    counts the agent's users; None for
    the scope of a user. `text_bytes` are those of the texts, in UTF-8, and `pending_vectors` the texts that have no vector yet.
    `oldest` and `newest` are the times of the first and the last memory or message; None where there is none. `extracted`
    counts those of `memories` that were found in messages, by `rules` or by a language model (`llm`)."""

    memories: Mapping[str, int] = field(default_factory=dict, hash=False)
    ended: int = 0
    pinned: int = 0
    messages: int = 0
    events: int = 0
    sessions: int = 0
    users: int | None = None
    text_bytes: int = 0
    pending_vectors: int = 0
    blocks: int = 0
    archival_entries: int = 0
    documents: int = 0
    passages: int = 0
    entities: int = 0
    relations: int = 0
    patterns: int = 0
    tasks: int = 0
    """Tasks, whether they have ended or not."""
    archived: int = 0
    """What compactions took out of prompts: entries of the archive."""
    summaries: int = 0
    """Summaries of what compactions took out."""
    outline_lines: int = 0
    """Exchanges that have ended and have their line in an outline."""
    telling_clauses: int = 0
    """Clauses of users' messages that may stand in a profile."""
    profile_marks: int = 0
    """Lines of profiles that are pinned or hidden."""
    oldest: datetime | None = None
    newest: datetime | None = None
    extracted: Mapping[str, int] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSummary:
    """One user of an agent, and how much is stored for it: `memories` (those that ended included), `messages` in `sessions`.
    `last_at` is the time of the latest of them; None for a user with a directive only."""

    user: str
    memories: int = 0
    messages: int = 0
    sessions: int = 0
    last_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserPage:
    """One page of an agent's users. `cursor` continues the listing; None on the last page."""

    users: tuple[UserSummary, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSummary:
    """One agent of an org, and how much is stored for it, agent-wide and for its users together."""

    agent: str
    users: int = 0
    memories: int = 0
    messages: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPage:
    """One page of an org's agents. `cursor` continues the listing; None on the last page."""

    agents: tuple[AgentSummary, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OrgSummary:
    """One org of a store, and how much is stored for it: its `agents`, `users` (counted for each agent), and all that these
    have."""

    org: str
    agents: int = 0
    users: int = 0
    memories: int = 0
    messages: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OrgPage:
    """One page of a store's orgs. `cursor` continues the listing; None on the last page."""

    orgs: tuple[OrgSummary, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """What remains of a forgotten memory, message, block or archival entry (`what` is `block` for both), entity, relation,
    pattern, task, or entry (`archived`) or summary of compactions: its id, and no content."""

    id: str
    what: TombstoneKind
    at: datetime
    by: str = ""
    reason: str = ""
