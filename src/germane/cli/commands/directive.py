"""`germane directive`: sets or prints an agent's standing instructions."""

from __future__ import annotations

from typing import Annotated

import typer

from germane.cli.files import read_text
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.screen import console, plain, print_json

__all__ = ["directive"]


def directive(
    context: typer.Context,
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="TEXT", help="The instructions to set; - reads them from standard input. Without TEXT: print them."
        ),
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Remove the instructions.")] = False,
) -> None:
    """Set or print the standing instructions of the agent, which go into every context.

    With --user, the instructions apply to that user only and replace the agent's."""
    options = options_of(context)
    new = "" if clear else read_text("-").strip() if text == "-" else text
    current = run_async(_directive(options, new))
    if options.json:
        print_json({"directive": current})
    else:
        console().print(plain(current) if current else "no directive is set")


async def _directive(options: GlobalOptions, new: str | None) -> str:
    async with options.open_store(create=bool(new)) as (_, agent):
        if new is not None:
            await agent.directive(new)
        return await agent.directive() or ""
