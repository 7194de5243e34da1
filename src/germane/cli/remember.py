"""`germane remember`: keep one memory."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from germane.cli.global_options import GlobalOptions, finish, setting
from germane.cli.reading import read_text
from germane.cli.screen import answer, console, plain
from germane.errors import InvalidInput
from germane.memories.memory import Memory

__all__ = ["remember"]


def remember(
    context: typer.Context,
    text: Annotated[str | None, typer.Argument(help="What to remember; - reads standard input.")] = None,
    kind: Annotated[str, typer.Option(help="fact, preference, procedure, behavior, episode or note.")] = "note",
    key: Annotated[str | None, typer.Option(help="What a fact is the value of.")] = None,
    value: Annotated[str | None, typer.Option(help="A fact's value, JSON or text.")] = None,
    title: Annotated[str | None, typer.Option(help="Of a note or a procedure.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="May be repeated.")] = None,
    sensitivity: Annotated[str, typer.Option(help="public, private or sensitive.")] = "private",
    confidence: Annotated[float, typer.Option(help="From 0 to 1.")] = 0.8,
    pinned: Annotated[bool, typer.Option("--pinned", help="Always in the context.")] = False,
    agent_wide: Annotated[bool, typer.Option("--agent-wide", help="For every user of the agent.")] = False,
    valid_from: Annotated[str | None, typer.Option(help="Since when it holds (ISO 8601).")] = None,
    expires_at: Annotated[str | None, typer.Option(help="When it ends (ISO 8601).")] = None,
    observed_at: Annotated[str | None, typer.Option(help="When a fact was observed.")] = None,
    occurred_at: Annotated[str | None, typer.Option(help="When an episode happened.")] = None,
) -> None:
    """Remember a note, a fact (--kind fact --key city --value Vienna), a preference, a procedure, a behavior or an episode."""
    from germane.cli.shapes import memory_shape

    chosen = setting(context)
    said = read_text("-").strip() if text == "-" else text
    fields: dict[str, Any] = {
        "kind": kind,
        "key": key,
        "title": title,
        "tags": tuple(tag or ()),
        "sensitivity": sensitivity,
        "confidence": confidence,
        "pinned": pinned,
        "agent_wide": agent_wide,
        "valid_from": chosen.moment(valid_from, "--valid-from"),
        "expires_at": chosen.moment(expires_at, "--expires-at"),
        "observed_at": chosen.moment(observed_at, "--observed-at"),
        "occurred_at": chosen.moment(occurred_at, "--occurred-at"),
    }
    if kind == "fact" and value is None:
        value, said = said, None
    if value is not None:
        fields["value"] = _json_or_text(value)
    if said is None and value is None:
        raise InvalidInput("nothing to remember (give a text, or --kind fact with --key and --value)")
    given = {name: entry for name, entry in fields.items() if entry is not None}
    memory = finish(_remember(chosen, said, given))
    if chosen.json:
        answer(memory_shape(memory))
    else:
        console().print(f"remembered {memory.kind} {memory.id}: {plain(memory.text, 200)}")


async def _remember(chosen: GlobalOptions, text: str | None, fields: dict[str, Any]) -> Memory:
    async with chosen.opened(create=True) as (_, agent):
        return await agent.remember(text, **fields)


def _json_or_text(value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
