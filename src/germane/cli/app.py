"""App: the command `germane`: its global options, the table of its commands, and what `germane` alone prints.

The table names the module of each command. The module is imported when the command runs; the names and the lines of the
help import nothing.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from shutil import get_terminal_size
from types import MappingProxyType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from germane.cli.options import GlobalOptions
from germane.cli.screen import Exit, console, describe_exit, plain
from germane.errors import InvalidInput, MissingExtra

# The commands of `germane`, with the module and the line of the help of each.


COMMANDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "demo": ("demo:demo", "Show how germane works, on a sample or your own conversation."),
        "remember": ("memories:remember", "Store one memory: a note, a fact, a preference and so on."),
        "record": ("conversations:record", "Store the messages of a conversation."),
        "search": ("search:search", "Search memories and messages."),
        "assemble": ("assemble:assemble", "Print a request's messages with the context for the model."),
        "about": ("search:about", "Print all that is known about a name, what holds now first."),
        "build": ("assemble:build", "Print a whole request: prompt, blocks, tools, history."),
        "compact": ("conversations:compact", "Make a long conversation fit a model's window."),
        "digest": ("search:digest", "Print the memories that matter for a question, as a list."),
        "explain": ("assemble:explain", "Assemble, and print why each candidate went in or was left out."),
        "list": ("show:list_memories", "List the memories."),
        "show": ("show:show", "Print everything of one memory, message or handle."),
        "update": ("memories:update", "Correct a memory."),
        "profile": ("profile:app", "Print what always stands for a user; pin and hide lines."),
        "versions": ("show:versions", "Print what a memory superseded, and what superseded it."),
        "messages": ("conversations:messages", "Print the recorded messages."),
        "sessions": ("conversations:sessions", "List the conversations."),
        "outline": ("conversations:outline", "Print what a conversation was about, line by line."),
        "users": ("store:users", "List the users of the agent."),
        "agents": ("store:agents", "List the agents of the organisation."),
        "orgs": ("store:orgs", "List the organisations of the store."),
        "stats": ("store:stats", "Count what is stored."),
        "feedback": ("memories:feedback", "Mark memories as helpful or harmful."),
        "review": ("review:review", "List memories that contradict each other, and decide."),
        "forget": ("memories:forget", "Erase memories and messages for good."),
        "audit": ("review:audit", "List duplicates, contradictions, secrets, what is unused."),
        "consolidate": ("review:consolidate", "Bring the memories within a storage budget."),
        "directive": ("profile:directive", "Set or print an agent's standing instructions."),
        "ingest": ("documents:ingest", "Store files and folders as documents."),
        "documents": ("documents:documents", "List the documents, or print one."),
        "import": ("transfer:import_files", "Import an export, conversations, or another product's memories."),
        "serve": ("serve:serve", "Run the service: gRPC and HTTP."),
        "proxy": ("proxy:proxy", "Relay model calls to their provider, with memory."),
        "mcp": ("mcp:mcp", "Serve the memory to an MCP client over stdin and stdout."),
        "install": ("install:install", "Give a coding agent this memory: hooks and MCP."),
        "uninstall": ("install:uninstall", "Take germane out of a coding agent's settings."),
        "export": ("transfer:export", "Write all data of an agent, an org or the store as JSON Lines."),
        "backup": ("store:backup", "Copy the store while it is in use."),
        "extract": ("store:extract", "Have a language model read the conversations that wait."),
        "doctor": ("store:doctor", "Check the health of the store, or of a client."),
        "pseudonym": ("serve:pseudonym", "Print the pseudonym of an id in the service's log."),
        "reembed": ("store:reembed", "Compute the missing vectors after a change of embedder."),
        "block": ("block:app", "Make, read, edit and share memory blocks."),
        "event": ("event:app", "Record and list what an agent did."),
        "entity": ("entity:app", "Keep people, places, things, and how they relate."),
        "task": ("task:app", "Keep what an agent is doing as a stack of tasks."),
        "eval": ("germane_eval.cli.eval:app", "Measure recall and latency on labelled conversations."),
        "keys": ("serve:app", "Create, list and revoke the API keys of a served store."),
    }
)
"""Name → where the command is, as `module:function` or `module:group` in `commands/`, and its line in `germane --help`."""

OF_THE_FILE = frozenset(
    [
        "demo",
        "orgs",
        "import",
        "export",
        "backup",
        "doctor",
        "install",
        "uninstall",
        "pseudonym",
        "reembed",
        "serve",
        "proxy",
        "eval",
        "keys",
    ]
)
"""The commands that need the store's file, and so don't run over a server."""

_EPILOG = "The options of all commands, such as --db, --user and --json: germane --help"


class CommandTable(Mapping[str, Any]):
    """The commands by their names, as click's commands. To look one up imports its module; names import nothing."""

    def __getitem__(self, name: str) -> Any:
        place, _ = COMMANDS[name]
        module, _, attribute = place.partition(":")
        try:
            found = getattr(import_module(module if "." in module else f"germane.cli.commands.{module}"), attribute)
        except ModuleNotFoundError as error:
            if error.name != "germane_eval":
                raise
            raise MissingExtra("eval", "germane-eval") from None
        holder = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
        if isinstance(found, typer.Typer):
            for inner in found.registered_commands:
                inner.epilog = _EPILOG
            holder.add_typer(found, name=name)
        else:
            holder.command(name, epilog=_EPILOG)(found)
        return with_readable_values(typer.main.get_group(holder).commands[name])

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def print_commands(formatter: Any) -> None:
    """Write the names of the commands, each with its line, as click's formatter does."""
    with formatter.section("Commands"):
        formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


