"""`germane show`: prints everything of one memory or message, or what a handle of a compacted prompt stands for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from germane.cli.codec import encode
from germane.cli.elsewhere import whereabouts
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.listing import print_fields
from germane.cli.screen import console, plain, print_json
from germane.errors import NotFound

if TYPE_CHECKING:
    from datetime import datetime

    from germane.api.agent import Agent
    from germane.api.agent_history import EarlierMessages
    from germane.events.event import Event
    from germane.memories.memory import Memory
    from germane.types.candidate import Provenance

__all__ = ["show"]

_HANDLE = re.compile(r"h[0-9a-f]{12}")


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
    """Print everything of one memory or message: its text, times, counts, history and where it came from. Of a handle in a
    compacted prompt print the messages that it stands for."""
    from germane.api.agent_history import EarlierMessages
    from germane.cli.json_shapes import memory_shape, message_shape
    from germane.memories.memory import Memory

    options = options_of(context)
    thing, line = run_async(_show(options, id))
    if isinstance(thing, Memory):
        if options.json:
            print_json({**memory_shape(thing), "history": [one.id for one in line]})
        else:
            print_memory(thing, line)
    elif isinstance(thing, EarlierMessages):
        from germane.cli.compaction_screen import earlier_shape, print_earlier

        if options.json:
            print_json(earlier_shape(thing))
        else:
            print_earlier(thing)
    elif options.json:
        print_json(message_shape(thing))
    else:
        _print_message(thing)


async def _show(options: GlobalOptions, id: str) -> tuple[Memory | Event | EarlierMessages, tuple[Memory, ...]]:
    from germane.memories.memory import Memory

    async with options.open_store() as (germane, agent):
        try:
            thing = await _found(agent, id)
        except NotFound as missing:
            if where := await whereabouts(germane, options, id):
                raise NotFound(f"{missing} ({where})") from None
            raise
        return thing, await agent.memories.history(thing.id) if isinstance(thing, Memory) else ()


async def _found(agent: Agent, id: str) -> Memory | Event | EarlierMessages:
    """The thing; a message of one's own id that looks like a handle is found too."""
    if not _HANDLE.fullmatch(id):
        return await agent.find(id)
    try:
        return await agent.history.show(id)
    except NotFound as missing:
        try:
            return await agent.find(id)
        except NotFound:
            raise missing from None


def print_memory(memory: Memory, line: tuple[Memory, ...] = ()) -> None:
    """Print the fields of a memory, and its history where that has more than the memory."""
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
            fields.append(("history" if one is line[0] else " ", f"{_time(one.valid_from)}  {plain(one.text, 120)}{mark}"))
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
