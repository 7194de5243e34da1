"""`germane import`: bring conversations in from files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from germane.cli.global_options import GlobalOptions, finish, setting
from germane.cli.imports import FORMATS, Row, read
from germane.cli.intake import Tally, take
from germane.cli.reading import read_bytes
from germane.cli.screen import answer, console, plain, progress
from germane.errors import InvalidInput

__all__ = ["bring"]

_REASONS = 5


def bring(
    context: typer.Context,
    files: Annotated[list[str], typer.Argument(help="Files; - is standard input.")],
    format: Annotated[str, typer.Option(help=f"auto, {', '.join(FORMATS)}.")] = "auto",
    session: Annotated[str | None, typer.Option(help="For messages that name none; the file's name by default.")] = None,
) -> None:
    """Import JSON Lines of messages, chat exports, LoCoMo files, or what `germane export` wrote.

    The format is told by the content. Importing a file again adds nothing. Rows that can't be used are skipped and counted."""
    chosen = setting(context)
    if format not in ("auto", *FORMATS):
        raise InvalidInput(f"--format must be one of auto, {', '.join(FORMATS)}, not {format[:40]!r}")
    loaded = [_loaded(file, session, format) for file in files]
    tallies = finish(_bring(chosen, loaded))
    if chosen.json:
        answer({"files": [_shape(file, tally) for file, tally in zip(files, tallies, strict=True)]})
    for file, tally in zip(files, tallies, strict=True):
        if not chosen.json:
            console().print(_line(file, tally))
        for reason in tally.broken[:_REASONS]:
            console(stderr=True).print(f"  skipped {plain(reason, 200)}")
        if len(tally.broken) > _REASONS:
            console(stderr=True).print(f"  … and {len(tally.broken) - _REASONS} more")
    if all(tally.empty for tally in tallies):
        raise InvalidInput("nothing in it could be used" if loaded else "no file given")


def _loaded(file: str, session: str | None, format: str) -> tuple[str, list[Row]]:
    called = session or ("import" if file == "-" else Path(file).stem[:200] or "import")
    try:
        found, rows = read(read_bytes(file), called, format)
        return found, list(rows)
    except InvalidInput as error:
        text = str(error)
        raise InvalidInput(text if file in text else f"{'standard input' if file == '-' else file}: {text}") from None


async def _bring(chosen: GlobalOptions, loaded: list[tuple[str, list[Row]]]) -> list[Tally]:
    tallies = []
    async with chosen.opened(create=True) as (germane, agent):
        with progress(chosen.json) as shown:
            task = shown.add_task("importing", total=sum(len(rows) for _, rows in loaded))
            for found, rows in loaded:
                tallies.append(tally := Tally(format=found))
                await take((agent, chosen.wide(germane)), rows, tally, shown, task)
    return tallies


def _shape(file: str, tally: Tally) -> dict[str, Any]:
    counts = {"messages": tally.messages, "already_there": tally.skipped + tally.known, "memories": tally.memories}
    return {
        "file": file,
        "format": tally.format,
        **counts,
        "directives": tally.directives,
        "broken": len(tally.broken),
        "reasons": tally.broken[:_REASONS],
    }


def _line(file: str, tally: Tally) -> str:
    parts = [f"{tally.messages} messages"]
    parts += [f"{tally.memories} memories"] if tally.memories else []
    parts += ["the directive"] if tally.directives else []
    parts += [f"{tally.skipped + tally.known} there already"] if tally.skipped or tally.known else []
    parts += [f"{tally.system} system messages, which aren't kept"] if tally.system else []
    parts += [f"{len(tally.broken)} rows that can't be used"] if tally.broken else []
    return f"{'standard input' if file == '-' else file} ({tally.format}): {', '.join(parts)}"
