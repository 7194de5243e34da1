"""App: the commands and the options that all of them share. Nothing heavy is imported until a command runs."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from germane.cli import (
    assemble,
    backup,
    demo,
    directive,
    doctor,
    evaluating,
    exporting,
    feedback,
    fitting,
    forget,
    importing,
    keys,
    labelling,
    pseudonym,
    record,
    remember,
    search,
    serving,
)
from germane.cli.exits import Exit, told
from germane.cli.global_options import GlobalOptions
from germane.cli.screen import plain

__all__ = ["app", "hoist", "run"]

_VALUED = ("--db", "--org", "--agent", "--user", "--zone", "--embedder", "--settings")
_SHARED = (*_VALUED, "--json")
_CODES = "Exit codes: 0 done, 1 failed, 2 usage or bad input, 3 the store can't be used, 130 interrupted, 141 broken pipe."


def hoist(arguments: Sequence[str]) -> list[str]:
    """The same arguments with the shared options in front, wherever they stood: `search x --json` is `--json search x`.
    What follows a bare `--` stays where it is."""
    front: list[str] = []
    rest: list[str] = []
    waiting = iter(arguments)
    for argument in waiting:
        name, equals, _ = argument.partition("=")
        if argument == "--":
            rest += [argument, *waiting]
        elif name in _SHARED and not (evaluating.own(rest, name) or keys.own(rest, name)):
            front.append(argument)
            front += [value for value in [next(waiting, None)] if value is not None] if name in _VALUED and not equals else []
        else:
            rest.append(argument)
    return front + rest


class _Commands(TyperGroup):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, hoist(args))

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise typer.Exit(Exit.PIPE) from None


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"germane {version('germane')}")
        raise typer.Exit(Exit.DONE)


app = typer.Typer(
    cls=_Commands,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog=_CODES,
)


@app.callback()
def shared(
    context: typer.Context,
    db: Annotated[Path, typer.Option(envvar="GERMANE_DB", help="The database file.")] = Path("germane.db"),
    org: Annotated[str, typer.Option(help="Whose agent it is.")] = "default",
    agent: Annotated[str, typer.Option(help="The agent whose memory it is.")] = "default",
    user: Annotated[str | None, typer.Option(help="The user it is about; without one, what is agent-wide.")] = None,
    zone: Annotated[str, typer.Option(help="Time zone of times without one.")] = "UTC",
    embedder: Annotated[str | None, typer.Option(help="static, minilm or openai:<model>; as set, or static.")] = None,
    settings: Annotated[Path | None, typer.Option(envvar="GERMANE_SETTINGS", help="A TOML file of settings.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document for programs instead of tables.")] = False,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    """Give a model what it needs to know: keep conversations and memories, and assemble context within a token budget.

    The options of this page may stand before or after the command."""
    source = context.get_parameter_source("db")
    context.obj = GlobalOptions(
        db=db,
        explicit=getattr(source, "name", "") == "COMMANDLINE",
        org=org,
        agent=agent,
        user=user,
        zone=zone,
        embedder=embedder,
        settings=settings,
        json=json,
    )


app.command("demo", short_help="The whole way in one command, on a sample or a file of yours.")(demo.demo)
app.command("remember", short_help="Keep a memory: a note, a fact, a preference …")(remember.remember)
app.command("record", short_help="Keep the messages of a session, word for word.")(record.record)
app.command("search", short_help="Search memories and messages.")(search.search)
app.command("assemble", short_help="Print messages enriched with what the model needs to know.")(assemble.assemble)
app.command("explain", short_help="The same, with the reasons for each candidate.")(assemble.explain)
app.command("feedback", short_help="Mark memories as helpful or harmful.")(feedback.feedback)
app.command("forget", short_help="Remove memories and messages for good.")(forget.forget)
app.command("directive", short_help="Set or show the standing instructions.")(directive.directive)
app.command("import", short_help="Bring in conversations from files.")(importing.bring)
evaluating.app.command("fit", short_help="Fit the relevance model to labelled conversations.")(fitting.fit)
evaluating.app.command("label", short_help="Mark what of an assembly helped, for eval fit --feedback.")(labelling.label)
app.add_typer(evaluating.app, name="eval", short_help="Measure how good and how fast it is on labelled conversations.")
app.command("serve", short_help="Serve it over gRPC, with health and metrics.")(serving.serve)
app.command("export", short_help="Write everything of an agent as JSON Lines.")(exporting.export)
app.command("backup", short_help="Copy the store while it is in use.")(backup.backup)
app.command("doctor", short_help="Check that the store is well.")(doctor.doctor)
app.add_typer(keys.app, name="keys", short_help="Make, list and revoke the API keys of a served store.")
app.command("pseudonym", short_help="Show how an org's or agent's id stands in the service's log.")(pseudonym.pseudonym)
app.command("reembed", short_help="Make vectors anew after a change of embedder.")(doctor.reembed)


def run(argv: Sequence[str] | None = None) -> int:
    """Run the command; every ending is an exit code, and at most one line on stderr."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    code, line = _run(arguments)
    if line:
        print(f"germane: {plain(line)}", file=sys.stderr)
    return _flushed(code)


def _run(arguments: list[str]) -> tuple[int, str]:
    try:
        result = app(arguments, prog_name="germane", standalone_mode=False)
    except typer.Abort:
        return Exit.INTERRUPTED, "interrupted"
    except SystemExit as leaving:
        return Exit.DONE if not leaving.code else Exit.PIPE, ""  # outside standalone mode typer leaves for nothing else
    except BaseException as error:
        if callable(usage := getattr(error, "format_message", None)):  # a usage error, of whichever click typer carries
            return Exit.USAGE, f"{' '.join(str(usage()).split())} (germane --help tells more)"
        return told(error)
    code = result if isinstance(result, int) else Exit.DONE
    return code, "interrupted" if code == Exit.INTERRUPTED else ""


def _flushed(code: int) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.PIPE
    except OSError as error:
        return _reported(error)
    return code


def _reported(error: OSError) -> int:
    code, line = told(error)
    print(f"germane: {plain(line)}", file=sys.stderr)
    return code
