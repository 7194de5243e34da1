"""`germane import` and `germane export`: restore and write exports; import the files of other products.

`import` restores exports, and imports conversations and memories from files of other products. `export` writes all data of
an agent, an org or the store as JSON Lines.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from germane.cli.files import owner_only
from germane.cli.imports import FORMATS
from germane.cli.imports.load import ExportFile, Loaded, load
from germane.cli.imports.store_rows import ImportTally, Preview, preview, store_rows
from germane.cli.options import GlobalOptions, options_of, run_async
from germane.cli.screen import console, plain, print_json, printable_json, progress, secrets_line
from germane.errors import InvalidInput
from germane.types.checks import check_one_of

if TYPE_CHECKING:
    from rich.console import Console

    from germane.api.germane import Germane
    from germane.api.verbs.transfer import Exported, Restored
    from germane.integrations.memory_tool.folders import BroughtIn, WrittenFolder


_MAX_REASONS = 5
_MARKDOWN = ("instructions", "notes")


def import_files(
    context: typer.Context,
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Files, zip archives or folders to import; - is standard input.")
    ],
    format: Annotated[
        str, typer.Option(help=f"The format of the files: {', '.join(FORMATS)}, or auto to recognise it by the content.")
    ] = "auto",
    session: Annotated[
        str | None, typer.Option(help="The id of the conversation for messages that name none. Default: the file's name.")
    ] = None,
    read_as: Annotated[
        str,
        typer.Option(
            "--as",
            metavar="memory|directive|blocks",
            help="What AGENTS.md or CLAUDE.md becomes: memories, or the directive; blocks: each file of a folder becomes one.",
        ),
    ] = "memory",
    layout: Annotated[
        str | None,
        typer.Option(metavar="anthropic|letta", help="With --as blocks: plain files (default), or Letta's with front matter."),
    ] = None,
    into: Annotated[
        bool, typer.Option("--into", help="Let an export go into the scope that --org, --agent and --user name.")
    ] = False,
    skip_conflicts: Annotated[
        bool, typer.Option("--skip-conflicts", help="Skip lines of an export in whose place something else is stored.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read the files and say what would be stored.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Take the Markdown files of a folder without asking.")] = False,
) -> None:
    """Restore what germane export wrote, or import conversations and memories: ChatGPT's and Claude's exports as they come,
    transcripts of Claude Code and Codex, JSON Lines of messages, memories of mem0, Letta's agent files, memory folders,
    AGENTS.md, LoCoMo files.

    Idempotent: importing a file again adds nothing, and completes what was interrupted. An export goes where it came from. Rows
    of other files that can't be used are skipped and counted. A folder of Markdown files is shown first, and taken when you
    agree."""
    options = options_of(context)
    check_one_of("--format", format, ("auto", *FORMATS))
    check_one_of("--as", read_as, ("memory", "directive", "blocks"))
    if layout is not None and read_as != "blocks":
        raise InvalidInput("--layout is for memory files that become blocks: add --as blocks, or leave it out")
    if read_as == "blocks" and dry_run:
        raise InvalidInput("--dry-run is for conversations and memories: leave it out with --as blocks")
    if read_as == "blocks":
        import_blocks(options, files, layout or "anthropic")
        return
    with ExitStack() as open_files:
        loaded = list[Loaded]()
        for file in files:
            loaded.append(one := load(file, session, format, directive=read_as == "directive"))
            if isinstance(one, ExportFile):
                open_files.callback(one.close)
        if dry_run:
            _print_previews(options, files, loaded)
            return
        for file, one in zip(files, loaded, strict=True):
            if isinstance(one, tuple) and one[0] in _MARKDOWN and format == "auto" and not yes and Path(file).is_dir():
                _confirm(file, preview(*one))
        tallies = run_async(_import_rows(options, files, loaded, into, skip_conflicts))
    if options.json:
        print_json({"files": [_import_shape(file, tally) for file, tally in zip(files, tallies, strict=True)]})
    for file, tally in zip(files, tallies, strict=True):
        if not options.json:
            console().print(_summary(file, tally))
        for reason in tally.broken[:_MAX_REASONS]:
            console(stderr=True).print(f"  skipped {plain(reason, 200)}")
        if len(tally.broken) > _MAX_REASONS:
            console(stderr=True).print(f"  … and {len(tally.broken) - _MAX_REASONS} more")
    if all(tally.empty for tally in tallies):
        raise InvalidInput("nothing in it could be used" if loaded else "no file given")


def _print_previews(options: GlobalOptions, files: list[str], loaded: list[Loaded]) -> None:
    shapes = list[dict[str, Any]]()
    for file, one in zip(files, loaded, strict=True):
        if isinstance(one, ExportFile):
            shapes.append({"file": file, "format": "germane", "lines": one.total, "scope": str(one.reach)})
            if not options.json:
                console().print(f"{plain(file, 300)} (germane): {one.total} lines, into {plain(str(one.reach), 300)}")
            continue
        found = preview(*one)
        shapes.append(_import_shape(file, found.tally) | {"sessions": found.sessions, "files": dict(found.files)})
        if not options.json:
            _print_preview(file, found, console())
    if options.json:
        print_json({"files": shapes, "dry_run": True})
    else:
        console().print("nothing was stored (--dry-run)")


def _print_preview(file: str, found: Preview, screen: Console) -> None:
    sessions = f", in {found.sessions} sessions" if found.sessions > 1 else ""
    first, *more = _summary(file, found.tally).split("\n")
    for line in (f"{first}{sessions}", *more, *(f"  {plain(line, 200)}" for line in found.lines())):
        screen.print(line)
    for reason in found.tally.broken[:_MAX_REASONS]:
        screen.print(f"  can't be used: {plain(reason, 200)}")


def _confirm(file: str, found: Preview) -> None:
    """Asks before a folder's Markdown files are taken: not every README is something to remember."""
    counts = f"{found.tally.memories} sections of {len(found.files)} Markdown files"
    if not _asks():
        raise InvalidInput(
            f"{file} would give {counts} as memories, and stdin isn't a terminal to agree at: look at them with --dry-run, "
            "then pass --yes, or name the files to import"
        )
    _print_preview(file, found, console(stderr=True))
    if not typer.confirm(f"Store {counts} as memories?", err=True):
        raise InvalidInput("nothing was stored: name the files to import")


