"""`germane consolidate`: brings the memories of a scope within a storage budget, after a question."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from germane.cli.exits import Exit
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.screen import console, print_json, told_progress
from germane.errors import InvalidInput

if TYPE_CHECKING:
    from germane.api.consolidating import Consolidated
    from germane.memories.consolidation.holding import Holdings

__all__ = ["consolidate"]

_UNITS = {"": 1, "kb": 1_000, "mb": 1_000_000, "gb": 1_000_000_000, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}


def consolidate(
    context: typer.Context,
    max_memories: Annotated[int | None, typer.Option(min=0, help="At most so many memories.")] = None,
    max_bytes: Annotated[str | None, typer.Option(metavar="SIZE", help="At most so many bytes: 500000, 20MB, 1GiB.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Report what would be done; change nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask for confirmation.")] = False,
) -> None:
    """Keep a storage budget: merge duplicates, compress the oldest episodes into notes, drop vectors, then evict the least
    valuable memories for good. Pinned memories, preferences, behaviors and messages stay."""
    options = options_of(context)
    if options.json and not (yes or dry_run):
        raise InvalidInput("consolidate asks first: with --json, pass --yes or --dry-run")
    size = None if max_bytes is None else _bytes(max_bytes)
    report = run_async(_consolidate(options, max_memories, size, dry_run=dry_run, yes=yes))
    if options.json:
        print_json(_shape(report))
    else:
        _show(report)


def _bytes(text: str) -> int:
    found = re.fullmatch(r"(\d{1,18})\s?([a-z]{0,3})", text.strip().lower())
    if found is None or found[2] not in _UNITS:
        raise InvalidInput("--max-bytes isn't a size: write 500000, 20MB or 1GiB")
    return int(found[1]) * _UNITS[found[2]]


async def _consolidate(
    options: GlobalOptions, max_memories: int | None, max_bytes: int | None, *, dry_run: bool, yes: bool
) -> Consolidated:
    async with options.open_store() as (_, agent):
        plan = await agent.consolidate(max_memories=max_memories, max_bytes=max_bytes, dry_run=True)
        changes = len(plan.merged) + len(plan.compressed) + len(plan.vectors_dropped) + len(plan.evicted)
        if dry_run or not changes:
            return plan
        if not yes and not _confirmed(plan, options):
            console(stderr=True).print("nothing was changed")
            raise typer.Exit(Exit.FAILED)
        with told_progress("consolidating", options.json) as told:
            return await agent.consolidate(max_memories=max_memories, max_bytes=max_bytes, progress=told)


def _confirmed(plan: Consolidated, options: GlobalOptions) -> bool:
    said = f"forget {plan.before.memories - plan.after.memories} of {plan.before.memories} memories"
    if sys.stdin is None or not sys.stdin.isatty():
        raise InvalidInput(f"consolidate asks first and nobody is there to answer: pass --yes to {said}")
    return typer.confirm(f"{said.capitalize()} in {options.db} for good?", err=True)


def _show(report: Consolidated) -> None:
    out, would = console(), "would be " if report.dry_run else ""
    out.print(f"before: {_held(report.before)}")
    merged = sum(len(one.ids) for one in report.merged)
    episodes = sum(len(one.ids) for one in report.compressed)
    out.print(f"{would}merged: {merged} duplicates into {len(report.merged)} memories")
    out.print(f"{would}compressed: {episodes} episodes into {len(report.compressed)} notes")
    out.print(f"vectors {would}dropped: {len(report.vectors_dropped)}")
    for kind in dict.fromkeys(one.kind for one in report.evicted):
        some = [one for one in report.evicted if one.kind == kind]
        ended = sum(one.reason == "ended" for one in some)
        out.print(f"{would}evicted: {len(some)} of kind {kind}, {ended} of them ended, the others the least valuable")
    out.print(f"after: {_held(report.after)}{' (estimated)' if report.dry_run else ''}")
    if not report.fits:
        out.print("the budget isn't kept: what is left is pinned, a preference or a behavior")
    if report.waiting_for:
        out.print(f"some of it is still left in the file: that waits for {report.waiting_for}")


def _held(holdings: Holdings) -> str:
    kinds = ", ".join(f"{count} {kind}" for kind, count in holdings.kinds.items())
    return f"{holdings.memories} memories, {holdings.bytes:,} bytes" + (f" ({kinds})" if kinds else "")


def _shape(report: Consolidated) -> dict[str, object]:
    from germane.cli.codec import encode

    shape: dict[str, object] = encode(report)
    return shape
