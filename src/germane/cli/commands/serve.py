"""`germane serve`, `keys`, `pseudonym`: runs the service, keeps its API keys, and finds an id in its log."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from germane.cli.options import GlobalOptions, duration, options_of, run_async
from germane.cli.screen import ListColumn, console, describe_exit, plain, print_done, print_json, print_rows
from germane.clock import zone
from germane.errors import InvalidInput, MissingExtra
from germane.types.codec import encode

if TYPE_CHECKING:
    from germane.kinds.keys.value import Key, NewKey
    from germane.service.worker import Listening
    from germane.settings.serving import ServiceSettings
    from germane.settings.settings import Settings


_REQUIRED = (
    *("grpc", "grpc_health", "grpc_reflection", "httpcore2", "orjson", "prometheus_client", "starlette", "structlog"),
    *("uvicorn", "websockets"),
)


def serve(
    context: typer.Context,
    grpc: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="The address of the gRPC server.")] = None,
    http: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="The address of the HTTP port, or off.")] = None,
    workers: Annotated[int | None, typer.Option(help="The number of processes; they share the port and the database.")] = None,
    require_keys: Annotated[
        bool | None, typer.Option(help="Whether callers need an API key. Default: yes, except on a loopback address.")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="The certificate chain of both ports (PEM).")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="The private key of --tls-cert (PEM).")] = None,
    tls_client_ca: Annotated[
        Path | None, typer.Option(help="The CA certificates that callers' certificates are verified with (PEM).")
    ] = None,
    plaintext: Annotated[
        bool | None,
        typer.Option(
            help="Whether to allow API keys without TLS on an address that other machines reach, as behind a TLS proxy."
        ),
    ] = None,
    shutdown_seconds: Annotated[
        float | None, typer.Option(help="How long running calls may take to finish after a stop signal.")
    ] = None,
    upstream: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME[=URL]", help="An LLM provider to relay model calls to (may be repeated), such as openai."),
    ] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error.")] = None,
    log_format: Annotated[str | None, typer.Option(help="json (one object per line) or console (for people).")] = None,
) -> None:
    """Serve context assembly over gRPC, and over HTTP with health, readiness and metrics beside it.

    A missing database is created. Every option can also be set by an environment variable (GERMANE_SERVE_GRPC and so on) or in
    the section [serve] of the settings; the document operate.md lists all of them with their defaults. SIGTERM or Ctrl-C stops
    the service after the running calls; a second one stops it at once.
    """
    options = options_of(context)
    given: dict[str, object] = {
        "grpc": grpc,
        "http": http,
        "workers": workers,
        "require_keys": require_keys,
        "tls_cert": tls_cert,
        "tls_key": tls_key,
        "tls_client_ca": tls_client_ca,
        "plaintext": plaintext,
        "shutdown_seconds": shutdown_seconds,
        "log_level": log_level,
        "log_format": log_format,
        "db": named_db(options),
        "upstreams": upstream or None,
    }
    serving, settings = serving_of(options, given)
    run_service(serving, settings, lambda where: _announce(serving, where, json=options.json))


def serving_of(options: GlobalOptions, given: Mapping[str, object]) -> tuple[ServiceSettings, Settings]:
    """Reads the settings of a service and of its store, with what the command line gives. Raises `MissingExtra` and
    `InvalidInput`."""
    from germane.settings.settings import Settings, read_service_settings

    _check_extra()
    serving = read_service_settings(options.settings, os.environ, given)
    settings = Settings.load(options.settings, os.environ)
    return serving, settings if options.embedder is None else replace(settings, embedder=options.embedder)


def run_service(serving: ServiceSettings, settings: Settings, announce: Callable[[Listening], None]) -> None:
    """Serves until a signal comes; calls `announce` once the service listens. Raises `typer.Exit` where workers can't start."""
    if serving.workers > 1:
        _run_workers(serving, settings, announce)
    else:
        from germane.service.worker import serve as begin

        begin(serving, settings, announce)


def _run_workers(serving: ServiceSettings, settings: Settings, announce: Callable[[Listening], None]) -> None:
    """Run several worker processes; a worker that ends is restarted. Raises `typer.Exit` where the workers can't start."""
    from germane.service.supervisor import Supervisor, WorkerFailed, mark_process_dead, metrics_folder, run_worker

    with metrics_folder() as folder:

        def on_exit(index: int, process: int, code: int, pause: float) -> None:
            mark_process_dead(folder, process)
            console(stderr=True).print(f"worker {index} ended with {code}; another begins in {pause:.1f} s")

        arguments = (serving, settings, folder, describe_exit)
        supervisor = Supervisor(run_worker, arguments, serving.workers, serving.shutdown_seconds, on_exit)
        try:
            supervisor.run(announce)
        except WorkerFailed as failed:
            raise typer.Exit(max(1, failed.code)) from None


