"""`germane digest`: prints the memories that matter for a question, as a list with ids and provenance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from germane.cli.filter_options import FilterOptions
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.option_groups import expand_groups
from germane.cli.screen import console, print_json

if TYPE_CHECKING:
    from germane.api.digest import MemoryDigest
    from germane.types.query import Filters

__all__ = ["digest"]


@expand_groups
def digest(
    context: typer.Context,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="The task or question that the memories are for.")],
    filters: FilterOptions,
    model: Annotated[str, typer.Option(help="The model whose tokens are counted.")] = "gpt-4o",
    strategy: Annotated[str, typer.Option(help="digest, or one of your settings.")] = "digest",
    session: Annotated[str | None, typer.Option(help="The id of the running conversation.")] = None,
    at: Annotated[str | None, typer.Option(help="As of this time (ISO 8601). Default: now.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=0, help="At most this many tokens.")] = None,
) -> None:
    """Print the memory digest for a question: a prompt part of its own, within the budgets of memory.v1 in the settings.

    \b
      germane digest "When do we launch?" --user ada
      germane --settings agent.yml digest "When do we launch?"
    """
    options = options_of(context)
    found = run_async(
        _digest(
            options,
            query,
            filters.filters(options),
            model=model,
            strategy=strategy,
            session=session,
            at=options.parse_time(at, "--at"),
            max_tokens=max_tokens,
        )
    )
    if options.json:
        items = [{"id": item.id, "tokens": item.tokens, "share": item.share} for item in found.items]
        print_json({"text": found.text, "status": found.status, "tokens": found.tokens, "items": items})
    else:
        console().print(found.text, markup=False, highlight=False, soft_wrap=True)


async def _digest(options: GlobalOptions, query: str, filters: Filters, **asked: Any) -> MemoryDigest:
    from germane.types.query import Filters

    async with options.open_store(warm=True) as (_, agent):
        chosen = None if filters == Filters() else filters  # what the settings allow, unless something is asked for
        return await agent.digest(query, filters=chosen, deadline=None, **asked)