def _asks() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


async def _import_rows(
    options: GlobalOptions, files: list[str], loaded: list[Loaded], into: bool, skip_conflicts: bool
) -> list[ImportTally]:
    exports = [one for one in loaded if isinstance(one, ExportFile)]
    targets = {id(export): export.target(options, into) for export in exports}
    if into and not exports:
        raise InvalidInput("--into is for what germane export wrote: other files go into the scope of the options anyway")
    tallies = []
    async with options.open_store(create=True) as (germane, agent):
        with progress(options.json) as bar:
            sizes = [_size(one) for one in loaded]
            total = None if None in sizes else sum(size for size in sizes if size is not None)
            task = bar.add_task("importing", total=total)
            for file, one in zip(files, loaded, strict=True):
                if isinstance(one, ExportFile):
                    try:
                        restored = await one.restore(
                            germane, targets[id(one)], skip_conflicts=skip_conflicts, advance=partial(bar.advance, task)
                        )
                    except InvalidInput as error:
                        raise InvalidInput(f"{'standard input' if file == '-' else file}: {error}") from None
                    tallies.append(_tally(restored))
                    continue
                tallies.append(tally := ImportTally(format=one[0]))
                await store_rows(
                    one[1],
                    agent,
                    options.agent_wide(germane),
                    lambda user: agent if options.user else germane.agent(options.agent, org=options.org, user=user),
                    tally,
                    partial(bar.advance, task),
                )
    return tallies


def _tally(restored: Restored) -> ImportTally:
    return ImportTally(
        format="germane",
        messages=restored.messages,
        known_things=restored.known,
        memories=restored.memories,
        directives=restored.directives,
        contradictions=restored.contradictions,
        graph=restored.entities + restored.relations + restored.patterns,
        tombstones=restored.tombstones,
        forgotten=restored.forgotten,
        broken=[f"line {number}: something else is stored in its place" for number in restored.conflicts],
    )


