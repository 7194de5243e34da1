"""`germane record`: stores the messages of a conversation."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from germane.cli.files import request_in
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.screen import console, print_json

__all__ = ["record"]


def record(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A JSON list of messages; - is standard input.")] = "-",
    session: Annotated[str, typer.Option(help="The id of the conversation that the messages belong to.")] = "default",
) -> None:
    """Store the messages of a conversation, word for word. Idempotent: a message that is stored already isn't added again."""
    options = options_of(context)
    messages = request_in(file).messages
    added, skipped = run_async(_record(options, messages, session))
    if options.json:
        print_json({"session": session, "added": list(added), "skipped": skipped})
    else:
        console().print(f"recorded {len(added)} messages in session {session}, {skipped} were there already")


async def _record(options: GlobalOptions, messages: list[dict[str, Any]], session: str) -> tuple[tuple[str, ...], int]:
    """Returns the ids of the added messages and the number of messages that were stored already."""
    async with options.open_store(create=True) as (_, agent):
        recorded = await agent.record(messages, session=session)
        return recorded.added, recorded.skipped
