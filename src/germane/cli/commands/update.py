"""`germane update`: changes a memory in place."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from germane.cli.elsewhere import whereabouts
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.screen import print_json
from germane.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from germane.memories.memory import Memory

__all__ = ["update"]


def update(
    context: typer.Context,
    id: Annotated[str, typer.Argument(metavar="ID", help="The memory's id, or its first characters (4 or more).")],
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="The new text.")] = None,
    value: Annotated[str | None, typer.Option(help="The new value of a fact, as JSON or as text.")] = None,
    title: Annotated[str | None, typer.Option(help="The new title of a note or a procedure.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="The new tags (may be repeated); an empty one takes all away.")] = None,
    sensitivity: Annotated[str | None, typer.Option(help="public, private or sensitive.")] = None,
    confidence: Annotated[float | None, typer.Option(help="How certain the memory is, from 0 to 1.")] = None,
    pinned: Annotated[bool | None, typer.Option("--pinned/--unpinned", help="Whether it goes into every context.")] = None,
    valid_to: Annotated[str | None, typer.Option(help="The time until which it holds (ISO 8601); none takes it away.")] = None,
    expires_at: Annotated[str | None, typer.Option(help="The time at which it ends (ISO 8601); none takes it away.")] = None,
) -> None:
    """Correct a memory. What was true and is true no longer isn't corrected but remembered anew: then the history keeps it.

    \b
      germane update 01a204f2-6d51 "Prefers letters" --user ada
      germane update 01a204f2-6d51 --unpinned --tag post --user ada
    """
    from germane.cli.commands.show import print_memory
    from germane.cli.json_shapes import memory_shape

    options = options_of(context)
    changes: dict[str, Any] = {
        name: given
        for name, given in (("title", title), ("sensitivity", sensitivity), ("confidence", confidence), ("pinned", pinned))
        if given is not None
    }
    if value is not None:
        try:
            changes["value"] = json.loads(value)
        except (ValueError, RecursionError):
            changes["value"] = value
    if tag is not None:
        changes["tags"] = tuple(filter(None, tag))
    for name, given in (("valid_to", valid_to), ("expires_at", expires_at)):
        if given is not None:
            changes[name] = None if given == "none" else options.parse_time(given, f"--{name.replace('_', '-')}")
    if text is None and not changes:
        raise InvalidInput("nothing to change (give TEXT, or an option such as --tag or --confidence)")
    memory = run_async(_update(options, id, text, changes))
    if options.json:
        print_json(memory_shape(memory))
    else:
        print_memory(memory)


async def _update(options: GlobalOptions, id: str, text: str | None, changes: dict[str, Any]) -> Memory:
    async with options.open_store() as (germane, agent):
        try:
            return await agent.memories.update(id, text, **changes)
        except NotFound as missing:
            try:
                whole = (await agent.find(id)).id
            except NotFound:
                whole = id
            if where := await whereabouts(germane, options, whole):
                raise NotFound(f"{missing} ({where})") from None
            raise missing from None
