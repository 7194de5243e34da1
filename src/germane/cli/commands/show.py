"""`germane show`, `list`, `versions`: one thing by its id, the memories of a scope, and what superseded a memory.

`show` prints everything of one memory or message, or what a handle of a compacted prompt stands for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from germane.cli.hints import other_scopes, owner_hint
from germane.cli.options import GlobalOptions, known, options_of, run_async
from germane.cli.screen import ListColumn, console, plain, print_fields, print_json, print_listing
from germane.errors import NotFound
from germane.text.injected import HANDLE
from germane.types.codec import encode

if TYPE_CHECKING:
    from datetime import datetime

    from germane.api.agent import Agent
    from germane.kinds.conversations.handle import EarlierMessages
    from germane.kinds.events.value import Event
    from germane.kinds.memories.reads import Page
    from germane.kinds.memories.value import Memory
    from germane.types.candidate import Provenance
    from germane.types.query import Filters


_HANDLE = re.compile(HANDLE)


def show(
    context: typer.Context,
    id: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="An id, the first characters of one (4 or more), your own id of a message, or a handle of a compacted prompt.",
        ),
    ],
) -> None:
    """Print everything of one memory or message: its text, times, counts, versions and where it came from. Of a handle in a
    compacted prompt print the messages that it stands for."""
    from germane.cli.json_shapes import memory_shape, message_shape
    from germane.kinds.events.value import Event
    from germane.kinds.memories.value import Memory

    options = options_of(context)
    thing, line = run_async(_show(options, id))
    if isinstance(thing, Memory):
        if options.json:
            print_json({**memory_shape(thing), "versions": [one.id for one in line]})
        else:
            print_memory(thing, line)
    elif isinstance(thing, Event):
        if options.json:
            print_json(message_shape(thing))
        else:
            _print_message(thing)
    else:
        from germane.cli.commands.conversations import archived_shape, print_archived

        if options.json:
            print_json(archived_shape(thing))
        else:
            print_archived(thing)


async def _show(options: GlobalOptions, id: str) -> tuple[Memory | Event | EarlierMessages, tuple[Memory, ...]]:
    from germane.kinds.memories.value import Memory

    async with options.open_store() as (germane, agent):
        try:
            thing = await _found(agent, id)
        except NotFound as missing:
            if where := await owner_hint(germane, options, id):
                raise NotFound(f"{missing} ({where})") from None
            raise
        return thing, await agent.memories.versions(thing.id) if isinstance(thing, Memory) else ()


async def _found(agent: Agent, id: str) -> Memory | Event | EarlierMessages:
    """The thing; a message of one's own id that looks like a handle is found too."""
    if not _HANDLE.fullmatch(id):
        return await agent.find(id)
    try:
        return await agent.conversations.show(id)
    except NotFound as missing:
        try:
            return await agent.find(id)
        except NotFound:
            raise missing from None


def print_memory(memory: Memory, line: tuple[Memory, ...] = ()) -> None:
    """Print the fields of a memory, and its versions where there are others."""
    screen = console()
    own = encode(memory.content)
    fields = [
        ("id", memory.id),
        ("kind", memory.kind),
        *((name, value if isinstance(value, str) else str(value)) for name, value in own.items() if value not in (None, "")),
        ("of", "all users" if memory.user is None else f"user {memory.user}"),
        ("tags", ", ".join(memory.tags)),
        ("sensitivity", memory.sensitivity),
        ("confidence", f"{memory.confidence:g}"),
        ("pinned", "yes" if memory.pinned else ""),
        ("stored", _time(memory.created_at)),
        ("changed", _time(memory.updated_at) if memory.updated_at != memory.created_at else ""),
        ("valid from", _time(memory.valid_from)),
        ("valid to", _time(memory.valid_to)),
        ("expires", _time(memory.expires_at)),
        ("superseded by", memory.superseded_by or ""),
        ("made from", ", ".join(memory.derived_from)),
        ("stale since", _time(memory.stale_since)),
        ("near-duplicates", ", ".join(memory.near_duplicates)),
        ("injected", f"{memory.retrieval_count} times" if memory.retrieval_count else "never"),
        ("feedback", f"{memory.helpful} helpful, {memory.harmful} harmful" if memory.helpful or memory.harmful else ""),
        *_origin(memory.provenance),
    ]
    if len(line) > 1:
        for one in line:
            mark = "  ← this one" if one.id == memory.id else ""
            fields.append(("versions" if one is line[0] else " ", f"{_time(one.valid_from)}  {plain(one.text, 120)}{mark}"))
    print_fields(screen, fields)


def _print_message(event: Event) -> None:
    fields = [
        ("id", event.id),
        ("your id", event.message_id or ""),
        ("session", f"{event.session}, message {event.position + 1}"),
        ("of", "all users" if event.user is None else f"user {event.user}"),
        ("role", event.role or event.type),
        ("name", event.name),
        ("said", _time(event.created_at)),
        ("recorded", _time(event.recorded_at)),
        ("sensitivity", event.sensitivity),
        *[(name, value) for name, value in _origin(event.provenance) if name not in ("from session", "from message")],
        ("text", event.text),
    ]
    print_fields(console(), fields)