_WITH_VALUE = (
    "--db",
    "--server",
    "--key-file",
    "--org",
    "--agent",
    "--user",
    "--zone",
    "--embedder",
    "--secrets",
    "--settings",
)
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
        try:
            from germane_eval.cli import eval as eval_group
        except ImportError:
            return False
        return eval_group.owns_option(arguments, option)
    if arguments[:1] == ["keys"]:
        from germane.cli.commands import serve as keys

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
def _global_options(
    context: typer.Context,
    db: Annotated[Path, typer.Option(envvar="GERMANE_DB", help="The database file.")] = Path("germane.db"),
    server: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            envvar="GERMANE_SERVER",
            help="Use the store of this server (germane serve) in place of a file; grpcs://HOST:PORT is with TLS,"
            " http(s)://HOST:PORT over HTTP.",
        ),
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option("--key-file", help="The file with the API key for --server. Default: the key in GERMANE_API_KEY."),
    ] = None,
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
    given = {name for name in context.params if _source(context, name) == "COMMANDLINE"}
    typed = context.meta.get(_TYPED, ())
    server = _chosen_server(context, given)
    if server is not None and context.invoked_subcommand in OF_THE_FILE and not {"-h", "--help"} & set(typed):
        wanted = f"{context.invoked_subcommand} needs the store's file"
        raise InvalidInput(f"{wanted}: run it where the file is, without --server and GERMANE_SERVER")
    context.obj = GlobalOptions(
        db=db,
        explicit="db" in given,
        server=server,
        key_file=key_file,
        org=org,
        agent=agent,
        user=user,
        named=frozenset(given & {"org", "agent", "user"}),
        typed=typed,
        zone=zone,
        embedder=embedder,
        secrets=secrets,
        settings=settings,
        json=json,
    )
    if context.invoked_subcommand is None:
        print_start(context.obj)


def _source(context: typer.Context, name: str) -> str:
    """Where the value of an option comes from: COMMANDLINE, ENVIRONMENT or DEFAULT."""
    return getattr(context.get_parameter_source(name), "name", "")


def _chosen_server(context: typer.Context, given: set[str]) -> str | None:
    """The server, None where the store is a file. An option goes before a variable. Raises `InvalidInput` where both a file and
    a server are named, and for options that only the process of the store can use."""
    server: str | None = context.params["server"]
    if not server or ("db" in given and "server" not in given):
        if "key_file" in given:
            raise InvalidInput("--key-file is for a server: name it with --server")
        return None
    if {"db", "server"} <= given:
        raise InvalidInput("--db is a file and --server a service that has one: give one of the two")
    if "server" not in given and _source(context, "db") == "ENVIRONMENT":
        raise InvalidInput("GERMANE_DB and GERMANE_SERVER are both set: give --db or --server")
    if own := sorted(given & {"embedder", "secrets", "settings"}):
        raise InvalidInput(f"--{own[0]} belongs to the process that has the store: leave it out with --server")
    return server


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


# What `germane` alone prints: what it is for, what to type first, and what is in the store.


_FIRST = (
    ("germane demo", "see how it works, on a sample"),
    ("germane import FILE", "bring in conversations"),
    ('germane remember "Likes tea" --user anna', "store a memory"),
    ('germane search "tea" --user anna', "look for something"),
    ('germane assemble --query "Tea or coffee?" --user anna', "what a model would get"),
    ("germane list --user anna", "look through the memories"),
    ("germane serve", "run the service"),
)


def print_start(options: GlobalOptions) -> None:
    """Print the start page. Opens no store."""
    screen = console()
    screen.print("germane keeps the conversations and memories of LLM agents, and gives each request what it needs of them.\n")
    width = max(len(command) for command, _ in _FIRST)
    for command, what in _FIRST:
        if width + len(what) + 4 <= screen.width:
            screen.print(f"  {command:<{width}}  {what}")
        else:
            screen.print(f"  {command}", soft_wrap=True)
            screen.print(f"    {what}")
    there = options.server is not None or options.db.is_file()
    stored = f"The store is {options.server or options.db}: germane stats tells what is in it."
    screen.print(f"\n{stored}" if there else f"\nThere is no store at {options.db} yet.")
    screen.print("germane -h lists all commands, germane COMMAND -h explains one.")


# Readable names for the values of options, in the help of every command.


_NAMES = (("int", "N"), ("float", "NUMBER"), ("path", "PATH"), ("file", "PATH"))
"""Parts of the names of types, and the name of the value in the help."""


def with_readable_values(command: Any) -> Any:
    """Returns `command`, a click command, whose options show TEXT, N, NUMBER or PATH in place of a type such as `<int range>`;
    names that an option gives itself stay. The same for its commands, at any depth."""
    for parameter in command.params:
        if getattr(parameter, "param_type_name", "") == "argument":
            parameter.display_type_rich = _nothing
        elif not getattr(parameter, "is_flag", False) and parameter.metavar is None:
            parameter.metavar = _value_name(parameter)
    for inner in getattr(command, "commands", {}).values():
        with_readable_values(inner)
    return command


def _nothing(*_: object, **__: object) -> str:
    """An argument's name says what it is."""
    return ""


def _value_name(parameter: Any) -> str:
    descriptor = getattr(parameter, "type_descriptor", None)
    kind = f"{getattr(descriptor, 'annotation', '')} {getattr(getattr(parameter, 'type', None), 'name', '')}".lower()
    return next((name for part, name in _NAMES if part in kind), "TEXT")
