"""Elsewhere: where else in the store something is, and what to type, for a command that found nothing in its own scope."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from shlex import join
from typing import TYPE_CHECKING, NamedTuple

from germane.cli.global_options import GlobalOptions

if TYPE_CHECKING:
    from rich.console import Console

    from germane.api.germane import Germane
    from germane.types.scope import Scope

__all__ = ["ScopeCount", "counted", "elsewhere", "largest_holding", "print_hints", "whereabouts"]

_NAMED = 3
"""Scopes that a hint names."""
_LOOKED_AT = 1000
_WHOLE = 36
"""Characters of a whole id."""


class ScopeCount(NamedTuple):
    """What one scope has stored. `user` None: what all users of the agent share."""

    org: str
    agent: str
    user: str | None
    memories: int
    messages: int

    @property
    def size(self) -> int:
        return self.memories + self.messages


async def elsewhere(germane: Germane, options: GlobalOptions) -> list[str]:
    """Returns lines about the scopes nearest to that of the command that have something stored, each followed by the command
    that looks there: other users of the agent, else other agents of the org, else other orgs. Only names and counts: whoever
    runs the command has the file."""
    users = [one for one in await _of_agent(germane, options.org, options.agent) if one.user not in (None, options.user)]
    found = _largest(users)
    if not found:
        found = await _of_org(germane, options.org, but=options.agent)
    if not found:
        orgs = sorted((await germane.orgs(limit=_LOOKED_AT)).orgs, key=lambda one: -(one.memories + one.messages))
        others = [one.org for one in orgs if one.org != options.org][:_NAMED]
        found = [one for org in others for one in (await _of_org(germane, org))[:1]]
        if not orgs:
            return ["nothing is stored in this file yet (begin with germane import or germane remember)"]
    return [line for one in found for line in (f"{_named(one, options)} {_holds(one)}:", f"  {_command(one, options)}")]


async def largest_holding(germane: Germane) -> ScopeCount | None:
    """Returns the scope of the store with the most memories and messages, None where nothing is stored."""
    orgs = (await germane.orgs(limit=_LOOKED_AT)).orgs
    found = [one for org in orgs for one in await _of_org(germane, org.org)]
    return max(found, key=lambda one: one.size, default=None)


async def whereabouts(germane: Germane, options: GlobalOptions, id: str) -> str:
    """Returns who has the thing with this id, and the command that reaches it. For the beginning of an id it returns where else
    something is stored. Empty where nothing is."""
    orgs = [one.org for one in (await germane.orgs(limit=_LOOKED_AT)).orgs]
    for org in sorted(orgs, key=lambda org: org != options.org):
        if (owner := await germane.owner(id, org=org)) is not None:
            return _belongs_to(owner, options)
    return "" if len(id) >= _WHOLE else " ".join(map(str.strip, (await elsewhere(germane, options))[:2]))


def print_hints(screen: Console, hints: Iterable[str]) -> None:
    """Prints hints; a command among them isn't broken into lines, so that it can be copied."""
    for line in hints:
        screen.print(line, soft_wrap=True)


def counted(memories: int, messages: int) -> str:
    """Says in words how much is stored."""
    parts = [(memories, "memory" if memories == 1 else "memories"), (messages, "message" if messages == 1 else "messages")]
    return " and ".join(f"{count:,} {name}" for count, name in parts if count) or "a directive or blocks"


async def _of_agent(germane: Germane, org: str, agent: str) -> list[ScopeCount]:
    page = await germane.agent(agent, org=org).users(limit=_LOOKED_AT)
    return [ScopeCount(org, agent, one.user, one.memories, one.messages) for one in page.users]


async def _of_org(germane: Germane, org: str, but: str | None = None) -> list[ScopeCount]:
    """The largest scope of each of the largest agents of an org."""
    agents = [one for one in (await germane.agents(org, limit=_LOOKED_AT)).agents if one.agent != but]
    found = list[ScopeCount]()
    for one in sorted(agents, key=lambda one: -(one.memories + one.messages))[:_NAMED]:
        users = await _of_agent(germane, org, one.agent)
        memories, messages = (sum(getattr(user, what) for user in users) for what in ("memories", "messages"))
        shared = ScopeCount(org, one.agent, None, max(0, one.memories - memories), max(0, one.messages - messages))
        found += _largest([*users, shared])[:1]
    return found


def _largest(found: Sequence[ScopeCount]) -> list[ScopeCount]:
    return sorted(found, key=lambda one: -one.size)[:_NAMED]


def _named(one: ScopeCount, options: GlobalOptions) -> str:
    parts = [f"org {one.org}"] if one.org != options.org else []
    parts += [f"agent {one.agent}"] if parts or one.agent != options.agent else []
    parts += [] if one.user is None else [f"user {one.user}"]
    return ", ".join(parts)


def _holds(one: ScopeCount) -> str:
    return f"{'holds' if one.user is not None else 'holds for all users'} {counted(one.memories, one.messages)}"


def _belongs_to(owner: Scope, options: GlobalOptions) -> str:
    if (owner.org, owner.agent, owner.user) == (options.org, options.agent, options.user):
        return ""
    whose = "all users" if owner.user is None else f"user {owner.user}"
    org = "" if owner.org == options.org else f" of org {owner.org}"
    return f"it belongs to {whose} of agent {owner.agent}{org}: {_command(owner, options)}"


def _command(one: ScopeCount | Scope, options: GlobalOptions) -> str:
    """What was typed, for another scope."""
    scope = [] if one.org == "default" else ["--org", one.org]
    scope += [] if one.agent == "default" else ["--agent", one.agent]
    scope += [] if one.user is None else ["--user", one.user]
    words = list(options.typed)
    end = words.index("--") if "--" in words else len(words)
    return join(["germane", *words[:end], *scope, *words[end:]])
