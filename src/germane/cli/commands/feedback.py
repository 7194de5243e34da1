"""`germane feedback`: marks memories as helpful or harmful."""

from __future__ import annotations

from typing import Annotated

import typer

from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.screen import console, print_json
from germane.errors import NotFound

__all__ = ["feedback"]


def feedback(
    context: typer.Context,
    ids: Annotated[list[str], typer.Argument(metavar="ID", help="The ids of the memories (germane search --json shows ids).")],
    helpful: Annotated[bool, typer.Option("--helpful/--harmful", help="Whether the memories helped or did harm.")] = True,
) -> None:
    """Mark memories as helpful or harmful. Later assemblies and searches score them higher or lower."""
    options = options_of(context)
    count = run_async(_feedback(options, ids, helpful))
    if not count:
        named = "this id" if len(ids) == 1 else "these ids"
        hint = "; what is agent-wide is marked without --user" if options.user else ""
        raise NotFound(f"no memory with {named} here (germane search --json shows ids{hint})")
    if options.json:
        print_json({"marked": count, "helpful": helpful})
    else:
        console().print(f"marked {count} as {'helpful' if helpful else 'harmful'}")


async def _feedback(options: GlobalOptions, ids: list[str], helpful: bool) -> int:
    async with options.open_store() as (_, agent):
        count: int = await agent.feedback(tuple(ids), helpful=helpful)
        return count
