"""Hints: where else in the store something is, and what to type, for a command that found nothing in its own scope.

A command about a block that isn't found or can't be changed is told more: a near label, another scope, or an approval that
is needed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from difflib import get_close_matches
from shlex import join, quote
from typing import TYPE_CHECKING, NamedTuple

from germane.cli.options import GlobalOptions
from germane.errors import ConsentNeeded, InvalidInput, NotFound, NotPermitted

if TYPE_CHECKING:
    from rich.console import Console

    from germane.api.agent import Agent
    from germane.api.germane import Germane
    from germane.types.scope import Scope


_MAX_NAMED_SCOPES = 3
"""Scopes that a hint names."""
_MAX_SCOPES = 1000
_ID_LENGTH = 36
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


async def other_scopes(germane: Germane, options: GlobalOptions) -> list[str]:
    """Returns lines about the scopes nearest to that of the command that have something stored, each followed by the command
    that looks there: other users of the agent, else other agents of the org, else other orgs. Only names and counts: whoever
    runs the command has the file. Over a server none: its caller sees the own scope."""
    if options.server is not None:
        return []
    users = [one for one in await _of_agent(germane, options.org, options.agent) if one.user not in (None, options.user)]
    found = _largest(users)
    if not found:
        found = await _of_org(germane, options.org, but=options.agent)
    if not found:
        orgs = sorted((await germane.orgs(limit=_MAX_SCOPES)).orgs, key=lambda one: -(one.memories + one.messages))
        others = [one.org for one in orgs if one.org != options.org][:_MAX_NAMED_SCOPES]
        found = [one for org in others for one in (await _of_org(germane, org))[:1]]
        if not orgs:
            return ["nothing is stored in this file yet (begin with germane import or germane remember)"]
    return [
        line for one in found for line in (f"{_scope_name(one, options)} {_holdings_text(one)}:", f"  {_command(one, options)}")
    ]


async def largest_holding(germane: Germane) -> ScopeCount | None:
    """Returns the scope of the store with the most memories and messages, None where nothing is stored."""
    orgs = (await germane.orgs(limit=_MAX_SCOPES)).orgs
    found = [one for org in orgs for one in await _of_org(germane, org.org)]
    return max(found, key=lambda one: one.size, default=None)


async def owner_hint(germane: Germane, options: GlobalOptions, id: str) -> str:
    """Returns who has the thing with this id, and the command that reaches it. For the beginning of an id it returns where else
    something is stored. Empty where nothing is, and over a server."""
    if options.server is not None:
        return ""
    orgs = [one.org for one in (await germane.orgs(limit=_MAX_SCOPES)).orgs]
    for org in sorted(orgs, key=lambda org: org != options.org):
        if (owner := await germane.owner(id, org=org)) is not None:
            return _belongs_to(owner, options)
    return "" if len(id) >= _ID_LENGTH else " ".join(map(str.strip, (await other_scopes(germane, options))[:2]))


def print_hints(screen: Console, hints: Iterable[str]) -> None:
    """Prints hints; a command among them isn't broken into lines, so that it can be copied."""
    for line in hints:
        screen.print(line, soft_wrap=True)


def counts_text(memories: int, messages: int) -> str:
    """Says in words how much is stored."""
    parts = [(memories, "memory" if memories == 1 else "memories"), (messages, "message" if messages == 1 else "messages")]
    return " and ".join(f"{count:,} {name}" for count, name in parts if count) or "a directive or blocks"


async def _of_agent(germane: Germane, org: str, agent: str) -> list[ScopeCount]:
    page = await germane.agent(agent, org=org).users(limit=_MAX_SCOPES)
    return [ScopeCount(org, agent, one.user, one.memories, one.messages) for one in page.users]


async def _of_org(germane: Germane, org: str, but: str | None = None) -> list[ScopeCount]:
    """The largest scope of each of the largest agents of an org."""
    agents = [one for one in (await germane.agents(org, limit=_MAX_SCOPES)).agents if one.agent != but]
    found = list[ScopeCount]()
    for one in sorted(agents, key=lambda one: -(one.memories + one.messages))[:_MAX_NAMED_SCOPES]:
        users = await _of_agent(germane, org, one.agent)
        memories, messages = (sum(getattr(user, what) for user in users) for what in ("memories", "messages"))
        shared = ScopeCount(org, one.agent, None, max(0, one.memories - memories), max(0, one.messages - messages))
        found += _largest([*users, shared])[:1]
    return found


