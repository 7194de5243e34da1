"""`germane forget`: remove memories and messages for good, after asking."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from germane.cli.exits import Exit
from germane.cli.global_options import GlobalOptions, finish, setting
from germane.cli.screen import answer, console
from germane.errors import InvalidInput

__all__ = ["forget"]


def forget(
    context: typer.Context,
    ids: Annotated[list[str] | None, typer.Argument(help="Ids of memories or messages.")] = None,
    key: Annotated[str | None, typer.Option(help="All facts on this key.")] = None,
    tag: Annotated[str | None, typer.Option(help="All memories with this tag.")] = None,
    session: Annotated[str | None, typer.Option(help="All of this conversation.")] = None,
    everything: Annotated[
        bool, typer.Option("--everything", help="All that the agent, or with --user that user, has.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would go; remove nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
    reason: Annotated[str, typer.Option(help="Kept with the tombstone, which holds no content.")] = "",
) -> None:
    """Forget by id, key, tag or session, or everything. What is forgotten is gone from the file.

    Again is fine: it says whether anything is still left in the file, and why.
    """
    chosen = setting(context)
    if not (ids or key or tag or session or everything):
        raise InvalidInput("nothing named to forget (give ids, --key, --tag, --session or --everything)")
    if chosen.json and not (yes or dry_run):
        raise InvalidInput("forget asks first: with --json, pass --yes or --dry-run")
    named: dict[str, Any] = {"ids": tuple(ids) if ids else None, "key": key, "tag": tag, "session": session}
    finish(_forget(chosen, {**named, "everything": everything}, dry_run=dry_run, yes=yes, reason=reason))


async def _forget(chosen: GlobalOptions, named: dict[str, Any], *, dry_run: bool, yes: bool, reason: str) -> None:
    async with chosen.opened() as (_, agent):
        receipt = await agent.forget(**named, dry_run=True)
        what = f"{len(receipt.memory_ids)} memories and {len(receipt.event_ids)} messages"
        found = bool(receipt.memory_ids or receipt.event_ids or named["everything"])
        if not found and not dry_run:
            receipt = await agent.forget([])  # nobody agreed to anything: only how it is with what was forgotten before
        elif not dry_run:
            if not yes and not _agreed(what, chosen):
                console(stderr=True).print("nothing was forgotten")
                raise typer.Exit(Exit.FAILED)
            receipt = await agent.forget(**named, reason=reason)
            what = f"{len(receipt.memory_ids)} memories and {len(receipt.event_ids)} messages"
    if chosen.json:
        answer(
            {
                "memory_ids": list(receipt.memory_ids),
                "event_ids": list(receipt.event_ids),
                "dry_run": dry_run,
                "scrubbed": receipt.scrubbed,
                "waiting_for": receipt.waiting_for,
            }
        )
        return
    if not found:
        console().print("nothing matches: there is nothing to forget")
    else:
        console().print(f"{'would forget' if dry_run else 'forgot'} {what}")
    if receipt.waiting_for:
        console().print(f"some of it is still left in the file: that waits for {receipt.waiting_for}")
        console().print("it is finished as soon as that ends; germane doctor tells, and so does forgetting the same again")


def _agreed(what: str, chosen: GlobalOptions) -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        raise InvalidInput(f"forget asks first and nobody is there to answer: pass --yes to forget {what}")
    return typer.confirm(f"Forget {what} in {chosen.db} for good?", err=True)
