"""`germane keys`: the API keys that open a served store, made, listed and revoked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from germane.cli.codec import encode
from germane.cli.duration import duration
from germane.cli.global_options import GlobalOptions, finish, setting
from germane.cli.screen import answer, console, plain, table
from germane.clock import zone
from germane.errors import InvalidInput

if TYPE_CHECKING:
    from germane.access.key import Key, NewKey

__all__ = ["app", "own"]

_MINE = ("--org", "--agent")
_NEVER = "-"
_NEAR = 2 * 24 * 3600

app = typer.Typer(invoke_without_command=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


def own(arguments: Sequence[str], option: str) -> bool:
    """Whether this option, standing after these arguments, is this group's own, not the one that all commands share: a key may
    be of several agents, and a list without an org is of all of them."""
    return option in _MINE and list(arguments[:1]) == ["keys"]


@app.callback()
def keys(context: typer.Context) -> None:
    """Make, list and revoke API keys. Each is of one org; of the key itself only a hash is kept."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command("create", short_help="Make a key and print it, this once.")
def create(
    context: typer.Context,
    org: Annotated[str | None, typer.Option(help="The org it opens.  [default: default]")] = None,
    agent: Annotated[list[str] | None, typer.Option(help="Only this agent of it (may be repeated).")] = None,
    rights: Annotated[
        Literal["read", "write", "both"] | None,
        typer.Option(help="read: assemble, search, export. write: remember, record, feedback, forget.  [default: both]"),
    ] = None,
    expires: Annotated[str | None, typer.Option(metavar="DURATION", help="Ends after that: 30m, 24h, 90d.")] = None,
    replaces: Annotated[
        str | None, typer.Option(metavar="ID", help="Takes the place of this key, and takes over what isn't said here.")
    ] = None,
    overlap: Annotated[
        str | None, typer.Option(metavar="DURATION", help="How long the replaced key goes on.  [default: 24h]")
    ] = None,
    note: Annotated[str | None, typer.Option(help="For people: who has it, what for.")] = None,
) -> None:
    """Make a key. It is printed once, on standard output, and can't be shown again: germane keeps a hash of it.

    \b
      germane keys create --org acme --note "gateway"
      germane keys create --org acme --agent support --rights read --expires 90d
      germane keys create --org acme --replaces ID --overlap 24h
    """
    from datetime import timedelta

    chosen = setting(context)
    if overlap is not None and replaces is None:
        raise InvalidInput("--overlap is for a key that is replaced (name it with --replaces)")
    wanted: dict[str, Any] = {
        "org": chosen.org if org is None else org,
        "agents": agent or None,
        "rights": None if rights is None else ("read", "write") if rights == "both" else (rights,),
        "lifetime": None if expires is None else duration(expires, "--expires"),
        "replaces": replaces,
        "overlap": timedelta(days=1) if overlap is None else duration(overlap, "--overlap"),
        "note": note,
    }
    issued = finish(_create(chosen, wanted))
    if chosen.json:
        answer({"token": issued.token, **_shape(issued.key)})
        return
    print(issued.token)
    told = f"key {issued.key.id} of {_opens(issued.key)}: keep it now, it can't be shown again"
    console(stderr=True).print(plain(told), soft_wrap=True)


@app.command("list", short_help="Show the keys, never their secrets.")
def show(
    context: typer.Context,
    org: Annotated[str | None, typer.Option(help="Only keys of this org.")] = None,
) -> None:
    """List keys, oldest first: those of every org, or of one. The last use is right to the hour."""
    chosen = setting(context)
    given = getattr(context.find_root().get_parameter_source("org"), "name", "") == "COMMANDLINE"
    wanted = chosen.org if org is None and given else org
    found = finish(_list(chosen, wanted))
    if chosen.json:
        answer({"keys": [_shape(key) for key in found]})
    elif not found:
        whose = "" if wanted is None else f" of org {wanted}"
        console().print(plain(f"there are no keys{whose} (germane keys create makes one)"))
    else:
        dates = ("created", "expires", "last used")
        rows = table("id", "state", "org", "agents", "rights", *dates, "note", right=("id", *dates))
        for column in rows.columns[1:3]:
            column.no_wrap = True
        for key in found:
            made, used = (_shown(moment, chosen.zone)[:10] for moment in (key.created_at, key.last_used_at))
            agents = "every" if key.agents is None else ", ".join(key.agents)
            opens = (plain(key.org), plain(agents), _rights(key))
            rows.add_row(
                key.id, key.state(_now()), *opens, made, _shown(key.expires_at, chosen.zone), used, plain(key.note, 60)
            )
        console().print(rows)


@app.command("revoke", short_help="End a key, now.")
def revoke(
    context: typer.Context,
    id: Annotated[str, typer.Argument(metavar="ID", help="Of the key, as list shows it; or a key that has leaked.")],
) -> None:
    """Revoke a key: it opens nothing from now on, in running servers within a second. Doing it again changes nothing."""
    chosen = setting(context)
    key = finish(_revoke(chosen, id))
    if chosen.json:
        answer(_shape(key))
    else:
        console().print(plain(f"key {key.id} of {_opens(key)} is revoked since {_shown(key.revoked_at, chosen.zone)}"))


async def _create(chosen: GlobalOptions, wanted: dict[str, Any]) -> NewKey:
    async with chosen.opened(create=True) as (germane, _):
        return await germane.keys.create(**wanted)


async def _list(chosen: GlobalOptions, org: str | None) -> tuple[Key, ...]:
    async with chosen.opened() as (germane, _):
        return await germane.keys.list(org)


async def _revoke(chosen: GlobalOptions, id: str) -> Key:
    async with chosen.opened() as (germane, _):
        return await germane.keys.revoke(id)


def _shape(key: Key) -> dict[str, Any]:
    return {**encode(key), "state": key.state(_now())}


def _opens(key: Key) -> str:
    agents = "" if key.agents is None else f", {'agent' if len(key.agents) == 1 else 'agents'} {', '.join(key.agents)}"
    return f"org {key.org}{agents} ({' and '.join(key.rights)})"


def _rights(key: Key) -> str:
    return "both" if len(key.rights) == 2 else key.rights[0]


def _shown(moment: datetime | None, name: str) -> str:
    """A day; of the days around today with the time."""
    if moment is None:
        return _NEVER
    near = abs((moment - _now()).total_seconds()) < _NEAR
    return f"{moment.astimezone(zone(name)):{'%Y-%m-%d %H:%M' if near else '%Y-%m-%d'}}"


def _now() -> datetime:
    return datetime.now(UTC)