def _import_shape(file: str, tally: ImportTally) -> dict[str, Any]:
    return {
        "file": file,
        "format": tally.format,
        "messages": tally.messages,
        "already_there": tally.known,
        "memories": tally.memories,
        "directives": tally.directives,
        "documents": tally.documents,
        "secrets": dict(tally.secrets),
        "left_out": dict(tally.left_out),
        "taken_along": dict(tally.taken_along),
        "contradictions": tally.contradictions,
        "entities_relations_patterns": tally.graph,
        "tombstones": tally.tombstones,
        "forgotten": tally.forgotten,
        "broken": len(tally.broken),
        "reasons": tally.broken[:_MAX_REASONS],
    }


def _summary(file: str, tally: ImportTally) -> str:
    parts = [f"{tally.messages} messages"]
    parts += [f"{tally.memories} memories"] if tally.memories else []
    parts += [f"{tally.documents} documents"] if tally.documents else []
    parts += ["the directive" if tally.directives == 1 else f"{tally.directives} directives"] if tally.directives else []
    parts += [f"{tally.contradictions} contradictions"] if tally.contradictions else []
    parts += [f"{tally.graph} entities, relations and patterns"] if tally.graph else []
    parts += [f"{tally.tombstones} tombstones"] if tally.tombstones else []
    parts += [f"{tally.known} there already"] if tally.known else []
    parts += [f"{tally.forgotten} forgotten here, which aren't stored again"] if tally.forgotten else []
    parts += [f"{tally.system} system messages, which aren't kept"] if tally.system else []
    parts += [secrets_line(tally.secrets)] if tally.secrets else []
    parts += [f"{len(tally.broken)} rows that can't be used"] if tally.broken else []
    lines = [f"{'standard input' if file == '-' else file} ({tally.format}): {', '.join(parts)}"]
    lines += [f"  among them: {_listed(tally.taken_along)}"] if tally.taken_along else []
    lines += [f"  left out: {_listed(tally.left_out)}"] if tally.left_out else []
    return "\n".join(lines)


def _listed(counts: Counter[str]) -> str:
    shown = [f"{count} {what}" if count > 1 or " " in what else what for what, count in sorted(counts.items())]
    return plain(", ".join(shown), 1_000)


def _size(one: Loaded) -> int | None:
    """How many rows there are; None for transcripts, which are counted as they are read."""
    if isinstance(one, ExportFile):
        return one.total
    return len(one[1]) if isinstance(one[1], list) else None


# `germane export`.


def export(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file to write; - is standard output.")] = "-",
    all_users: Annotated[bool, typer.Option("--all-users", help="The agent with all its users.")] = False,
    all_agents: Annotated[bool, typer.Option("--all-agents", help="The org with all its agents and users.")] = False,
    everything: Annotated[bool, typer.Option("--everything", help="The whole store: every org in it.")] = False,
    layout: Annotated[
        str | None,
        typer.Option(metavar="anthropic|letta", help="Write the blocks alone, as memory files into the new folder FILE."),
    ] = None,
) -> None:
    """Write the directives, memories, contradictions, sessions, messages and tombstones of the agent, or with --user of that
    user, as JSON Lines.

    The export shows the store at one moment, and germane import restores it as it was. A new file is readable by its owner
    only. Vectors and API keys are not exported."""
    from germane.transfer.lines import written

    options = options_of(context)
    if layout is not None:
        if file == "-" or all_users or all_agents or everything:
            raise InvalidInput("--layout writes the blocks of one scope: give a new folder, and none of the --all options")
        export_blocks(options, file, layout)
        return
    if all_users + all_agents + everything > 1:
        raise InvalidInput("--all-users, --all-agents and --everything exclude each other: give the largest one")
    wrong = options.named & ({"user"} if all_users else {"user", "agent"} if all_agents else set())
    wrong = options.named if everything else wrong
    if wrong:
        raise InvalidInput(f"--{min(wrong)} has no meaning beside an export of all of them: leave one of the two out")

    def exported(germane: Germane) -> AsyncIterator[Exported]:
        if everything:
            return germane.export()
        if all_agents or all_users:
            return germane.export(options.org, options.agent if all_users else None)
        return germane.agent(options.agent, org=options.org, user=options.user).export()

    if file == "-":
        run_async(_export_lines(options, exported, lambda line: print(_printable(line))))
        return
    try:
        with open(file, "w", encoding="utf-8", newline="\n", opener=owner_only) as stream:
            count = run_async(_export_lines(options, exported, lambda line: stream.write(f"{written(line)}\n")))
    except OSError as error:
        raise InvalidInput(f"{file} can't be written: {error.strerror}") from None
    if options.json:
        print_json({"target": file, "lines": count})
    else:
        console().print(f"exported {count} lines to {file}")


