"""`germane search`, `about`, `digest`: search memories and messages; all about a name; the memories for a question."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from germane.cli.hints import other_scopes
from germane.cli.options import FilterOptions, GlobalOptions, expand_groups, options_of, run_async
from germane.cli.screen import ListColumn, console, plain, print_hints, print_json, print_listing

if TYPE_CHECKING:
    from germane.api.digest import MemoryDigest
    from germane.api.verbs.about import AboutEntity
    from germane.types.candidate import Chosen, Scored
    from germane.types.query import Filters


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
    rows = []
    for hit in hits:
        candidate = hit.candidate
        by = candidate.title if candidate.category == "document" else candidate.speaker
        text = f"{by}: {candidate.text}" if by else candidate.text
        rows.append((hit.id, f"{hit.score:.3f}", f"{candidate.created_at:%Y-%m-%d}", plain(text, 240)))
    said = () if hits else ("nothing found", *hints)
    print_listing(options.json, {"query": query, "hits": [hit_shape(hit) for hit in hits]}, _COLUMNS, rows, hints=said)


async def _search(
    options: GlobalOptions, query: str, limit: int, filters: Filters, at: datetime | None
) -> tuple[tuple[Scored, ...], list[str]]:
    async with options.open_store() as (germane, agent):
        hits = await agent.search(query, limit=limit, filters=filters, at=at)
        if hits:
            return hits, []
        counted = await agent.stats()
        return hits, [] if counted.memories or counted.messages else await other_scopes(germane, options)


# `germane about`: everything that is known about a person or a thing, what holds now first.


@expand_groups
def about(
    context: typer.Context,
    filters: FilterOptions,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The name of a person or a thing. Default: me, the user.")
    ] = None,
    at: Annotated[str | None, typer.Option(help="As of this time (ISO 8601). Default: now.")] = None,
    max_tokens: Annotated[int, typer.Option(min=1, help="At most this many tokens.")] = 1000,
    model: Annotated[str, typer.Option(help="The model whose tokens are counted.")] = "gpt-4o",
    prompt: Annotated[bool, typer.Option("--prompt", help="Print the text as a prompt would hold it.")] = False,
) -> None:
    """Print everything that is known about a person or a thing: what holds now, what no longer holds, and the messages that
    name it. Without a NAME, or by a word for oneself such as me, it is about the user.

    \b
      germane about --user caroline
      germane about Caroline --user ada
      germane about Caroline --user ada --at 2024-05-01 --json
    """
    options = options_of(context)
    found, hints = run_async(
        _about(
            options,
            name,
            filters=filters.filters(options),
            at=options.parse_time(at, "--at"),
            max_tokens=max_tokens,
            model=model,
        )
    )
    if options.json:
        groups = {"current": found.current, "earlier": found.earlier, "mentions": found.mentions}
        listed = {group: [_about_shape(item) for item in items] for group, items in groups.items()}
        print_json({"name": found.name, **listed, "tokens": found.tokens, "left_out": found.left_out, "hints": found.hints})
    elif prompt:
        console().print(found.text, markup=False, highlight=False, soft_wrap=True)
    else:
        console().print("\n".join(_about_lines(found)), markup=False, highlight=False, soft_wrap=True)
        print_hints(console(), hints)


async def _about(options: GlobalOptions, name: str | None, *, filters: Filters, **asked: Any) -> tuple[AboutEntity, list[str]]:
    async with options.open_store(warm=True) as (germane, agent):
        found = await agent.about(name, filters=filters, **asked)
        if _knows(found) or (stored := await agent.stats()).memories or stored.messages:
            return found, []
        return found, await other_scopes(germane, options)


def _knows(found: AboutEntity) -> bool:
    return bool(found.current or found.earlier or found.mentions)


def _about_lines(found: AboutEntity) -> list[str]:
    if not _knows(found):
        like = f" Names like it: {', '.join(map(plain, found.hints))}." if found.hints else ""
        return [f"Nothing is known about {plain(found.name)} here.{like}"]
    lines = [f"{', '.join(map(plain, found.hints))} write here, and are known together:", ""] if found.hints else list[str]()
    for title, items in (("Now", found.current), ("Earlier", found.earlier), ("Said", found.mentions)):
        if items:
            lines += ["", title] if lines and lines[-1] else [title]
            lines += [f"  {_dated(item)}{plain(item.text)}" for item in items]
    if found.left_out:
        lines += ["", f"{found.left_out} more didn't fit into the tokens: give more with --max-tokens."]
    return lines


def _dated(item: Chosen) -> str:
    said = item.scored.candidate
    if said.category != "conversation":
        return ""
    by = plain(said.speaker or said.role)
    return f"{said.created_at:%Y-%m-%d} {by}: " if by else f"{said.created_at:%Y-%m-%d} "


def _about_shape(item: Chosen) -> dict[str, Any]:
    said = item.scored.candidate
    return {
        "id": item.id,
        "text": item.text,
        "category": item.category,
        "at": said.created_at.isoformat(),
        "speaker": said.speaker or None,
        "tokens": item.tokens,
    }


# `germane digest`: the memories that matter for a question, as a list with ids and provenance.


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
