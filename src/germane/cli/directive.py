"""`germane directive`: an agent's standing instructions."""

from __future__ import annotations

from typing import Annotated

import typer

from germane.cli.global_options import GlobalOptions, finish, setting
from germane.cli.reading import read_text
from germane.cli.screen import answer, console, plain

__all__ = ["directive"]


def directive(
    context: typer.Context,
    text: Annotated[str | None, typer.Argument(help="The instructions; - reads standard input. Without it: show them.")] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Remove them.")] = False,
) -> None:
    """Set or show the standing instructions: the agent's, or with --user that user's own."""
    chosen = setting(context)
    wanted = "" if clear else read_text("-").strip() if text == "-" else text
    found = finish(_directive(chosen, wanted))
    if chosen.json:
        answer({"directive": found})
    else:
        console().print(plain(found) if found else "no directive is set")


async def _directive(chosen: GlobalOptions, wanted: str | None) -> str:
    async with chosen.opened(create=bool(wanted)) as (_, agent):
        if wanted is not None:
            await agent.directive(wanted)
        return await agent.directive() or ""
