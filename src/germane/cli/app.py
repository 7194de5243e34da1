"""App: the command `germane` with its global options. A command's module is imported when the command runs."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from shutil import get_terminal_size
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from germane.cli.command_table import CommandTable, print_commands
from germane.cli.exits import Exit, describe_exit
from germane.cli.global_options import GlobalOptions
from germane.cli.help_texts import with_readable_values
from germane.cli.screen import plain
from germane.cli.start import print_start

__all__ = ["app", "hoist", "run"]

_WITH_VALUE = ("--db", "--org", "--agent", "--user", "--zone", "--embedder", "--secrets", "--settings")
_GLOBAL = (*_WITH_VALUE, "--json")
_SCOPE = ("--org", "--agent", "--user")
_TYPED = "germane.typed"
"""Where click's context keeps what was typed."""
_HELP_WIDTH = 52
"""Columns below which typer would write help that is wider than the terminal."""
_EXIT_CODES = (
    "Exit codes: 0 done, 1 failed, 2 wrong usage or bad input, 3 the store can't be used, 130 interrupted, 141 broken pipe."
)


def hoist(arguments: Sequence[str]) -> list[str]:
    """Move the global options to the front, so that they may follow the command: `search x --json` becomes `--json search x`.

    Options that a command defines itself stay in place, and so does everything after a bare `--`."""
    front, rest = _divided(arguments)
    return [word for option in front for word in option] + rest


def _divided(arguments: Sequence[str]) -> tuple[list[list[str]], list[str]]:
    """The global options, each with its value, and all other words."""
    front: list[list[str]] = []
    rest: list[str] = []
    remaining = iter(arguments)
    for argument in remaining:
        name, equals, _ = argument.partition("=")
        if argument == "--":
            rest += [argument, *remaining]
        elif name in _GLOBAL and not _owned(rest, name):
            valued = name in _WITH_VALUE and not equals
            front.append([argument, *islice(remaining, 1)] if valued else [argument])
        else:
            rest.append(argument)
    return front, rest


def _owned(arguments: list[str], option: str) -> bool:
    """Whether the command that `arguments` begin with has an option of its own of the same name."""
    if arguments[:1] == ["eval"]:
        from germane.cli.commands import eval as eval_group

        return eval_group.owns_option(arguments, option)
    if arguments[:1] == ["keys"]:
        from germane.cli.commands import keys

        return keys.owns_option(arguments, option)
    return False


class _Commands(TyperGroup):
    """The top-level group: accepts global options anywhere and turns a broken pipe into its exit code."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        print_commands(formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        front, rest = _divided(args)
        kept = (option for option in front if option[0].partition("=")[0] not in _SCOPE)
        ctx.meta[_TYPED] = (*rest, *(word for option in kept for word in option))
        return super().parse_args(ctx, hoist(args))

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise typer.Exit(Exit.PIPE) from None


def _print_version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        print(f"germane {version('germane')}")
        raise typer.Exit(Exit.DONE)


app = typer.Typer(
    cls=_Commands,
    add_completion=False,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog=_EXIT_CODES,
)


@app.callback()
def global_options(
    context: typer.Context,
    db: Annotated[Path, typer.Option(envvar="GERMANE_DB", help="The database file.")] = Path("germane.db"),
    org: Annotated[str, typer.Option(help="The organisation that the agent belongs to.")] = "default",
    agent: Annotated[str, typer.Option(help="The agent whose memory is read or written.")] = "default",
    user: Annotated[
        str | None, typer.Option(help="The user that the memory is about. Without it: only what all users share.")
    ] = None,
    zone: Annotated[str, typer.Option(help="The time zone of times that name none.")] = "UTC",
    embedder: Annotated[
        str | None,
        typer.Option(help="The embedding model: distilled, minilm, static or openai:<model>. Default: as set, else distilled."),
    ] = None,
    secrets: Annotated[
        str | None,
        typer.Option(
            help="What happens to secrets in what is stored: redact, tag, refuse or off. Default: as set, else redact."
        ),
    ] = None,
    settings: Annotated[
        Path | None, typer.Option(envvar="GERMANE_SETTINGS", help="A TOML file with settings, or an agent.yml.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """germane keeps the conversations and memories of LLM agents and assembles the context of a request from them, within a
    token budget. Begin with: germane demo

    The options below may stand before or after the command."""
    given = {
        name
        for name in ("db", "org", "agent", "user")
        if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"
    }
    context.obj = GlobalOptions(
        db=db,
        explicit="db" in given,
        org=org,
        agent=agent,
        user=user,
        named=frozenset(given - {"db"}),
        typed=context.meta.get(_TYPED, ()),
        zone=zone,
        embedder=embedder,
        secrets=secrets,
        settings=settings,
        json=json,
    )
    if context.invoked_subcommand is None:
        print_start(db)


def run(argv: Sequence[str] | None = None) -> int:
    """Run the command. Returns the exit code and prints at most one line of error to stderr."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    code, line = _run(arguments)
    if line:
        print(f"germane: {plain(line)}", file=sys.stderr)
    return _flush(code)


def _run(arguments: list[str]) -> tuple[int, str]:
    try:
        command = with_readable_values(typer.main.get_command(app))
        command.commands = CommandTable()
        narrow = {"terminal_width": width} if (width := get_terminal_size((100, 24)).columns) < _HELP_WIDTH else {}
        result = command(arguments, prog_name="germane", standalone_mode=False, **narrow)
    except typer.Abort:
        return Exit.INTERRUPTED, "interrupted"
    except SystemExit as error:
        # Outside standalone mode typer calls exit() for a broken pipe only.
        return Exit.DONE if not error.code else Exit.PIPE, ""
    except BaseException as error:
        # A usage error is recognised by its method: typer may carry its own copy of click.
        if callable(usage := getattr(error, "format_message", None)):
            return Exit.USAGE, f"{' '.join(str(usage()).split())} (germane --help tells more)"
        return describe_exit(error)
    code = result if isinstance(result, int) else Exit.DONE
    return code, "interrupted" if code == Exit.INTERRUPTED else ""


def _flush(code: int) -> int:
    """Flush stdout. Returns `code`, or the exit code of the error that flushing raised."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.PIPE
    except OSError as error:
        failed, line = describe_exit(error)
        print(f"germane: {plain(line)}", file=sys.stderr)
        return failed
    return code
