"""`germane import`: imports conversations from files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from germane.cli.files import read_bytes
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.imports import FORMATS, Row, read
from germane.cli.imports.store_rows import ImportTally, store_rows
from germane.cli.screen import console, plain, print_json, progress, secrets_line
from germane.errors import InvalidInput

__all__ = ["import_files"]

_MAX_REASONS = 5


def import_files(
    context: typer.Context,
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="The files to import; - is standard input.")],
    format: Annotated[
        str, typer.Option(help=f"The format of the files: {', '.join(FORMATS)}, or auto to recognise it by the content.")
    ] = "auto",
    session: Annotated[
        str | None, typer.Option(help="The id of the conversation for messages that name none. Default: the file's name.")
    ] = None,
) -> None:
    """Import conversations from JSON Lines of messages, ChatGPT exports, LoCoMo files, or the output of germane export.

    Idempotent: importing a file again adds nothing. Rows that can't be used are skipped and counted."""
    options = options_of(context)
    if format not in ("auto", *FORMATS):
        raise InvalidInput(f"--format must be one of auto, {', '.join(FORMATS)}, not {format[:40]!r}")
    loaded = [_load(file, session, format) for file in files]
    tallies = run_async(_import(options, loaded))
    if options.json:
        print_json({"files": [_shape(file, tally) for file, tally in zip(files, tallies, strict=True)]})
    for file, tally in zip(files, tallies, strict=True):
        if not options.json:
            console().print(_summary(file, tally))
        for reason in tally.broken[:_MAX_REASONS]:
            console(stderr=True).print(f"  skipped {plain(reason, 200)}")
        if len(tally.broken) > _MAX_REASONS:
            console(stderr=True).print(f"  … and {len(tally.broken) - _MAX_REASONS} more")
    if all(tally.empty for tally in tallies):
        raise InvalidInput("nothing in it could be used" if loaded else "no file given")


def _load(file: str, session: str | None, format: str) -> tuple[str, list[Row]]:
    """Returns the file's format and its rows."""
    default_session = session or ("import" if file == "-" else Path(file).stem[:200] or "import")
    try:
        recognised, rows = read(read_bytes(file), default_session, format)
        return recognised, list(rows)
    except InvalidInput as error:
        text = str(error)
        raise InvalidInput(text if file in text else f"{'standard input' if file == '-' else file}: {text}") from None


async def _import(options: GlobalOptions, loaded: list[tuple[str, list[Row]]]) -> list[ImportTally]:
    tallies = []
    async with options.open_store(create=True) as (germane, agent):
        with progress(options.json) as bar:
            task = bar.add_task("importing", total=sum(len(rows) for _, rows in loaded))
            for format, rows in loaded:
                tallies.append(tally := ImportTally(format=format))
                await store_rows(rows, agent, options.agent_wide(germane), tally, lambda count: bar.advance(task, count))
    return tallies


def _shape(file: str, tally: ImportTally) -> dict[str, Any]:
    return {
        "file": file,
        "format": tally.format,
        "messages": tally.messages,
        "already_there": tally.known_messages + tally.known_memories,
        "memories": tally.memories,
        "directives": tally.directives,
        "secrets": dict(tally.secrets),
        "broken": len(tally.broken),
        "reasons": tally.broken[:_MAX_REASONS],
    }


def _summary(file: str, tally: ImportTally) -> str:
    known = tally.known_messages + tally.known_memories
    parts = [f"{tally.messages} messages"]
    parts += [f"{tally.memories} memories"] if tally.memories else []
    parts += ["the directive"] if tally.directives else []
    parts += [f"{known} there already"] if known else []
    parts += [f"{tally.system} system messages, which aren't kept"] if tally.system else []
    parts += [secrets_line(tally.secrets)] if tally.secrets else []
    parts += [f"{len(tally.broken)} rows that can't be used"] if tally.broken else []
    return f"{'standard input' if file == '-' else file} ({tally.format}): {', '.join(parts)}"