def _announce(serving: ServiceSettings, where: Listening, *, json: bool) -> None:
    """Print the addresses once the service listens."""
    http = None if where.http is None else str(where.http)
    if json:
        # One line, so that a program that waits for it needs no JSON stream parser.
        addresses = {"grpc": str(where.grpc), "http": http, "workers": serving.workers, "keys": serving.keys_required}
        print(dumps(addresses), flush=True)
        return
    also = "" if http is None else f", HTTP on http{'' if serving.tls_cert is None else 's'}://{http} (try it: /v1/docs)"
    who = "callers need an API key" if serving.keys_required else "anybody on this machine may call"
    console().print(f"serving {serving.db}: gRPC on {where.grpc}{also}; {who}; Ctrl-C ends it", soft_wrap=True)


def named_db(options: GlobalOptions) -> Path | None:
    """The database of --db or GERMANE_DB; None where the settings decide."""
    return options.db if options.explicit or options.db != Path("germane.db") else None


def _check_extra() -> None:
    from importlib.util import find_spec

    for package in _REQUIRED:
        if find_spec(package) is None:
            raise MissingExtra("serve", package)


# `germane keys`: creates, lists and revokes the API keys of a served store.


_OWN_OPTIONS = ("--org", "--agent")
_KEY_COLUMNS = (
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
            help="read allows to assemble, search, look through and export; write allows to store, change, consolidate and "
            "forget.  "
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
        print_json({"token": created.token, **_key_shape(created.key)})
        return
    # The token stands alone on stdout, so that it can be piped.
    print(created.token)
    notice = f"key {created.key.id} of {_validity(created.key)}: keep it now, it can't be shown again"
    console(stderr=True).print(plain(notice), soft_wrap=True)


@app.command("list", short_help="List the keys, without their secrets.")
def _list_keys(
    context: typer.Context,
    org: Annotated[str | None, typer.Option(help="List only the keys of this org. Default: all orgs.")] = None,
) -> None:
    """List the keys, oldest first. The time of the last use is accurate to the hour."""
    options = options_of(context)
    named_before = getattr(context.find_root().get_parameter_source("org"), "name", "") == "COMMANDLINE"
    of_org = options.org if org is None and named_before else org
    listed = run_async(_list(options, of_org))
    if options.json:
        print_json({"keys": [_key_shape(key) for key in listed]})
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
        print_rows(console(), _KEY_COLUMNS, rows)


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
    line = f"key {key.id} of {_validity(key)} is revoked since {_format_time(key.revoked_at, options.zone)}"
    print_done(options.json, _key_shape(key), line)


async def _create(options: GlobalOptions, request: dict[str, Any]) -> NewKey:
    async with options.open_store(create=True) as (germane, _):
        return await germane.keys.create(**request)


async def _list(options: GlobalOptions, org: str | None) -> tuple[Key, ...]:
    async with options.open_store() as (germane, _):
        return await germane.keys.list(org)


async def _revoke(options: GlobalOptions, id: str) -> Key:
    async with options.open_store() as (germane, _):
        return await germane.keys.revoke(id)


def _key_shape(key: Key) -> dict[str, Any]:
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


# `germane pseudonym`: prints the pseudonym of an id in the service's log.


def pseudonym(
    context: typer.Context,
    ids: Annotated[
        list[str], typer.Argument(metavar="ID", help="Ids of orgs or agents, or request ids that the log shows as pseudonyms.")
    ],
) -> None:
    """Print the pseudonym that the service's log shows instead of an id, so that you can find the id's lines.

    A pseudonym is a keyed hash. Its key is the setting nonce_key, or else one that the store keeps: pseudonyms are the same in
    every process and after a restart, and differ between stores.
    """
    options = options_of(context)
    pseudonyms = run_async(_pseudonyms(options, ids))
    if options.json:
        print_json({"pseudonyms": pseudonyms})
        return
    for id, name in pseudonyms.items():
        console().print(plain(name if len(pseudonyms) == 1 else f"{name}  {id}"), soft_wrap=True)


async def _pseudonyms(options: GlobalOptions, ids: list[str]) -> dict[str, str]:
    async with options.open_store() as (germane, _):
        return {id: germane.pseudonym(id) for id in ids}
