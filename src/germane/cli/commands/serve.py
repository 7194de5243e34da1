"""`germane serve`: runs the service until it is stopped."""

from __future__ import annotations

import os
from dataclasses import replace
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from germane.cli.exits import describe_exit
from germane.cli.global_options import GlobalOptions, options_of
from germane.cli.screen import console
from germane.errors import MissingExtra

if TYPE_CHECKING:
    from germane.serve.worker import Listening
    from germane.settings.serving import ServiceSettings
    from germane.settings.settings import Settings

__all__ = ["serve"]

_REQUIRED = ("grpc", "grpc_health", "grpc_reflection", "orjson", "prometheus_client", "starlette", "structlog", "uvicorn")


def serve(
    context: typer.Context,
    grpc: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="The address of the gRPC server.")] = None,
    http: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="The address of health and metrics over HTTP, or off.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="The number of processes; they share the port and the database.")] = None,
    require_keys: Annotated[
        bool | None, typer.Option(help="Whether callers need an API key. Default: yes, except on a loopback address.")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="The certificate chain of the gRPC server (PEM).")] = None,
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
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error.")] = None,
    log_format: Annotated[str | None, typer.Option(help="json (one object per line) or console (for people).")] = None,
) -> None:
    """Serve context assembly over gRPC, and health, readiness and metrics over HTTP.

    A missing database is created. Every option can also be set by an environment variable (GERMANE_SERVE_GRPC and so on) or in
    the section [serve] of the settings; the document operate.md lists all of them with their defaults. SIGTERM or Ctrl-C stops
    the service after the running calls; a second one stops it at once.
    """
    from germane.settings.settings import Settings, read_service_settings

    options = options_of(context)
    _check_extra()
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
        "db": _named_db(options),
    }
    serving = read_service_settings(options.settings, os.environ, given)
    settings = Settings.load(options.settings, os.environ)
    if options.embedder is not None:
        settings = replace(settings, embedder=options.embedder)
    if serving.workers > 1:
        _run_workers(serving, settings, json=options.json)
    else:
        from germane.serve.worker import serve as begin

        begin(serving, settings, lambda where: _announce(serving, where, json=options.json))


def _run_workers(serving: ServiceSettings, settings: Settings, *, json: bool) -> None:
    """Run several worker processes; a worker that ends is restarted. Raises `typer.Exit` where the workers can't start."""
    from germane.observe.multiprocess import mark_process_dead, metrics_folder
    from germane.serve.supervisor import Supervisor, WorkerFailed
    from germane.serve.worker_entry import run_worker

    with metrics_folder() as folder:

        def on_exit(index: int, process: int, code: int, pause: float) -> None:
            mark_process_dead(folder, process)
            console(stderr=True).print(f"worker {index} ended with {code}; another begins in {pause:.1f} s")

        arguments = (serving, settings, folder, describe_exit)
        supervisor = Supervisor(run_worker, arguments, serving.workers, serving.shutdown_seconds, on_exit)
        try:
            supervisor.run(lambda where: _announce(serving, where, json=json))
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
    also = "" if http is None else f", health and metrics on http://{http}"
    who = "callers need an API key" if serving.keys_required else "anybody on this machine may call"
    console().print(f"serving {serving.db}: gRPC on {where.grpc}{also}; {who}; Ctrl-C ends it", soft_wrap=True)


def _named_db(options: GlobalOptions) -> Path | None:
    """The database of --db or GERMANE_DB; None where the settings decide."""
    return options.db if options.explicit or options.db != Path("germane.db") else None


def _check_extra() -> None:
    from importlib.util import find_spec

    for package in _REQUIRED:
        if find_spec(package) is None:
            raise MissingExtra("serve", package)
