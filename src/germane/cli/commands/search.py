"""`germane search`: searches memories and messages."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from germane.cli.filter_options import FilterOptions
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.option_groups import expand_groups
from germane.cli.screen import console, plain, print_json, table

if TYPE_CHECKING:
    from germane.types.candidate import Scored
    from germane.types.query import Filters

__all__ = ["search"]


@expand_groups
def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="The text to search for: words, or a question.")],
    filters: FilterOptions,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Print at most this many results.")] = 10,
    at: Annotated[str | None, typer.Option(help="Search as of this time (ISO 8601). Default: now.")] = None,
) -> None:
    """Search memories and messages. The best result comes first."""
    from germane.cli.json_shapes import hit_shape

    options = options_of(context)
    hits = run_async(_search(options, query, limit, filters.filters(options), options.parse_time(at, "--at")))
    if options.json:
        print_json({"query": query, "hits": [hit_shape(hit) for hit in hits]})
        return
    screen = console()
    if not hits:
        screen.print("nothing found")
        return
    rows = table("rank", "score", "when", "id", "text", right=("rank", "score", "id", "when"))
    for hit in hits:
        candidate = hit.candidate
        text = f"{candidate.speaker}: {candidate.text}" if candidate.speaker else candidate.text
        rows.add_row(str(hit.rank), f"{hit.score:.3f}", f"{candidate.created_at:%Y-%m-%d}", hit.id, plain(text, 240))
    screen.print(rows)


async def _search(options: GlobalOptions, query: str, limit: int, filters: Filters, at: datetime | None) -> tuple[Scored, ...]:
    async with options.open_store() as (_, agent):
        hits: tuple[Scored, ...] = await agent.recall(query, limit=limit, filters=filters, at=at)
        return hits
