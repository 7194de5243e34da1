"""Elsewhere: what other scopes of the same org have, for a command that found nothing in its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from germane.cli.global_options import GlobalOptions

if TYPE_CHECKING:
    from germane.api.germane import Germane
    from germane.types.scope import Scope

__all__ = ["elsewhere", "whereabouts"]

_NAMED = 3
"""Users or agents that a hint names."""
_LOOKED_AT = 1000
_WHOLE = 36
"""Characters of a whole id."""


async def elsewhere(germane: Germane, options: GlobalOptions) -> list[str]:
    """Returns sentences about users of this agent, and else about agents of this org, that have something stored. Only names
    and counts, and never of another org: whoever runs the command has the file."""
    found = await options.agent_wide(germane).users(limit=_LOOKED_AT)
    users = sorted(
        (user for user in found.users if user.user != options.user), key=lambda user: -(user.memories + user.messages)
    )
    if users:
        return [
            f"user {user.user} has {_counted(user.memories, user.messages)}: add --user {_argument(user.user)}"
            for user in users[:_NAMED]
        ]
    agents = [one for one in (await germane.agents(options.org, limit=_LOOKED_AT)).agents if one.agent != options.agent]
    agents.sort(key=lambda one: -(one.memories + one.messages))
    return [
        f"agent {one.agent} has {_counted(one.memories, one.messages)}: add --agent {_argument(one.agent)}"
        for one in agents[:_NAMED]
    ]


async def whereabouts(germane: Germane, options: GlobalOptions, id: str) -> str:
    """Returns who has the thing with this id, and the options that reach it. For the beginning of an id it returns where else
    something is stored. Empty where nothing is."""
    if owned := _belongs_to(await germane.owner(id, org=options.org), options):
        return owned
    return "" if len(id) >= _WHOLE else next(iter(await elsewhere(germane, options)), "")


def _belongs_to(owner: Scope | None, options: GlobalOptions) -> str:
    if owner is None:
        return ""
    wanted = [] if owner.agent == options.agent else [f"--agent {_argument(owner.agent)}"]
    if owner.user != options.user:
        wanted.append("no --user" if owner.user is None else f"--user {_argument(owner.user)}")
    whose = "all users" if owner.user is None else f"user {owner.user}"
    return f"it belongs to {whose} of agent {owner.agent}: use {' and '.join(wanted)}" if wanted else ""


def _counted(memories: int, messages: int) -> str:
    parts = [(memories, "memory" if memories == 1 else "memories"), (messages, "message" if messages == 1 else "messages")]
    return " and ".join(f"{count:,} {name}" for count, name in parts if count) or "a directive or blocks"


def _argument(name: str) -> str:
    from shlex import quote

    return quote(name)
