"""`germane import`: bring conversations in from files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import Progress, TaskID

from germane.cli.codec import decode
from germane.cli.imports import FORMATS, Broken, Directed, Remembered, Row, Turn, read
from germane.cli.imports.turn import moment
from germane.cli.reading import read_bytes
from germane.cli.screen import answer, console, plain, progress
from germane.cli.setting import Setting, finish, setting
from germane.errors import InvalidInput
from germane.item import Provenance

if TYPE_CHECKING:
    from germane.agent import Agent

__all__ = ["Tally", "bring", "take"]

_BATCH = 200
_REASONS = 5
_FIELDS = ("kind", "key", "value", "title", "tags", "sensitivity", "confidence", "pinned")
_TIMES = ("observed_at", "occurred_at", "expires_at", "valid_from", "valid_to")


@dataclass(slots=True)
class Tally:
    """What became of a file's rows."""

    format: str = ""
    messages: int = 0
    skipped: int = 0
    memories: int = 0
    known: int = 0
    directives: int = 0
    system: int = 0
    broken: list[str] = field(default_factory=list)


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
    if all(not (tally.messages or tally.skipped or tally.memories or tally.known or tally.directives) for tally in tallies):
        raise InvalidInput("nothing in it could be used" if loaded else "no file given")


async def take(agent: Agent, rows: Sequence[Row], tally: Tally, shown: Progress, task: TaskID) -> None:
    """Store the rows, in batches of one session; a batch that is refused is tried again row by row."""
    for (kind, session), group in groupby(rows, key=lambda row: (type(row), row.session if isinstance(row, Turn) else "")):
        for batch in _batches(list(group)):
            if kind is Turn:
                await _record(agent, session, [row for row in batch if isinstance(row, Turn)], tally)
            else:
                for row in batch:
                    await _keep(agent, row, tally)
            shown.advance(task, len(batch))


def _loaded(file: str, session: str | None, format: str) -> tuple[str, list[Row]]:
    called = session or ("import" if file == "-" else Path(file).stem[:200] or "import")
    try:
        found, rows = read(read_bytes(file), called, format)
        return found, list(rows)
    except InvalidInput as error:
        text = str(error)
        raise InvalidInput(text if file in text else f"{'standard input' if file == '-' else file}: {text}") from None


async def _bring(chosen: Setting, loaded: list[tuple[str, list[Row]]]) -> list[Tally]:
    tallies = []
    async with chosen.opened(create=True) as (_, agent):
        with progress(chosen.json) as shown:
            task = shown.add_task("importing", total=sum(len(rows) for _, rows in loaded))
            for found, rows in loaded:
                tallies.append(tally := Tally(format=found))
                await take(agent, rows, tally, shown, task)
    return tallies


async def _record(agent: Agent, session: str, turns: list[Turn], tally: Tally) -> None:
    try:
        recorded = await agent.record([row.message for row in turns], session=session, source_kind="import")
    except InvalidInput as error:
        if len(turns) == 1:
            tally.broken.append(f"session {session}, message {turns[0].message.id}: {error}")
            return
        for row in turns:
            await _record(agent, session, [row], tally)
        return
    system = sum(row.message.role == "system" for row in turns)
    tally.messages += len(recorded.added)
    tally.system += system
    tally.skipped += recorded.skipped - system


async def _keep(agent: Agent, row: Row, tally: Tally) -> None:
    try:
        match row:
            case Remembered(fields):
                began = datetime.now(UTC)
                memory = await agent.remember(_said(fields), **_kept(fields))
                tally.memories += memory.created_at >= began
                tally.known += memory.created_at < began
            case Directed(text):
                await agent.directive(text)
                tally.directives += 1
            case Broken(where, why):
                tally.broken.append(f"{where}: {why}")
    except (InvalidInput, TypeError) as error:
        tally.broken.append(f"{type(row).__name__.lower()}: {error}")


def _said(fields: Mapping[str, Any]) -> str | None:
    said = [fields[name] for name in ("text", "body", "summary") if isinstance(fields.get(name), str)]
    return said[0] if said and fields.get("kind") != "fact" else None


def _kept(fields: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: fields[name] for name in _FIELDS if fields.get(name) not in (None, "")}
    kept |= {name: moment(fields[name]) for name in _TIMES if fields.get(name) is not None}
    source = fields.get("provenance")
    kept["provenance"] = decode(Provenance, source) if isinstance(source, dict) else Provenance(source_kind="import")
    return kept | ({"agent_wide": True} if "user" in fields and fields["user"] is None else {})


def _batches(rows: list[Row]) -> Iterator[list[Row]]:
    """Messages without ids are known by their neighbours, so that a session of such ones stays together."""
    together = any(isinstance(row, Turn) and row.message.id is None for row in rows)
    size = len(rows) if together else _BATCH
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


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
