"""`germane keys`: creates, lists and revokes the API keys of a served store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from germane.cli.codec import encode
from germane.cli.duration import duration
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.listing import ListColumn, print_rows
from germane.cli.screen import console, plain, print_json
from germane.clock import zone
from germane.errors import InvalidInput

if TYPE_CHECKING:
    from germane.access.key import Key, NewKey

__all__ = ["app", "owns_option"]

_OWN_OPTIONS = ("--org", "--agent")
_COLUMNS = (
    *map(ListColumn, ("id", "state", "org", "agents", "rights")),
    *(ListColumn(name, named=True) for name in ("created", "expires", "last used")),
    ListColumn("note"),
)
_NEVER = "-"
_NEAR_SECONDS = 2 * 24 * 3600

app = typer.Typer(invoke_without_command=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


def owns_option(arguments: Sequence[str], option: str) -> bool:
    """Whether `option`, found after `arguments`, is an option of this group and not the global one of the same name: a key may
    be valid for several agents, and `list` without an org shows all orgs."""
    return option in _OWN_OPTIONS and list(arguments[:1]) == ["keys"]


@app.callback()
def keys(context: typer.Context) -> None:
    """Create, list and revoke API keys. A key belongs to one org. The store keeps a hash of it, not the key itself."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command("create", short_help="Create a key and print it once.")
def create(
    context: typer.Context,
    org: Annotated[str | None, typer.Option(help="The org that the key is for.  [default: default]")] = None,
    agent: Annotated[
        list[str] | None, typer.Option(help="An agent that the key is for (may be repeated). Default: every agent of the org.")
    ] = None,
    rights: Annotated[
        Literal["read", "write", "both"] | None,
        typer.Option(
            help="read allows assemble, search and export; write allows remember, record, feedback, forget, directive and "
            "changes of blocks.  "
            "[default: both]"
        ),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION", help="How long the key is valid, such as 30m, 24h or 90d. Default: until it is revoked."
        ),
    ] = None,
    replaces: Annotated[
        str | None, typer.Option(metavar="ID", help="The id of the key to replace; options that you omit are copied from it.")
    ] = None,
    overlap: Annotated[
        str | None, typer.Option(metavar="DURATION", help="How long the replaced key stays valid.  [default: 24h]")
    ] = None,
    note: Annotated[str | None, typer.Option(help="A note for people, such as who uses the key.")] = None,
) -> None:
    """Create a key. It is printed once, on standard output, and can't be shown again: the store keeps only its hash.

    \b
      germane keys create --org acme --note "gateway"
      germane keys create --org acme --agent support --rights read --expires 90d
      germane keys create --org acme --replaces ID --overlap 24h
    """
    from datetime import timedelta

    options = options_of(context)
    if overlap is not None and replaces is None:
        raise InvalidInput("--overlap is for a key that is replaced (name it with --replaces)")
    request: dict[str, Any] = {
        "org": options.org if org is None else org,
        "agents": agent or None,
        "rights": None if rights is None else ("read", "write") if rights == "both" else (rights,),
        "lifetime": None if expires is None else duration(expires, "--expires"),
        "replaces": replaces,
        "overlap": timedelta(days=1) if overlap is None else duration(overlap, "--overlap"),
        "note": note,
    }
    created = run_async(_create(options, request))
    if options.json:
        print_json({"token": created.token, **_shape(created.key)})
        return
    # The token stands alone on stdout, so that it can be piped.
    print(created.token)
    notice = f"key {created.key.id} of {_validity(created.key)}: keep it now, it can't be shown again"
    console(stderr=True).print(plain(notice), soft_wrap=True)


@app.command("list", short_help="List the keys, without their secrets.")
def list_keys(
    context: typer.Context,
    org: Annotated[str | None, typer.Option(help="List only the keys of this org. Default: all orgs.")] = None,
) -> None:
    """List the keys, oldest first. The time of the last use is accurate to the hour."""
    options = options_of(context)
    named_before = getattr(context.find_root().get_parameter_source("org"), "name", "") == "COMMANDLINE"
    of_org = options.org if org is None and named_before else org
    listed = run_async(_list(options, of_org))
    if options.json:
        print_json({"keys": [_shape(key) for key in listed]})
    elif not listed:
        limited = "" if of_org is None else f" of org {of_org}"
        console().print(plain(f"there are no keys{limited} (germane keys create makes one)"))
    else:
        rows = []
        for key in listed:
            created, used = (_format_time(time, options.zone)[:10] for time in (key.created_at, key.last_used_at))
            expires = _format_time(key.expires_at, options.zone)
            agents = "every" if key.agents is None else ", ".join(key.agents)
            valid_for = (plain(key.org), plain(agents), _rights(key))
            rows.append((key.id, key.state(_now()), *valid_for, created, expires, used, plain(key.note, 60)))
        print_rows(console(), _COLUMNS, rows)


@app.command("revoke", short_help="Revoke a key.")
def revoke(
    context: typer.Context,
    id: Annotated[
        str, typer.Argument(metavar="ID", help="The id of the key, or the key itself, for example one that has leaked.")
    ],
) -> None:
    """Revoke a key at once; running servers reject it within a second. Idempotent."""
    options = options_of(context)
    key = run_async(_revoke(options, id))
    if options.json:
        print_json(_shape(key))
    else:
        console().print(
            plain(f"key {key.id} of {_validity(key)} is revoked since {_format_time(key.revoked_at, options.zone)}")
        )


async def _create(options: GlobalOptions, request: dict[str, Any]) -> NewKey:
    async with options.open_store(create=True) as (germane, _):
        return await germane.keys.create(**request)


async def _list(options: GlobalOptions, org: str | None) -> tuple[Key, ...]:
    async with options.open_store() as (germane, _):
        return await germane.keys.list(org)


async def _revoke(options: GlobalOptions, id: str) -> Key:
    async with options.open_store() as (germane, _):
        return await germane.keys.revoke(id)


def _shape(key: Key) -> dict[str, Any]:
    return {**encode(key), "state": key.state(_now())}


def _validity(key: Key) -> str:
    """The org, the agents and the rights of the key, for a message."""
    agents = "" if key.agents is None else f", {'agent' if len(key.agents) == 1 else 'agents'} {', '.join(key.agents)}"
    return f"org {key.org}{agents} ({' and '.join(key.rights)})"


def _rights(key: Key) -> str:
    return "both" if len(key.rights) == 2 else key.rights[0]


def _format_time(time: datetime | None, zone_name: str) -> str:
    """The date in the zone; with hour and minute where the time is less than two days from now."""
    if time is None:
        return _NEVER
    near = abs((time - _now()).total_seconds()) < _NEAR_SECONDS
    return f"{time.astimezone(zone(zone_name)):{'%Y-%m-%d %H:%M' if near else '%Y-%m-%d'}}"


def _now() -> datetime:
    return datetime.now(UTC)
