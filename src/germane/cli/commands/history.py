"""`germane history`: prints a memory with all that superseded it or that it superseded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from germane.cli.elsewhere import whereabouts
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.listing import ListColumn, print_rows
from germane.cli.screen import console, plain, print_json
from germane.errors import NotFound

if TYPE_CHECKING:
    from germane.memories.memory import Memory

__all__ = ["history"]

_COLUMNS = (ListColumn("id", id=True), ListColumn("from"), ListColumn("to"), ListColumn("text"))


def history(
    context: typer.Context,
    id: Annotated[str, typer.Argument(metavar="ID", help="The memory's id, or its first characters (4 or more).")],
) -> None:
    """Print a memory's history, oldest first: what it superseded, and what superseded it."""
    from germane.cli.json_shapes import memory_shape

    options = options_of(context)
    line = run_async(_history(options, id))
    if options.json:
        print_json({"memories": [memory_shape(memory) for memory in line]})
        return
    rows = [
        (
            memory.id,
            f"{memory.valid_from:%Y-%m-%d %H:%M}",
            "now" if memory.valid_to is None else f"{memory.valid_to:%Y-%m-%d %H:%M}",
            plain(memory.text, 240),
        )
        for memory in line
    ]
    print_rows(console(), _COLUMNS, rows)


async def _history(options: GlobalOptions, id: str) -> tuple[Memory, ...]:
    async with options.open_store() as (germane, agent):
        try:
            found: tuple[Memory, ...] = await agent.memories.history(id)
        except NotFound as missing:
            if where := await whereabouts(germane, options, id):
                raise NotFound(f"{missing} ({where})") from None
            raise
        return found
