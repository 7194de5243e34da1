"""`germane ingest` and `germane documents`: store files and folders as documents, and list or print them.

The passages of a document are found like messages.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from germane.cli.files import read_bytes
from germane.cli.hints import other_scopes
from germane.cli.options import GlobalOptions, options_of, run_async
from germane.cli.screen import (
    ListColumn,
    console,
    plain,
    print_fields,
    print_json,
    print_listing,
    secrets_line,
    told_progress,
)
from germane.errors import InvalidInput, NotFound
from germane.types.codec import encode

if TYPE_CHECKING:
    from germane.api.agent import Agent
    from germane.kinds.documents.handle import SkippedFile
    from germane.kinds.documents.value import DocumentPage, Ingested, KeptDocument
    from germane.kinds.events.value import Event


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
        _print_document(options, *run_async(_document_with_passages(options, source, limit, cursor)))
        return
    page, hints = run_async(_document_page(options, limit, cursor))
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
    print_listing(options.json, encode(page), _DOCUMENT, rows, cursor=page.cursor, hints=hints)


def _print_document(options: GlobalOptions, document: KeptDocument, passages: tuple[Event, ...], cursor: str | None) -> None:
    from germane.cli.json_shapes import message_shape
    from germane.kinds.documents.value import place_label
    from germane.kinds.documents.value import without_heading as body

    shapes = [message_shape(event) for event in passages]
    fields = [
        ("title", document.title),
        ("source", document.source),
        ("type", document.media_type),
        ("of", document.user or "all users"),
        ("passages", f"{document.passages:,}"),
        ("updated", f"{document.updated_at:%Y-%m-%d %H:%M}"),
        ("state", "" if document.complete else "incomplete: ingest it again"),
    ]
    if not options.json:
        print_fields(console(), fields)
    rows = [(one.id, place_label(one.provenance.metadata), plain(" ".join(body(one.text).split()), 160)) for one in passages]
    whole = {"document": encode(document), "passages": shapes, "cursor": cursor}
    print_listing(options.json, whole, _PASSAGE, rows, cursor=cursor)


async def named_document(agent: Agent, source: str) -> KeptDocument:
    """Returns a document by its source, its title, or the path of its file. Raises `NotFound`."""
    try:
        return await agent.documents.get(source)
    except NotFound:
        path = os.path.realpath(source)  # noqa: ASYNC240
        if path == source or len(path) > 240:
            raise
        return await agent.documents.get(path)


async def _document_page(options: GlobalOptions, limit: int, cursor: str | None) -> tuple[DocumentPage, list[str]]:
    async with options.open_store() as (germane, agent):
        page = await agent.documents.list(limit=limit, cursor=cursor)
        return page, [] if page.documents else ["no documents here", *await other_scopes(germane, options)]


async def _document_with_passages(
    options: GlobalOptions, source: str, limit: int, cursor: str | None
) -> tuple[KeptDocument, tuple[Event, ...], str | None]:
    async with options.open_store() as (_, agent):
        document = await named_document(agent, source)
        page = await agent.messages(document.session, limit=limit, cursor=cursor)
        return document, page.messages, page.cursor


# `germane ingest`: stores files and folders.


_MAX_REASONS = 5


def ingest(
    context: typer.Context,
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Files or folders; - is a text on standard input.")],
    source: Annotated[
        str | None,
        typer.Option(help="What the document is found and replaced by. Default: its whole path; for a folder, a prefix."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="The title that is shown. Default: the file's name.")] = None,
    media_type: Annotated[
        str | None, typer.Option(metavar="TYPE", help="Such as text/markdown. Default: by name and content.")
    ] = None,
    agent_wide: Annotated[bool, typer.Option("--agent-wide", help="Store it for all users of the agent.")] = False,
    sensitivity: Annotated[str, typer.Option(help="public, private or sensitive; sensitive isn't shown unasked.")] = "private",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read the files and say what would be stored.")] = False,
) -> None:
    """Store documents: text, Markdown, code, logs, HTML, and PDF with the extra documents. They are divided into passages that
    search and assemble find.

    Idempotent: ingesting a file again adds nothing; of a changed file only what changed is stored, and what is gone is
    forgotten. In a folder, hidden files, links and installed packages are left out."""
    options = options_of(context)
    if len(paths) > 1 and (source or title):
        raise InvalidInput("--source and --title are for one path: ingest the others without them")
    if "-" in paths and source is None:
        raise InvalidInput("a text on standard input needs --source, by which it is found and replaced")
    given: dict[str, Any] = {"agent_wide": agent_wide, "sensitivity": sensitivity, "dry_run": dry_run, "source": source}
    documents, skipped = run_async(_ingest(options, paths, given, {"title": title, "media_type": media_type}))
    if options.json:
        print_json(
            {
                "documents": [_ingested_shape(one) for one in documents],
                "skipped": [{"path": one.path, "reason": one.reason} for one in skipped],
            }
        )
    else:
        _print_ingested(documents, dry_run)
    for one in skipped[:_MAX_REASONS]:
        console(stderr=True).print(f"skipped {plain(one.path, 300)}: {plain(one.reason.removeprefix(f'{one.path}: '), 300)}")
    if len(skipped) > _MAX_REASONS:
        console(stderr=True).print(f"… and {len(skipped) - _MAX_REASONS} more (--json lists them)")
    if not documents:
        raise InvalidInput("nothing in it could be ingested")


async def _ingest(
    options: GlobalOptions, paths: list[str], given: dict[str, Any], more: dict[str, Any]
) -> tuple[list[Ingested], list[SkippedFile]]:
    documents: list[Ingested] = []
    skipped: list[SkippedFile] = []
    async with options.open_store(create=True) as (_, agent):
        for path in paths:
            with told_progress("reading", options.json) as told:
                await _ingest_one(agent, path, given, more, told, documents, skipped)
    return documents, skipped


async def _ingest_one(
    agent: Agent,
    path: str,
    given: dict[str, Any],
    more: dict[str, Any],
    told: Callable[[int, int], None],
    documents: list[Ingested],
    skipped: list[SkippedFile],
) -> None:
    if path == "-":
        text = read_bytes(path).decode("utf-8", "replace")
        documents.append(await agent.documents.ingest(text=text, progress=told, **given, **more))
    elif Path(path).is_dir():  # noqa: ASYNC240
        found = await agent.documents.ingest_folder(path, progress=told, **given)
        documents += found.documents
        skipped += found.skipped
    else:
        documents.append(await agent.documents.ingest(path, progress=told, **given, **more))


def _print_ingested(documents: list[Ingested], dry_run: bool) -> None:
    screen = console()
    changed = [one for one in documents if one.outcome != "unchanged"]
    for one in changed:
        screen.print(f"{plain(one.title, 200)}: {_passage_counts(one)}", soft_wrap=False)
        if one.secrets:
            screen.print(f"  {secrets_line(one.secrets)}")
    same = len(documents) - len(changed)
    if same:
        screen.print(f"{same} {'document' if same == 1 else 'documents'} unchanged")
    if len(changed) > 1:
        total = sum(one.added for one in changed)
        screen.print(f"{len(changed)} documents, {total:,} new passages")
    if dry_run and changed:
        screen.print("nothing was stored (--dry-run)")


def _passage_counts(one: Ingested) -> str:
    if one.outcome == "added":
        return f"{one.added:,} {'passage' if one.added == 1 else 'passages'}"
    return f"{one.added:,} new, {one.kept:,} kept, {one.removed:,} gone"


def _ingested_shape(one: Ingested) -> dict[str, Any]:
    return {
        "source": one.source,
        "session": one.session,
        "title": one.title,
        "media_type": one.media_type,
        "outcome": one.outcome,
        "added": one.added,
        "kept": one.kept,
        "removed": one.removed,
        "bytes": one.size,
        "secrets": dict(one.secrets),
        "dry_run": one.dry_run,
    }
