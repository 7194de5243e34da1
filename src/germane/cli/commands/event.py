"""`germane event`: records what an agent did and decided, lists it, and prints what is worth knowing of the last sessions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from germane.cli.files import read_json
from germane.cli.hints import other_scopes
from germane.cli.options import GlobalOptions, ask, options_of, run_async
from germane.cli.screen import ListColumn, console, plain, print_json, print_listing
from germane.errors import InvalidInput

if TYPE_CHECKING:
    from germane.extraction.archetypes.findings import RecordedEvent
    from germane.kinds.events.value import Event, EventPage


app = typer.Typer(invoke_without_command=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

_COLUMNS = (ListColumn("id", id=True), ListColumn("session"), ListColumn("when"), ListColumn("what"))
Session = Annotated[str | None, typer.Argument(metavar="SESSION", help="A conversation. Default: all of them.")]
Task = Annotated[str | None, typer.Option(help="Only events of this task.")]


@app.callback()
def event(context: typer.Context) -> None:
    """Record and list what an agent did: files, commands, searches, errors, decisions."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command("record", short_help="Store one event, or many from a file.")
def record(
    context: typer.Context,
    type: Annotated[
        str | None, typer.Argument(metavar="TYPE", help="Such as file_edit, shell_exec, error, decision, or any word.")
    ] = None,
    content: Annotated[str | None, typer.Argument(metavar="CONTENT", help="A text, or a JSON object in braces.")] = None,
    session: Annotated[str, typer.Option(help="The conversation that the event belongs to.")] = "default",
    outcome: Annotated[str, typer.Option(help="How it ended, such as success or failure.")] = "",
    task: Annotated[str | None, typer.Option(help="The task that it belongs to.")] = None,
    at: Annotated[str | None, typer.Option(help="When it happened (ISO 8601). Default: now.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="Your own id: the same event again isn't stored again.")] = None,
    archetype: Annotated[
        str | None, typer.Option(help="Whose extractors read it: coding, support, research, or one of the settings'.")
    ] = None,
    file: Annotated[
        str | None, typer.Option(metavar="FILE", help="A JSON list of events with these fields; - is standard input.")
    ] = None,
) -> None:
    """Store an event, and what an archetype's extractors find in it: germane event record decision "use SQLite"."""
    options = options_of(context)
    if (file is None) == (type is None):
        raise InvalidInput("give the TYPE of one event, or --file with a list of events")
    given = (
        _events(options, file) if file is not None else [_one(type, content, outcome, task, options.parse_time(at, "--at"), id)]
    )
    stored = ask(options, lambda agent: agent.events.record_many(given, session=session, archetype=archetype), create=True)
    if options.json:
        print_json({"session": session, "events": [_told(one) for one in stored]})
        return
    added = sum(one.added for one in stored)
    found = sum(len(one.entities) for one in stored)
    console().print(f"recorded {added} of {len(stored)} events in session {session}, {found} entities found")
    for fault in dict.fromkeys(fault for one in stored for fault in one.faults):
        console().print(f"extractor {plain(fault.extractor)} failed: {fault.error}")


@app.command("list", short_help="List events, the latest last.")
def list_events(
    context: typer.Context,
    session: Session = None,
    type: Annotated[list[str] | None, typer.Option(help="Only events of this type (may be repeated).")] = None,
    task: Task = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Print at most this many.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Continue where a listing ended.")] = None,
) -> None:
    """Print the latest events, in the order in which they happened; --cursor goes back in time."""
    options = options_of(context)
    page, hints = run_async(_list(options, session, type, task, limit, cursor))
    _print(options, page.events[::-1], hints, page.cursor)


@app.command("highlights", short_help="Print what is worth knowing of the last sessions.")
def highlights(
    context: typer.Context,
    session: Session = None,
    sessions: Annotated[int, typer.Option(min=1, max=100, help="How many of the latest conversations.")] = 5,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most this many of each.")] = 8,
    task: Task = None,
) -> None:
    """Print decisions, errors and what ended them, changes and outcomes of the latest conversations."""
    options = options_of(context)
    found, hints = run_async(_highlights(options, sessions, session, task, limit))
    _print(options, found, hints, None)


def _print(options: GlobalOptions, events: tuple[Event, ...], hints: list[str], cursor: str | None) -> None:
    from germane.cli.json_shapes import event_shape

    document = {"events": [event_shape(event) for event in events], "cursor": cursor}
    rows = [(one.id, one.session, f"{one.created_at:%Y-%m-%d %H:%M}", _line(one)) for one in events]
    print_listing(options.json, document, _COLUMNS, rows, cursor=cursor, backwards=True, hints=hints)


def _line(event: Event) -> str:
    head, _, _ = event.text.partition("\n")
    return plain(head, 200) + (f" [{plain(event.outcome, 40)}]" if event.outcome else "")


def _told(one: RecordedEvent) -> dict[str, Any]:
    return {
        "id": one.id or None,
        "added": one.added,
        "entities": [{"type": entity.type, "name": entity.name, "id": entity.id} for entity in one.entities],
        "relations": [relation.id for relation in one.relations],
        "patterns": list(one.patterns),
        "faults": [{"extractor": fault.extractor, "error": fault.error} for fault in one.faults],
        "refused_by": one.refused_by or None,
    }


def _one(type: str | None, content: str | None, outcome: str, task: str | None, at: Any, id: str | None) -> dict[str, Any]:
    body: Any = content
    if content is not None and content.lstrip().startswith("{"):
        try:
            body = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"CONTENT begins with a brace but isn't JSON: {error}") from error
    return {"type": type, "content": body, "outcome": outcome, "task": task, "at": at, "id": id}


def _events(options: GlobalOptions, file: str) -> list[Any]:
    given = read_json(file)
    if not isinstance(given, list):
        raise InvalidInput(f"{file}: must be a JSON list of events, each with its type")
    for index, one in enumerate(given):
        if isinstance(one, dict) and isinstance(one.get("at"), str):
            one["at"] = options.parse_time(one["at"], f"events[{index}].at")
    return given


async def _list(
    options: GlobalOptions, session: str | None, types: list[str] | None, task: str | None, limit: int, cursor: str | None
) -> tuple[EventPage, list[str]]:
    async with options.open_store() as (germane, agent):
        page = await agent.events.list(session, types=types or None, task=task, limit=limit, cursor=cursor)
        return page, [] if page.events else ["no such events here", *await other_scopes(germane, options)]


async def _highlights(
    options: GlobalOptions, sessions: int, session: str | None, task: str | None, limit: int
) -> tuple[tuple[Event, ...], list[str]]:
    async with options.open_store() as (germane, agent):
        found = await agent.events.highlights(sessions, session=session, task=task, limit=limit)
        return found, [] if found else ["no events here", *await other_scopes(germane, options)]
