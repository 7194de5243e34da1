"""Block hints: what to do when a block isn't found or can't be changed: a near label, another scope, an approval."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from difflib import get_close_matches
from shlex import quote
from typing import TYPE_CHECKING

from germane.cli.global_options import GlobalOptions
from germane.errors import ConsentNeeded, InvalidInput, NotFound, NotPermitted

if TYPE_CHECKING:
    from germane.api.agent import Agent
    from germane.api.germane import Germane

__all__ = ["hinted"]

_COMPARED = 1_000
"""Labels that a mistyped one is compared with."""
_USERS, _AGENTS = 100, 50
"""Users and agents whose blocks are looked at."""


@asynccontextmanager
async def hinted(options: GlobalOptions, label: str) -> AsyncIterator[tuple[Germane, Agent]]:
    """Opens the store for a command about the block with this label or id, and adds to its errors what the caller can do. Names
    nothing of another org."""
    async with options.open_store() as (germane, agent):
        try:
            yield germane, agent
        except NotFound as missing:
            if hint := await _hint(germane, agent, options, label):
                raise NotFound(f"{missing} ({hint})") from None
            raise
        except ConsentNeeded as needed:
            said = f"{needed} (germane block approve {needed.request})"
            raise ConsentNeeded(said, request=needed.request, asked_of=needed.asked_of) from None
        except NotPermitted as refused:
            raise NotPermitted(f"{refused}{await _way(agent, options, label)}") from None


async def _way(agent: Agent, options: GlobalOptions, label: str) -> str:
    """Returns how the owner changes a block that the agent may not change."""
    try:
        block = await agent.blocks.get(label)
    except (NotFound, InvalidInput):  # one that was deleted
        return " (--system: as the owner's application)"
    if block.shared_from is not None:
        return ""
    return " (--system: as the owner's application)" if block.user == options.user else " (leave --user out)"


async def _hint(germane: Germane, agent: Agent, options: GlobalOptions, label: str) -> str:
    if await _has(agent, label):
        return ""  # what is missing isn't the block
    if where := await _elsewhere(germane, options, label):
        return where
    labels = [block.label for block in (await agent.blocks.list())[:_COMPARED]]
    folded = {name.casefold(): name for name in reversed(labels)}
    if near := get_close_matches(label.casefold(), folded, n=1, cutoff=0.6):
        return f"do you mean {quote(folded[near[0]])}?"
    for block in await agent.blocks.list(deleted=True):
        if label in (block.label, block.id):
            return f"it was deleted: germane block restore {block.id}"
    return ""


async def _elsewhere(germane: Germane, options: GlobalOptions, label: str) -> str:
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
    for one in (await options.agent_wide(germane).users(limit=_USERS)).users:
        if one.user != options.user:
            yield options.agent, one.user
    for other in (await germane.agents(options.org, limit=_AGENTS)).agents:
        if other.agent != options.agent:
            yield other.agent, options.user


async def _has(agent: Agent, label: str) -> bool:
    try:
        await agent.blocks.get(label)
    except (NotFound, InvalidInput):
        return False
    return True
