"""`germane forget`: erases memories, messages and blocks for good, after a question."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from germane.cli.commands.documents import named_document
from germane.cli.exits import Exit
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.screen import console, print_json
from germane.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from germane.api.agent import Agent
    from germane.memories.receipt import Receipt

__all__ = ["forget"]

_LEAST, _BEYOND_HYPHEN, _WHOLE = 4, 10, 36
"""Characters of the beginning of an id that are enough where somebody is asked, where nobody is, and of a whole id."""


def forget(
    context: typer.Context,
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID", help="Ids of memories and messages, or their first characters; ids of blocks and entries."
        ),
    ] = None,
    key: Annotated[str | None, typer.Option(help="Every fact with this key.")] = None,
    tag: Annotated[str | None, typer.Option(help="Every memory with this tag.")] = None,
    session: Annotated[str | None, typer.Option(help="The messages of this conversation and the memories made in it.")] = None,
    document: Annotated[
        str | None, typer.Option(metavar="SOURCE", help="This document with its passages, by its source, path or title.")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="What came from this kind of source: user, operator, tool, system, import."),
    ] = None,
    channel: Annotated[str | None, typer.Option(help="What came through this channel.")] = None,
    everything: Annotated[
        bool, typer.Option("--everything", help="All data of the agent, or with --user of that user.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count what would be erased; erase nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask for confirmation.")] = False,
    reason: Annotated[str, typer.Option(help="A note to keep with the record of the erasure, which holds no content.")] = "",
) -> None:
    """Erase memories and messages by id, key, tag, session or source, or everything. Their bytes are overwritten in the file.

    It is safe to run the same command again: it then reports whether bytes are still left in the file, and why.
    """
    options = options_of(context)
    if not (ids or key or tag or session or document or source or channel or everything):
        raise InvalidInput(
            "nothing named to forget (give ids, --key, --tag, --session, --document, --source, --channel or --everything)"
        )
    if document is not None and session is not None:
        raise InvalidInput("--document and --session exclude each other: a document is a session of its own")
    if options.json and not (yes or dry_run):
        raise InvalidInput("forget asks first: with --json, pass --yes or --dry-run")
    criteria: dict[str, Any] = {
        "ids": tuple(ids) if ids else None,
        "key": key,
        "tag": tag,
        "session": session,
        "source_kind": source,
        "channel": channel,
        "everything": everything,
    }
    run_async(_forget(options, criteria, document, dry_run=dry_run, yes=yes, reason=reason))


async def _forget(
    options: GlobalOptions, criteria: dict[str, Any], document: str | None, *, dry_run: bool, yes: bool, reason: str
) -> None:
    async with options.open_store() as (_, agent):
        if document is not None:
            kept = await named_document(agent, document)
            if kept.user != options.user:
                raise InvalidInput(f"{kept.title} belongs to all users of the agent: leave out --user to forget it")
            criteria["session"] = kept.session
        criteria["ids"] = await _whole_ids(agent, criteria["ids"], yes=yes and not dry_run)
        receipt = await agent.forget(**criteria, dry_run=True)
        counts = _counts(receipt)
        matches = bool(len(receipt) or criteria["everything"])
        if not matches and not dry_run:
            # Nothing was confirmed, so nothing is erased: this call only reports the state of earlier erasures.
            receipt = await agent.forget([])
        elif not dry_run:
            if not yes and not _confirmed(counts, options):
                console(stderr=True).print("nothing was forgotten")
                raise typer.Exit(Exit.FAILED)
            receipt = await agent.forget(**criteria, reason=reason)
            counts = _counts(receipt)
    if options.json:
        print_json(
            {
                "memory_ids": list(receipt.memory_ids),
                "event_ids": list(receipt.event_ids),
                "block_ids": list(receipt.block_ids),
                "history_ids": list(receipt.history_ids),
                "matched": receipt.matched,
                "dry_run": dry_run,
                "scrubbed": receipt.scrubbed,
                "waiting_for": receipt.waiting_for,
                "checked": list(receipt.checked),
            }
        )
        return
    if not matches:
        console().print("nothing matches: there is nothing to forget")
    else:
        console().print(f"{'would forget' if dry_run else 'forgot'} {counts}")
    if receipt.waiting_for:
        console().print(f"some of it is still left in the file: that waits for {receipt.waiting_for}")
        console().print("it is finished as soon as that ends; germane doctor tells, and so does forgetting the same again")


async def _whole_ids(agent: Agent, ids: tuple[str, ...] | None, *, yes: bool) -> tuple[str, ...] | None:
    """Completes the beginnings of ids. A message id of the caller's may look like one: so where nobody is asked, only what
    reaches beyond the first hyphen of an id is completed."""
    if ids is None:
        return None
    least = _BEYOND_HYPHEN if yes else _LEAST
    return tuple([await _whole_id(agent, id) if least <= len(id) < _WHOLE else id for id in ids])


async def _whole_id(agent: Agent, id: str) -> str:
    """Your own id of a message stays, so that it stands for all messages that have it."""
    if await agent.forget([id], dry_run=True):
        return id
    try:
        return (await agent.find(id)).id
    except NotFound:
        return id


def _counts(receipt: Receipt) -> str:
    blocks = f" and {len(receipt.block_ids)} blocks or archived texts" if receipt.block_ids else ""
    history = f" and {len(receipt.history_ids)} kept parts of compacted conversations" if receipt.history_ids else ""
    return f"{len(receipt.memory_ids)} memories and {len(receipt.event_ids)} messages{blocks}{history}"


def _confirmed(counts: str, options: GlobalOptions) -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        raise InvalidInput(f"forget asks first and nobody is there to answer: pass --yes to forget {counts}")
    return typer.confirm(f"Forget {counts} in {options.db} for good?", err=True)
