"""`germane feedback`: say whether what was injected helped."""

from __future__ import annotations

from typing import Annotated

import typer

from germane.cli.global_options import GlobalOptions, finish, setting
from germane.cli.screen import answer, console
from germane.errors import NotFound

__all__ = ["feedback"]


def feedback(
    context: typer.Context,
    ids: Annotated[list[str], typer.Argument(help="Ids of memories.")],
    helpful: Annotated[bool, typer.Option("--helpful/--harmful", help="Whether they helped.")] = True,
) -> None:
    """Mark memories as helpful or harmful, which moves their usefulness."""
    chosen = setting(context)
    count = finish(_feedback(chosen, ids, helpful))
    if not count:
        named = "this id" if len(ids) == 1 else "these ids"
        shared = "; what is agent-wide is marked without --user" if chosen.user else ""
        raise NotFound(f"no memory with {named} here (germane search --json shows ids{shared})")
    if chosen.json:
        answer({"marked": count, "helpful": helpful})
    else:
        console().print(f"marked {count} as {'helpful' if helpful else 'harmful'}")


async def _feedback(chosen: GlobalOptions, ids: list[str], helpful: bool) -> int:
    async with chosen.opened() as (_, agent):
        count: int = await agent.feedback(tuple(ids), helpful=helpful)
        return count
