"""`germane search`: what would be found for a question, best first."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from germane.cli.global_options import GlobalOptions, finish, setting
from germane.cli.narrowing import Allow, Kind, Narrowing, Since, Tag, Until, filters
from germane.cli.screen import answer, console, plain, table

if TYPE_CHECKING:
    from germane.types.candidate import Scored
    from germane.types.query import Filters

__all__ = ["search"]


def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="Any text.")],
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 10,
    at: Annotated[str | None, typer.Option(help="The time asked about (ISO 8601); now by default.")] = None,
    since: Since = None,
    until: Until = None,
    kind: Kind = None,
    tag: Tag = None,
    allow: Allow = None,
) -> None:
    """Search memories and messages."""
    from germane.cli.shapes import hit_shape

    chosen = setting(context)
    narrowed = filters(chosen, Narrowing(since=since, until=until, kinds=kind, tags=tag, allow=allow))
    hits = finish(_search(chosen, query, limit, narrowed, chosen.moment(at, "--at")))
    if chosen.json:
        answer({"query": query, "hits": [hit_shape(hit) for hit in hits]})
        return
    where = console()
    if not hits:
        where.print("nothing found")
        return
    rows = table("rank", "score", "when", "id", "text", right=("rank", "score", "id", "when"))
    for hit in hits:
        found = hit.candidate
        said = f"{found.speaker}: {found.text}" if found.speaker else found.text
        rows.add_row(str(hit.rank), f"{hit.score:.3f}", f"{found.created_at:%Y-%m-%d}", hit.id, plain(said, 240))
    where.print(rows)


async def _search(chosen: GlobalOptions, query: str, limit: int, narrowed: Filters, at: datetime | None) -> tuple[Scored, ...]:
    async with chosen.opened() as (_, agent):
        hits: tuple[Scored, ...] = await agent.recall(query, limit=limit, filters=narrowed, at=at)
        return hits
