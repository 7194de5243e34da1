"""`germane search`: searches memories and messages."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from germane.cli.elsewhere import elsewhere, print_hints
from germane.cli.filter_options import FilterOptions
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.listing import ListColumn, print_rows
from germane.cli.option_groups import expand_groups
from germane.cli.screen import console, plain, print_json

if TYPE_CHECKING:
    from germane.types.candidate import Scored
    from germane.types.query import Filters

__all__ = ["search"]

_COLUMNS = (ListColumn("id", id=True), ListColumn("score"), ListColumn("when"), ListColumn("text"))


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
    hits, hints = run_async(_search(options, query, limit, filters.filters(options), options.parse_time(at, "--at")))
    if options.json:
        print_json({"query": query, "hits": [hit_shape(hit) for hit in hits]})
        return
    screen = console()
    if not hits:
        print_hints(screen, ("nothing found", *hints))
        return
    rows = []
    for hit in hits:
        candidate = hit.candidate
        by = candidate.title if candidate.category == "document" else candidate.speaker
        text = f"{by}: {candidate.text}" if by else candidate.text
        rows.append((hit.id, f"{hit.score:.3f}", f"{candidate.created_at:%Y-%m-%d}", plain(text, 240)))
    print_rows(screen, _COLUMNS, rows)


async def _search(
    options: GlobalOptions, query: str, limit: int, filters: Filters, at: datetime | None
) -> tuple[tuple[Scored, ...], list[str]]:
    async with options.open_store() as (germane, agent):
        hits = await agent.recall(query, limit=limit, filters=filters, at=at)
        if hits:
            return hits, []
        counted = await agent.stats()
        return hits, [] if counted.memories or counted.messages else await elsewhere(germane, options)
