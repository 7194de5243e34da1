"""`germane documents`: lists the documents of a scope, and prints one with its passages."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from germane.cli.codec import encode
from germane.cli.elsewhere import elsewhere, print_hints
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.listing import ListColumn, print_fields, print_rows
from germane.cli.screen import console, plain, print_json
from germane.errors import NotFound

if TYPE_CHECKING:
    from germane.api.agent import Agent
    from germane.documents.document import DocumentPage, KeptDocument
    from germane.events.event import Event

__all__ = ["documents", "named_document"]

_DOCUMENT = (
    ListColumn("title"),
    ListColumn("passages", number=True),
    ListColumn("updated"),
    ListColumn("of"),
    ListColumn("source"),
)
_PASSAGE = (ListColumn("id", id=True), ListColumn("where"), ListColumn("text"))


def documents(
    context: typer.Context,
    source: Annotated[
        str | None,
        typer.Argument(metavar="SOURCE", help="A document, by its source, path or title. Default: list all of them."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Print at most this many documents or passages.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Continue where a listing ended.")] = None,
) -> None:
    """List the documents; the one that was ingested last comes first. With SOURCE, print that document's passages, the
    last ones first."""
    options = options_of(context)
    if source is not None:
        _print_one(options, *run_async(_one(options, source, limit, cursor)))
        return
    page, hints = run_async(_page(options, limit, cursor))
    if options.json:
        print_json(encode(page))
        return
    screen = console()
    rows = [
        (
            plain(one.title, 120),
            str(one.passages),
            f"{one.updated_at:%Y-%m-%d %H:%M}{'' if one.complete else ' (incomplete)'}",
            one.user or "all users",
            one.source,
        )
        for one in page.documents
    ]
    print_rows(screen, _DOCUMENT, rows)
    if page.cursor:
        screen.print(f"… and more: add --cursor {page.cursor}", soft_wrap=True)
    print_hints(screen, hints)


def _print_one(options: GlobalOptions, document: KeptDocument, passages: tuple[Event, ...], cursor: str | None) -> None:
    from germane.cli.json_shapes import message_shape
    from germane.documents.passage import body, place_label

    if options.json:
        shapes = [message_shape(event) for event in passages]
        print_json({"document": encode(document), "passages": shapes, "cursor": cursor})
        return
    screen = console()
    fields = [
        ("title", document.title),
        ("source", document.source),
        ("type", document.media_type),
        ("of", document.user or "all users"),
        ("passages", f"{document.passages:,}"),
        ("updated", f"{document.updated_at:%Y-%m-%d %H:%M}"),
        ("state", "" if document.complete else "incomplete: ingest it again"),
    ]
    print_fields(screen, fields)
    rows = [(one.id, place_label(one.provenance.metadata), plain(" ".join(body(one.text).split()), 160)) for one in passages]
    print_rows(screen, _PASSAGE, rows)
    if cursor:
        screen.print(f"… and more: add --cursor {cursor}", soft_wrap=True)


async def named_document(agent: Agent, source: str) -> KeptDocument:
    """Returns a document by its source, its title, or the path of its file. Raises `NotFound`."""
    try:
        return await agent.documents.get(source)
    except NotFound:
        path = os.path.realpath(source)  # noqa: ASYNC240
        if path == source or len(path) > 240:
            raise
        return await agent.documents.get(path)


async def _page(options: GlobalOptions, limit: int, cursor: str | None) -> tuple[DocumentPage, list[str]]:
    async with options.open_store() as (germane, agent):
        page = await agent.documents.list(limit=limit, cursor=cursor)
        return page, [] if page.documents else ["no documents here", *await elsewhere(germane, options)]


async def _one(
    options: GlobalOptions, source: str, limit: int, cursor: str | None
) -> tuple[KeptDocument, tuple[Event, ...], str | None]:
    async with options.open_store() as (_, agent):
        document = await named_document(agent, source)
        page = await agent.messages(document.session, limit=limit, cursor=cursor)
        return document, page.messages, page.cursor