def _largest(found: Sequence[ScopeCount]) -> list[ScopeCount]:
    return sorted(found, key=lambda one: -one.size)[:_MAX_NAMED_SCOPES]


def _scope_name(one: ScopeCount, options: GlobalOptions) -> str:
    parts = [f"org {one.org}"] if one.org != options.org else []
    parts += [f"agent {one.agent}"] if parts or one.agent != options.agent else []
    parts += [] if one.user is None else [f"user {one.user}"]
    return ", ".join(parts)


def _holdings_text(one: ScopeCount) -> str:
    return f"{'holds' if one.user is not None else 'holds for all users'} {counts_text(one.memories, one.messages)}"


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


# What to do when a block isn't found or can't be changed.


_MAX_LABELS = 1_000
"""Labels that a mistyped one is compared with."""
_MAX_USERS, _MAX_AGENTS = 100, 50
"""Users and agents whose blocks are looked at."""


@asynccontextmanager
async def open_with_hints(options: GlobalOptions, label: str) -> AsyncIterator[tuple[Germane, Agent]]:
    """Opens the store for a command about the block with this label or id, and adds to its errors what the caller can do. Names
    nothing of another org."""
    async with options.open_store() as (germane, agent):
        try:
            yield germane, agent
        except NotFound as missing:
            if hint := await _label_hint(germane, agent, options, label):
                raise NotFound(f"{missing} ({hint})") from None
            raise
        except ConsentNeeded as needed:
            said = f"{needed} (germane block approve {needed.request})"
            raise ConsentNeeded(said, request=needed.request, asked_of=needed.asked_of) from None
        except NotPermitted as refused:
            raise NotPermitted(f"{refused}{await _permission_hint(agent, options, label)}") from None


async def _permission_hint(agent: Agent, options: GlobalOptions, label: str) -> str:
    """Returns how the owner changes a block that the agent may not change."""
    try:
        block = await agent.blocks.get(label)
    except (NotFound, InvalidInput):  # one that was deleted
        return " (--system: as the owner's application)"
    if block.shared_from is not None:
        return ""
    return " (--system: as the owner's application)" if block.user == options.user else " (leave --user out)"


async def _label_hint(germane: Germane, agent: Agent, options: GlobalOptions, label: str) -> str:
    if await _has(agent, label):
        return ""  # what is missing isn't the block
    if options.server is None and (where := await _scope_hint(germane, options, label)):
        return where
    labels = [block.label for block in (await agent.blocks.list())[:_MAX_LABELS]]
    folded = {name.casefold(): name for name in reversed(labels)}
    if near := get_close_matches(label.casefold(), folded, n=1, cutoff=0.6):
        return f"do you mean {quote(folded[near[0]])}?"
    for block in await agent.blocks.list(deleted=True):
        if label in (block.label, block.id):
            return f"it was deleted: germane block restore {block.id}"
    return ""


async def _scope_hint(germane: Germane, options: GlobalOptions, label: str) -> str:
    """Names the first other scope of the org that has such a block, and the options that reach it."""
    for name, user in [pair async for pair in _neighbours(germane, options)]:
        if await _has(germane.agent(name, org=options.org, user=user), label):
            wanted = [] if name == options.agent else [f"--agent {quote(name)}"]
            if user != options.user:
                wanted.append("no --user" if user is None else f"--user {quote(user)}")
            whose = "all users" if user is None else f"user {user}"
            return (
                f"{whose} of agent {name} have one: use {' and '.join(wanted)}"
                if user is None
                else (f"{whose} of agent {name} has one: use {' and '.join(wanted)}")
            )
    return ""


async def _neighbours(germane: Germane, options: GlobalOptions) -> AsyncIterator[tuple[str, str | None]]:
    if options.user is not None:
        yield options.agent, None
    for one in (await options.agent_wide(germane).users(limit=_MAX_USERS)).users:
        if one.user != options.user:
            yield options.agent, one.user
    for other in (await germane.agents(options.org, limit=_MAX_AGENTS)).agents:
        if other.agent != options.agent:
            yield other.agent, options.user


async def _has(agent: Agent, label: str) -> bool:
    try:
        await agent.blocks.get(label)
    except (NotFound, InvalidInput):
        return False
    return True