def _origin(provenance: Provenance) -> list[tuple[str, str]]:
    metadata: dict[str, Any] = dict(provenance.metadata)
    return [
        ("from", " ".join(filter(None, (provenance.source_kind, provenance.channel)))),
        ("from session", provenance.session or ""),
        ("from message", provenance.message_id or ""),
        ("tool call", provenance.tool_call_id or ""),
        ("references", ", ".join(provenance.refs)),
        ("metadata", ", ".join(f"{name}: {value}" for name, value in metadata.items())),
    ]


def _time(at: datetime | None) -> str:
    return "" if at is None else f"{at:%Y-%m-%d %H:%M:%S}"


# `germane list`: the memories of a scope, newest first.


_LIST_COLUMNS = (ListColumn("id", id=True), ListColumn("kind"), ListColumn("since"), ListColumn(""), ListColumn("text"))


def list_memories(
    context: typer.Context,
    kind: Annotated[list[str] | None, typer.Option(help="Only memories of this kind (may be repeated).")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only memories with this tag (may be repeated).")] = None,
    session: Annotated[str | None, typer.Option(help="Only memories that were made in this conversation.")] = None,
    since: Annotated[str | None, typer.Option(help="Only memories stored from this time on (ISO 8601).")] = None,
    until: Annotated[str | None, typer.Option(help="Only memories stored up to this time (ISO 8601).")] = None,
    sensitivity: Annotated[
        list[str] | None, typer.Option(help="Only public, private or sensitive ones (may be repeated). Default: all.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also those that were superseded or have ended.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Print at most this many.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Continue where a listing ended.")] = None,
) -> None:
    """List the memories, newest first: those of all users, and with --user that user's own too."""
    from germane.cli.json_shapes import memory_shape
    from germane.kinds.memories.value import KINDS
    from germane.types.candidate import Sensitivity
    from germane.types.query import Filters

    options = options_of(context)
    levels: tuple[Any, ...] = get_args(Sensitivity)
    filters = Filters(
        kinds=tuple(known("--kind", name, tuple(KINDS)) for name in kind) if kind else None,
        tags=tuple(tag) if tag else None,
        session=session,
        since=options.parse_time(since, "--since"),
        until=options.parse_time(until, "--until"),
        sensitivities=tuple(known("--sensitivity", name, levels) for name in sensitivity) if sensitivity else levels,  # type: ignore[misc]
        with_ended=everything,
    )
    page, hints = run_async(_list(options, filters, limit, cursor))
    document = {"memories": [memory_shape(memory) for memory in page.memories], "cursor": page.cursor}
    rows = [
        (memory.id, memory.kind, f"{memory.valid_from:%Y-%m-%d}", _memory_marks(memory, options), plain(memory.text, 240))
        for memory in page.memories
    ]
    print_listing(options.json, document, _LIST_COLUMNS, rows, cursor=page.cursor, hints=hints)


def _memory_marks(memory: Any, options: GlobalOptions) -> str:
    marks = ["pinned"] * memory.pinned + ["sensitive"] * (memory.sensitivity == "sensitive")
    marks += ["ended"] * (memory.valid_to is not None or memory.superseded_by is not None)
    marks += ["of all users"] * (options.user is not None and memory.user is None)
    return ", ".join(marks)


async def _list(options: GlobalOptions, filters: Filters, limit: int, cursor: str | None) -> tuple[Page, list[str]]:
    from germane.types.query import Filters

    async with options.open_store() as (germane, agent):
        page = await agent.memories.list(filters, limit=limit, cursor=cursor)
        if page.memories:
            return page, []
        counted = await agent.stats()
        valid = sum(counted.memories.values())
        if valid and filters != Filters(sensitivities=filters.sensitivities):
            return page, [f"no memory passes these filters; without them there are {valid:,}"]
        ended = [f"{counted.ended:,} have ended: --all shows them"] if counted.ended and not filters.with_ended else []
        said = ["messages are here: germane messages prints them"] if counted.messages else []
        return page, ["no memories here", *ended, *(said or await other_scopes(germane, options))]


# `germane versions`: a memory with all that superseded it or that it superseded.


_VERSIONS_COLUMNS = (ListColumn("id", id=True), ListColumn("from"), ListColumn("to"), ListColumn("text"))


def versions(
    context: typer.Context,
    id: Annotated[str, typer.Argument(metavar="ID", help="The memory's id, or its first characters (4 or more).")],
) -> None:
    """Print a memory's versions, oldest first: what it superseded, and what superseded it."""
    from germane.cli.json_shapes import memory_shape

    options = options_of(context)
    line = run_async(_versions(options, id))
    rows = [
        (
            memory.id,
            f"{memory.valid_from:%Y-%m-%d %H:%M}",
            "now" if memory.valid_to is None else f"{memory.valid_to:%Y-%m-%d %H:%M}",
            plain(memory.text, 240),
        )
        for memory in line
    ]
    print_listing(options.json, {"memories": [memory_shape(memory) for memory in line]}, _VERSIONS_COLUMNS, rows)


async def _versions(options: GlobalOptions, id: str) -> tuple[Memory, ...]:
    async with options.open_store() as (germane, agent):
        try:
            found: tuple[Memory, ...] = await agent.memories.versions(id)
        except NotFound as missing:
            if where := await owner_hint(germane, options, id):
                raise NotFound(f"{missing} ({where})") from None
            raise
        return found
