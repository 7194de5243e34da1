"""`germane record`: stores the messages of a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from germane.cli.files import request_in
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.screen import console, print_json, secrets_line

if TYPE_CHECKING:
    from germane.events.event import Recorded

__all__ = ["record"]


def record(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A JSON list of messages; - is standard input.")] = "-",
    session: Annotated[str, typer.Option(help="The id of the conversation that the messages belong to.")] = "default",
) -> None:
    """Store the messages of a conversation, word for word. Idempotent: a message that is stored already isn't added again;
    a short turn without ids and times counts as said again ten seconds later."""
    options = options_of(context)
    messages = request_in(file).messages
    done = run_async(_record(options, messages, session))
    if options.json:
        told = {"session": session, "added": list(done.added), "skipped": done.skipped, "secrets": dict(done.secrets)}
        print_json(told | _assumed(done))
        return
    console().print(f"recorded {len(done.added)} messages in session {session}, {done.skipped} were there already")
    if done.assumed_resent:
        console().print(f"{done.assumed_resent} of these may have been said again: ids or times would tell")
    if done.assumed_new:
        console().print(f"{len(done.assumed_new)} of the new ones may have been sent again: ids or times would tell")
    if done.secrets:
        console().print(secrets_line(done.secrets))


def _assumed(recorded: Recorded) -> dict[str, Any]:
    """What had to be assumed, where anything was."""
    told = {"assumed_resent": recorded.assumed_resent, "assumed_new": list(recorded.assumed_new)}
    return {name: value for name, value in told.items() if value}


async def _record(options: GlobalOptions, messages: list[dict[str, Any]], session: str) -> Recorded:
    async with options.open_store(create=True) as (_, agent):
        return await agent.record(messages, session=session)
