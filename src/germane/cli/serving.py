"""`germane serve`: the service, until it is told to stop."""

from __future__ import annotations

import os
from dataclasses import replace
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from germane.cli.exits import told
from germane.cli.global_options import GlobalOptions, setting
from germane.cli.screen import console
from germane.errors import MissingExtra

if TYPE_CHECKING:
    from germane.serve.worker import Listening
    from germane.settings.serving import ServiceSettings
    from germane.settings.settings import Settings

__all__ = ["serve"]

_NEEDED = ("grpc", "grpc_health", "grpc_reflection", "orjson", "prometheus_client", "starlette", "structlog", "uvicorn")


def serve(
    context: typer.Context,
    grpc: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Where gRPC is served.")] = None,
    http: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Where health and metrics are, or off.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes that share the port and the file.")] = None,
    require_keys: Annotated[
        bool | None, typer.Option(help="Whether callers need an API key; as it is, all but loopback.")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="The certificate chain (PEM) that gRPC is served with.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its private key (PEM).")] = None,
    tls_client_ca: Annotated[Path | None, typer.Option(help="Who signs callers' certificates (PEM).")] = None,
    plaintext: Annotated[
        bool | None, typer.Option(help="Whether keys may travel unencrypted to an address that others reach.")
    ] = None,
    shutdown_seconds: Annotated[
        float | None, typer.Option(help="How long calls may take to end once it is told to stop.")
    ] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error.")] = None,
    log_format: Annotated[str | None, typer.Option(help="json, one object a line, or console, for people.")] = None,
) -> None:
    """Serve context assembly over gRPC, and health, readiness and metrics over HTTP.

    Begins with a database that isn't there yet. Every option has a variable, GERMANE_SERVE_GRPC and so on, and a place in the
    settings' [serve]: docs/operate.md tells of all of them. SIGTERM or Ctrl-C lets what runs end, a second one doesn't.
    """
    from germane.settings.settings import Settings, read_service_settings

    chosen = setting(context)
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
        "db": _db(chosen),
    }
    serving = read_service_settings(chosen.settings, os.environ, given)
    settings = Settings.load(chosen.settings, os.environ)
    if chosen.embedder is not None:
        settings = replace(settings, embedder=chosen.embedder)
    if serving.workers > 1:
        _several(serving, settings, json=chosen.json)
    else:
        from germane.serve.worker import serve as begin

        begin(serving, settings, lambda where: _tell(serving, where, json=chosen.json))


def _several(serving: ServiceSettings, settings: Settings, *, json: bool) -> None:
    from germane.observe.multiprocess import mark_process_dead, metrics_folder
    from germane.serve.supervisor import Supervisor, WorkerFailed
    from germane.serve.worker_entry import run_worker

    with metrics_folder() as folder:

        def on_exit(index: int, process: int, code: int, pause: float) -> None:
            mark_process_dead(folder, process)
            console(stderr=True).print(f"worker {index} ended with {code}; another begins in {pause:.1f} s")

        arguments = (serving, settings, folder, told)
        supervisor = Supervisor(run_worker, arguments, serving.workers, serving.shutdown_seconds, on_exit)
        try:
            supervisor.run(lambda where: _tell(serving, where, json=json))
        except WorkerFailed as failed:
            raise typer.Exit(max(1, failed.code)) from None


def _tell(serving: ServiceSettings, where: Listening, *, json: bool) -> None:
    http = None if where.http is None else str(where.http)
    if json:
        found = {"grpc": str(where.grpc), "http": http, "workers": serving.workers, "keys": serving.keys_required}
        print(dumps(found), flush=True)  # a line: who waits for it reads no further
        return
    also = "" if http is None else f", health and metrics on http://{http}"
    who = "callers need an API key" if serving.keys_required else "anybody on this machine may call"
    console().print(f"serving {serving.db}: gRPC on {where.grpc}{also}; {who}; Ctrl-C ends it", soft_wrap=True)


def _db(chosen: GlobalOptions) -> Path | None:
    """The file that was named; by default it is the settings' to say."""
    return chosen.db if chosen.explicit or chosen.db != Path("germane.db") else None


def _check_extra() -> None:
    from importlib.util import find_spec

    for package in _NEEDED:
        if find_spec(package) is None:
            raise MissingExtra("serve", package)
