"""`germane install` and `uninstall`: bring germane into a coding agent's settings, and take it out again."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from germane.cli.options import options_of
from germane.cli.screen import console, plain, print_done
from germane.errors import InvalidInput, MissingExtra
from germane.types.checks import check_one_of

if TYPE_CHECKING:
    from germane.service.clients.entries import CodingAgent, Where
    from germane.service.clients.install import Plan
    from germane.stores.contract import Checkup

_NEEDED = {"mcp": ("mcp",), "serve": ("grpc", "orjson", "starlette", "structlog", "uvicorn")}
"""The extras of the local service, with the packages that each brings."""

Client = Annotated[
    str, typer.Argument(metavar="CLIENT", help="The coding agent: claude-code, codex, cursor, vscode or gemini.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Make the change without asking.")]


def install(
    context: typer.Context,
    client: Client,
    yes: Yes = False,
    hooks: Annotated[
        Literal["http", "command"] | None,
        typer.Option(
            help="How the hooks of Claude Code reach the local service: http is quicker and puts the service's key into the"
            " settings. Default: http where only you can read them."
        ),
    ] = None,
) -> None:
    """Give a coding agent this memory: what is known comes in with each prompt, and what was said is recorded.

    The change of the agent's settings is shown first, and made when you agree. All agents share one local service, which starts
    when it is needed, and one database. Each project has a memory of its own. Running it again changes nothing.
    """
    from germane.service.clients.changes import ChangeRecord
    from germane.service.clients.install import plan_install
    from germane.service.hooks.events import CLIENTS, note_home
    from germane.service.local.caller import Unreachable, data_folder
    from germane.service.local.main import started

    agent, where, folder = _agent(client), _where(), data_folder(os.environ)
    _check_extras()
    try:
        state = started(folder)
    except Unreachable as error:
        raise InvalidInput(str(error)) from None
    plan = plan_install(agent, where, state, hooks)
    done = _made(plan, yes=yes, as_json=options_of(context).json)
    if done:
        ChangeRecord(Path(folder), agent.name).keep([one for one in plan.changes if not one.is_none])
        if agent.name in CLIENTS and (variable := CLIENTS[agent.name].variable):
            note_home(Path(folder), agent.name, where.folder(variable, CLIENTS[agent.name].home))
    changed = [str(one.path) for one in plan.changes if not one.is_none]
    line = f"{agent.title} has germane's memory now: {agent.after}. germane doctor --client {agent.name} tries it."
    if not changed:
        line = f"{agent.title} has it already: nothing was changed. germane doctor --client {agent.name} tries it."
    told = {"client": agent.name, "changed": changed if done else [], "hooks": plan.kind, "remarks": list(plan.remarks)}
    print_done(options_of(context).json, told, line if done else "nothing was changed")


def uninstall(context: typer.Context, client: Client, yes: Yes = False) -> None:
    """Take germane out of a coding agent's settings. A file that nobody has changed since is as it was, to the byte. What is
    remembered stays."""
    from germane.service.clients.changes import ChangeRecord
    from germane.service.clients.install import plan_uninstall
    from germane.service.local.caller import data_folder

    agent, where = _agent(client), _where()
    record = ChangeRecord(Path(data_folder(os.environ)), agent.name)
    plan = plan_uninstall(agent, where, record)
    changed = [str(one.path) for one in plan.changes if not one.is_none]
    done = _made(plan, yes=yes, as_json=options_of(context).json)
    if done:
        record.drop()
    told = {"client": agent.name, "changed": changed if done else [], "remarks": list(plan.remarks)}
    line = f"germane is out of {agent.title}'s settings." if changed else f"{agent.title}'s settings have nothing of germane's."
    print_done(options_of(context).json, told, line if done else "nothing was changed")


def check_client(name: str) -> Checkup:
    """Returns the findings of `germane doctor --client`."""
    from germane.service.clients.checkup import check_up
    from germane.service.local.caller import data_folder
    from germane.stores.contract import Checkup

    agent = _agent(name)
    _check_extras()
    return Checkup(findings=tuple(check_up(agent, _where(), Path(data_folder(os.environ)))))


def _agent(name: str) -> CodingAgent:
    from germane.service.clients.entries import AGENTS

    return AGENTS[check_one_of("client", name, AGENTS)]


def _where() -> Where:
    from germane.service.clients.entries import Where
    from germane.service.hooks.projects import project_of

    return Where(home=Path.home(), project=project_of(str(Path.cwd())).root, environment=os.environ)


def _check_extras() -> None:
    for extra, packages in _NEEDED.items():
        for package in packages:
            if find_spec(package) is None:
                raise MissingExtra(extra, package)


def _made(plan: Plan, *, yes: bool, as_json: bool) -> bool:
    """Shows the changes, asks, and makes them. Returns whether they are made; also where there are none."""
    changes = [one for one in plan.changes if not one.is_none]
    screen = console(stderr=as_json)
    for change in changes:
        for line in change.shown().splitlines():
            style = "green" if line.startswith("+") else "red" if line.startswith("-") else ""
            screen.print(plain(line), style=style, soft_wrap=True)
    for remark in plan.remarks:
        screen.print(plain(remark), soft_wrap=True)
    if changes and not yes:
        if sys.stdin is None or not sys.stdin.isatty():
            raise InvalidInput("nobody can be asked here: give --yes to make this change")
        if not typer.confirm("Make this change?", err=True):
            return False
    for change in changes:
        change.make()
    return True