async def _export_lines(
    options: GlobalOptions, exported: Callable[[Germane], AsyncIterator[Exported]], write: Callable[[Exported], object]
) -> int:
    """Returns the number of lines written."""
    count = 0
    async with options.open_store() as (germane, _):
        with progress(options.json) as bar:
            task = bar.add_task("exporting", total=None)
            async for line in exported(germane):
                write(line)
                count += 1
                if count == 1:
                    bar.update(task, total=1 + sum(line["holds"].values()))
                bar.advance(task)
    return count


def _printable(line: Exported) -> str:
    """The line as `written`; in ASCII where standard output can't encode it."""
    from germane.transfer.lines import written

    text = written(line)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return printable_json(line, indent=None)
    return text


# What `germane import --as blocks` and `germane export --layout` do with folders of memory files.


_MAX_NAMED_FILES = 5


def import_blocks(options: GlobalOptions, folders: Sequence[str], layout: str) -> None:
    """Makes blocks of the files in the folders, and prints how many. Raises `InvalidInput`."""
    found = run_async(_import_folders(options, folders, layout))
    if options.json:
        print_json(
            {"folders": [{"folder": folder, **_folder_shape(result)} for folder, result in zip(folders, found, strict=True)]}
        )
    for folder, result in zip(folders, found, strict=True):
        if not options.json:
            parts = [f"{len(result.created)} new blocks"]
            parts += [f"{len(result.updated)} with another text"] if result.updated else []
            parts += [f"{len(result.known)} there already"] if result.known else []
            parts += [f"{len(result.refused)} files that can't be used"] if result.refused else []
            console().print(f"{folder} ({layout}): {', '.join(parts)}")
        for name, why in list(result.refused.items())[:_MAX_NAMED_FILES]:
            console(stderr=True).print(f"  skipped {plain(f'{name}: {why}', 200)}")
        if len(result.refused) > _MAX_NAMED_FILES:
            console(stderr=True).print(f"  … and {len(result.refused) - _MAX_NAMED_FILES} more")
    if not any(result.created or result.updated or result.known for result in found):
        raise InvalidInput("nothing in it could be used" if folders else "no folder given")


def export_blocks(options: GlobalOptions, folder: str, layout: str) -> None:
    """Writes the blocks as files into a new folder, and prints how many. Raises `InvalidInput`."""
    written = run_async(_export_folder(options, folder, layout))
    if options.json:
        print_json({"target": folder, "files": list(written.files), "left_out": list(written.left_out)})
        return
    console().print(f"exported {len(written.files)} files to {folder}")
    if written.left_out:
        some = ", ".join(written.left_out[:_MAX_NAMED_FILES]) + (" …" if len(written.left_out) > _MAX_NAMED_FILES else "")
        console(stderr=True).print(f"  {len(written.left_out)} blocks have no place in this layout: {plain(some, 200)}")


async def _import_folders(options: GlobalOptions, folders: Sequence[str], layout: str) -> list[BroughtIn]:
    from germane.integrations.memory_tool.folders import import_folder

    async with options.open_store(create=True) as (_, agent):
        return [await import_folder(agent, folder, layout) for folder in folders]


async def _export_folder(options: GlobalOptions, folder: str, layout: str) -> WrittenFolder:
    from germane.integrations.memory_tool.folders import export_folder

    async with options.open_store() as (_, agent):
        return await export_folder(agent, folder, layout)


def _folder_shape(result: BroughtIn) -> dict[str, object]:
    return {
        "created": result.created,
        "updated": result.updated,
        "already_there": result.known,
        "refused": [{"file": name, "reason": why} for name, why in result.refused.items()],
    }
