"""`germane block archive` and `search`: keep texts for later searches, and find them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from germane.cli.block_options import json_object
from germane.cli.block_screen import print_entries
from germane.cli.codec import encode
from germane.cli.files import read_text
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.screen import console, plain, print_json, secrets_line

if TYPE_CHECKING:
    from germane.blocks.entry import ArchivalEntry, FoundEntry

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Adds the commands to the group."""
    app.command("archive", short_help="Keep a text for later searches.")(archive)
    app.command("search", short_help="Search archived texts and archival blocks.")(search)


def archive(
    context: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text; - reads it from standard input.")],
    metadata: Annotated[
        str | None, typer.Option(metavar="JSON", help="What else is known of it; its words are searched too.")
    ] = None,
) -> None:
    """Keep a text for later searches. It is never changed; germane forget ID removes it."""
    options = options_of(context)
    content = read_text("-").strip() if text == "-" else text
    known = None if metadata is None else json_object(metadata, "--metadata")
    entry = run_async(_archive(options, content, known))
    if options.json:
        print_json(encode(entry))
        return
    console().print(f"archived {entry.id}: {plain(entry.text, 200)}")
    if entry.secrets:
        console().print(secrets_line(entry.secrets))


def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="The text to search for: words, or a question.")],
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Print at most this many results.")] = 10,
) -> None:
    """Search archived texts and archival blocks. The best result comes first."""
    options = options_of(context)
    found = run_async(_search(options, query, limit))
    if options.json:
        print_json({"query": query, "entries": [{**encode(one.entry), "relevance": one.relevance} for one in found]})
    elif not found:
        console().print("nothing found")
    else:
        print_entries([(one.entry, one.relevance) for one in found])


async def _archive(options: GlobalOptions, text: str, metadata: dict[str, Any] | None) -> ArchivalEntry:
    async with options.open_store(create=True) as (_, agent):
        return await agent.blocks.archive(text, metadata)


async def _search(options: GlobalOptions, query: str, limit: int) -> tuple[FoundEntry, ...]:
    async with options.open_store() as (_, agent):
        return await agent.blocks.search_archive(query, limit)
