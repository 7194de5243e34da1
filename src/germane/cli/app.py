"""App: registers the commands and defines the global options; a command imports its heavy parts when it runs."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from shutil import get_terminal_size
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from germane.cli.commands import (
    about,
    assemble,
    audit,
    backup,
    block,
    build,
    compact,
    consolidate,
    demo,
    digest,
    directive,
    doctor,
    documents,
    entity,
    eval_fit,
    eval_label,
    event,
    explain,
    export,
    extract,
    feedback,
    forget,
    history,
    import_files,
    ingest,
    keys,
    list_memories,
    messages,
    outline,
    pseudonym,
    record,
    reembed,
    remember,
    review,
    search,
    serve,
    show,
    stats,
    task,
    update,
    users,
)
from germane.cli.commands import eval as eval_group
from germane.cli.exits import Exit, describe_exit
from germane.cli.global_options import GlobalOptions
from germane.cli.help_texts import with_readable_values
from germane.cli.screen import plain
from germane.cli.start import print_start

__all__ = ["app", "hoist", "run"]

_WITH_VALUE = ("--db", "--org", "--agent", "--user", "--zone", "--embedder", "--secrets", "--settings")
_GLOBAL = (*_WITH_VALUE, "--json")
_HELP_WIDTH = 52
"""Columns below which typer would write help that is wider than the terminal."""
_EXIT_CODES = (
    "Exit codes: 0 done, 1 failed, 2 wrong usage or bad input, 3 the store can't be used, 130 interrupted, 141 broken pipe."
)


def hoist(arguments: Sequence[str]) -> list[str]:
    """Move the global options to the front, so that they may follow the command: `search x --json` becomes `--json search x`.

    Options that a command defines itself stay in place, and so does everything after a bare `--`."""
    front: list[str] = []
    rest: list[str] = []
    remaining = iter(arguments)
    for argument in remaining:
        name, equals, _ = argument.partition("=")
        if argument == "--":
            rest += [argument, *remaining]
        elif name in _GLOBAL and not (eval_group.owns_option(rest, name) or keys.owns_option(rest, name)):
            front.append(argument)
            if name in _WITH_VALUE and not equals and (value := next(remaining, None)) is not None:
                front.append(value)
        else:
            rest.append(argument)
    return front + rest


class _Commands(TyperGroup):
    """The top-level group: accepts global options anywhere and turns a broken pipe into its exit code."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
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
        zone=zone,
        embedder=embedder,
        secrets=secrets,
        settings=settings,
        json=json,
    )
    if context.invoked_subcommand is None:
        print_start(db)


app.command("demo", short_help="Show how germane works, on a sample or your own conversation.")(demo.demo)
app.command("remember", short_help="Store one memory: a note, a fact, a preference and so on.")(remember.remember)
app.command("record", short_help="Store the messages of a conversation.")(record.record)
app.command("search", short_help="Search memories and messages.")(search.search)
app.command("assemble", short_help="Print a request's messages with the context for the model.")(assemble.assemble)
app.command("about", short_help="Print all that is known about a name, what holds now first.")(about.about)
app.command("build", short_help="Print a whole request: prompt, blocks, tools, history.")(build.build)
app.command("compact", short_help="Make a long conversation fit a model's window.")(compact.compact)
app.command("digest", short_help="Print the memories that matter for a question, as a list.")(digest.digest)
app.command("explain", short_help="Assemble, and print why each candidate went in or was left out.")(explain.explain)
app.command("list", short_help="List the memories.")(list_memories.list_memories)
app.command("show", short_help="Print everything of one memory, message or handle.")(show.show)
app.command("update", short_help="Correct a memory.")(update.update)
app.command("history", short_help="Print what a memory superseded, and what superseded it.")(history.history)
app.command("messages", short_help="Print the recorded messages.")(messages.messages)
app.command("sessions", short_help="List the conversations.")(messages.sessions)
app.command("outline", short_help="Print what a conversation was about, line by line.")(outline.outline)
app.command("users", short_help="List the users of the agent.")(users.users)
app.command("agents", short_help="List the agents of the organisation.")(users.agents)
app.command("stats", short_help="Count what is stored.")(stats.stats)
app.command("feedback", short_help="Mark memories as helpful or harmful.")(feedback.feedback)
app.command("review", short_help="List memories that contradict each other, and decide.")(review.review)
app.command("forget", short_help="Erase memories and messages for good.")(forget.forget)
app.command("audit", short_help="List duplicates, contradictions, secrets, what is unused.")(audit.audit)
app.command("consolidate", short_help="Bring the memories within a storage budget.")(consolidate.consolidate)
app.add_typer(block.app, name="block", short_help="Make, read, edit and share memory blocks.")
app.add_typer(event.app, name="event", short_help="Record and list what an agent did.")
app.add_typer(entity.app, name="entity", short_help="Keep people, places, things, and how they relate.")
app.add_typer(task.app, name="task", short_help="Keep what an agent is doing as a stack of tasks.")
app.command("directive", short_help="Set or print an agent's standing instructions.")(directive.directive)
app.command("ingest", short_help="Store files and folders as documents.")(ingest.ingest)
app.command("documents", short_help="List the documents, or print one.")(documents.documents)
app.command("import", short_help="Import an export, conversations, or another product's memories.")(import_files.import_files)
eval_group.app.command("fit", short_help="Fit the relevance model to labelled conversations or feedback.")(eval_fit.fit)
eval_group.app.command("label", short_help="Mark which items of an assembly helped, for eval fit --feedback.")(eval_label.label)
app.add_typer(eval_group.app, name="eval", short_help="Measure recall and latency on labelled conversations.")
app.command("serve", short_help="Run the service: gRPC, with health and metrics over HTTP.")(serve.serve)
app.command("export", short_help="Write all data of an agent, an org or the store as JSON Lines.")(export.export)
app.command("backup", short_help="Copy the store while it is in use.")(backup.backup)
app.command("extract", short_help="Have a language model read the conversations that wait.")(extract.extract)
app.command("doctor", short_help="Check the health of the store.")(doctor.doctor)
app.add_typer(keys.app, name="keys", short_help="Create, list and revoke the API keys of a served store.")
app.command("pseudonym", short_help="Print the pseudonym of an id in the service's log.")(pseudonym.pseudonym)
app.command("reembed", short_help="Compute the missing vectors after a change of embedder.")(reembed.reembed)

for _command in (
    *app.registered_commands,
    *eval_group.app.registered_commands,
    *keys.app.registered_commands,
    *block.app.registered_commands,
    *event.app.registered_commands,
    *entity.app.registered_commands,
    *task.app.registered_commands,
):
    _command.epilog = "The options of all commands, such as --db, --user and --json: germane --help"


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
