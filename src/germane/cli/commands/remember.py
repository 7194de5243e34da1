"""`germane remember`: stores one memory."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from germane.cli.files import read_text
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.screen import console, plain, print_json, secrets_line
from germane.errors import InvalidInput
from germane.memories.memory import Memory

__all__ = ["remember"]


def remember(
    context: typer.Context,
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="The text of the memory; - reads it from standard input.")
    ] = None,
    kind: Annotated[str, typer.Option(help="fact, preference, procedure, behavior, episode or note.")] = "note",
    key: Annotated[str | None, typer.Option(help="The key of a fact, such as city.")] = None,
    value: Annotated[str | None, typer.Option(help="The value of a fact, as JSON or as text. Default: TEXT.")] = None,
    title: Annotated[str | None, typer.Option(help="The title of a note or a procedure.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag (may be repeated).")] = None,
    sensitivity: Annotated[str, typer.Option(help="public, private or sensitive.")] = "private",
    confidence: Annotated[float, typer.Option(help="How certain the memory is, from 0 to 1.")] = 0.8,
    pinned: Annotated[bool, typer.Option("--pinned", help="Put the memory into every context.")] = False,
    agent_wide: Annotated[bool, typer.Option("--agent-wide", help="Share the memory with all users of the agent.")] = False,
    valid_from: Annotated[str | None, typer.Option(help="The time from which the memory holds (ISO 8601).")] = None,
    valid_to: Annotated[str | None, typer.Option(help="The time until which it held, for what has ended (ISO 8601).")] = None,
    expires_at: Annotated[str | None, typer.Option(help="The time at which the memory ends (ISO 8601).")] = None,
    observed_at: Annotated[str | None, typer.Option(help="The time at which a fact was observed (ISO 8601).")] = None,
    occurred_at: Annotated[str | None, typer.Option(help="The time at which an episode happened (ISO 8601).")] = None,
    derived_from: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="A memory or message that it was made from (may be repeated).")
    ] = None,
) -> None:
    """Store a note, a fact, a preference, a procedure, a behavior or an episode.

    \b
      germane remember "Prefers e-mail to phone calls" --kind preference --user ada
      germane remember --kind fact --key city --value Vienna --user ada
    """
    from germane.cli.json_shapes import memory_shape

    options = options_of(context)
    content = read_text("-").strip() if text == "-" else text
    fields: dict[str, Any] = {
        "kind": kind,
        "key": key,
        "title": title,
        "tags": tuple(tag or ()),
        "sensitivity": sensitivity,
        "confidence": confidence,
        "pinned": pinned,
        "agent_wide": agent_wide,
        "valid_from": options.parse_time(valid_from, "--valid-from"),
        "valid_to": options.parse_time(valid_to, "--valid-to"),
        "derived_from": tuple(derived_from) if derived_from else None,
        "expires_at": options.parse_time(expires_at, "--expires-at"),
        "observed_at": options.parse_time(observed_at, "--observed-at"),
        "occurred_at": options.parse_time(occurred_at, "--occurred-at"),
    }
    if kind == "fact" and value is None:
        value, content = content, None
    if value is not None:
        fields["value"] = _json_or_text(value)
    if content is None and value is None:
        raise InvalidInput("nothing to remember (give a text, or --kind fact with --key and --value)")
    memory = run_async(_remember(options, content, {name: entry for name, entry in fields.items() if entry is not None}))
    if options.json:
        print_json(memory_shape(memory))
    else:
        console().print(f"remembered {memory.kind} {memory.id}: {plain(memory.text, 200)}")
        if memory.secrets:
            console().print(secrets_line(memory.secrets))


async def _remember(options: GlobalOptions, text: str | None, fields: dict[str, Any]) -> Memory:
    async with options.open_store(create=True) as (_, agent):
        return await agent.remember(text, **fields)


def _json_or_text(value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
