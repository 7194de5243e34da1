"""`germane proxy`: relays model calls from this machine to their provider, with memory."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Annotated

import typer

from germane.cli.commands.serve import named_db, run_service, serving_of
from germane.cli.options import options_of
from germane.cli.screen import console, plain

if TYPE_CHECKING:
    from germane.service.worker import Listening
    from germane.settings.serving import ServiceSettings

_HOST = "127.0.0.1"
_VARIABLES = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL"}
"""The variables in which the providers' own libraries look for another base URL."""


def proxy(
    context: typer.Context,
    upstream: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=URL]",
            help="The LLM provider to relay model calls to (may be repeated): one known by name, or mine=http://127.0.0.1:8000."
            "  [default: openai, anthropic]",
        ),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port on this machine; 0 takes a free one.")] = 7412,
) -> None:
    """Relay model calls from this machine to their provider, and give them memory. Your program changes its base URL, no more.

    \b
      germane proxy --upstream openai
      OPENAI_BASE_URL=http://127.0.0.1:7412/proxy/openai/v1 python my_agent.py

    Calls go on as they came where anything is wrong. A service for others does the same: germane serve --upstream. The document
    proxy.md has headers and paths that name agent, user and session. A missing database is created.
    """
    options = options_of(context)
    given = {
        "grpc": f"{_HOST}:0",
        "http": f"{_HOST}:{port}",
        "db": named_db(options),
        "upstreams": upstream or list(_VARIABLES),
        "workers": 1,
        "log_format": "console",
        "log_level": "warning",
    }
    serving, settings = serving_of(options, given)
    run_service(serving, settings, lambda where: _announce(serving, where, json=options.json))


def _announce(serving: ServiceSettings, where: Listening, *, json: bool) -> None:
    """Print the base URL of each upstream once the service listens."""
    urls = {name: base_url(name, f"http://{where.http}") for name in serving.upstreams or ()}
    if json:
        print(dumps({"http": str(where.http), "upstreams": urls}), flush=True)
        return
    screen = console()
    screen.print(plain(f"memory in {serving.db}; give your programs one of these base URLs; Ctrl-C ends it"), soft_wrap=True)
    for name, url in urls.items():
        setting = f"export {_VARIABLES[name]}={url}" if name in _VARIABLES else f"{name}: {url}"
        screen.print(plain(f"  {setting}"), soft_wrap=True)


def base_url(name: str, address: str) -> str:
    """Returns the base URL of an upstream as the libraries of its provider take it: Anthropic's add `/v1` themselves."""
    return f"{address}/proxy/{name}" + ("" if name == "anthropic" else "/v1")
