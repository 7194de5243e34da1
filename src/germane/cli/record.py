"""`germane record`: keep what was said in a session, word for word."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from germane.cli.global_options import GlobalOptions, finish, setting
from germane.cli.reading import messages_in
from germane.cli.screen import answer, console

__all__ = ["record"]


def record(
    context: typer.Context,
    file: Annotated[str, typer.Argument(help="A JSON list of messages; - is standard input.")] = "-",
    session: Annotated[str, typer.Option(help="The conversation they belong to.")] = "default",
) -> None:
    """Record messages. What is already there is not added again."""
    chosen = setting(context)
    messages, _ = messages_in(file)
    added, skipped = finish(_record(chosen, messages, session))
    if chosen.json:
        answer({"session": session, "added": list(added), "skipped": skipped})
    else:
        console().print(f"recorded {len(added)} messages in session {session}, {skipped} were there already")


async def _record(chosen: GlobalOptions, messages: list[dict[str, Any]], session: str) -> tuple[tuple[str, ...], int]:
    async with chosen.opened(create=True) as (_, agent):
        recorded = await agent.record(messages, session=session)
        return recorded.added, recorded.skipped
