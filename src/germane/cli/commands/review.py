"""`germane audit`, `review`, `consolidate`: what deserves a look, conflicts to resolve, and a storage budget."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from germane.cli.options import GlobalOptions, ask, options_of, run_async
from germane.cli.screen import Exit, console, plain, print_json, table, told_progress
from germane.errors import InvalidInput

if TYPE_CHECKING:
    from germane.kinds.memories.conflicts import Contradiction
    from germane.kinds.memories.upkeep import Audit, Consolidated, Holdings


_FINDING_NAMES = {
    "duplicate": "duplicates",
    "near_duplicate": "near-duplicates",
    "contradiction": "contradicting",
    "secret": "secrets",
    "never_retrieved": "never retrieved",
    "stale": "stale",
    "expired": "expired, and stored",
}
_FINDING_ADVICE = {
    "duplicate": "germane consolidate merges them",
    "near_duplicate": "the best one is shown; germane consolidate merges those of one kind",
    "contradiction": "germane review",
    "secret": "germane forget, or germane update",
    "never_retrieved": "germane consolidate evicts the least valuable",
    "stale": "germane update",
    "expired": "germane forget",
}


def audit(
    context: typer.Context,
    unused_days: Annotated[int, typer.Option(min=0, help="Count what was never retrieved from this age on, in days.")] = 30,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many findings of each kind.")] = 20,
    messages: Annotated[bool, typer.Option("--messages/--no-messages", help="Look for secrets in messages too.")] = True,
) -> None:
    """Find duplicates, near-duplicates, contradictions, secrets, and memories that are stale, expired or were never retrieved.
    The output names ids and kinds, and no content. The exit code is 1 where secrets or contradictions were found."""
    options = options_of(context)
    report = ask(options, lambda agent: agent.audit(unused_days=unused_days, limit=limit, messages=messages))
    if options.json:
        from germane.types.codec import encode

        print_json(encode(report))
    else:
        _print_audit(report)
    if report.counts["secret"] or report.counts["contradiction"]:
        raise typer.Exit(Exit.FAILED)


def _print_audit(report: Audit) -> None:
    out = console()
    out.print(f"examined {report.memories} memories and {report.messages} messages")
    counts = table("count", "what", "what to do", right=("count",))
    for kind, count in report.counts.items():
        counts.add_row(str(count), _FINDING_NAMES[kind], _FINDING_ADVICE[kind] if count else "")
    out.print(counts)
    for finding in report.findings:
        out.print(
            plain(
                f"{_FINDING_NAMES[finding.kind]}: {' '.join(finding.ids)}" + (f" ({finding.detail})" if finding.detail else "")
            )
        )


# `germane review`: lists the conflicts between memories, and resolves them.


_CONFLICT_REASONS = {
    "same_time": "two values stated at the same time",
    "pinned": "a pinned fact was superseded",
    "number": "nearly the same, but for a number",
    "date": "nearly the same, but for a date",
    "negation": "nearly the same, but for a negation",
    "order": "the same words in another order",
    "ended": "the newer one may say that the older one has ended",
}


def review(
    context: typer.Context,
    resolve: Annotated[str | None, typer.Option(metavar="ID", help="Close this conflict.")] = None,
    keep: Annotated[str | None, typer.Option(metavar="ID|both", help="With --resolve: the memory to keep, or both.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many conflicts.")] = 50,
) -> None:
    """List memories that contradict each other, for a person to decide. With --resolve and --keep, close one conflict: the
    memory that isn't kept ends: germane list --all shows it."""
    options = options_of(context)
    if (resolve is None) != (keep is None):
        raise InvalidInput("--resolve and --keep belong together: name the conflict, and the memory to keep (or both)")
    found = run_async(_review(options, resolve, keep or "", limit))
    if options.json:
        print_json({"conflicts": [_conflict_shape(conflict) for conflict in found]})
    elif resolve is not None:
        console().print(f"resolved: kept {found[0].kept}")
    elif not found:
        console().print("nothing to review: no memories contradict each other")
    else:
        from rich.padding import Padding

        for conflict in found:
            console().print(f"{conflict.id}  {_CONFLICT_REASONS.get(conflict.reason, conflict.reason)}")
            for memory in (conflict.older, conflict.newer):
                ended = "" if memory.superseded_by is None else " (superseded)"
                console().print(f"  {memory.id}{ended}", soft_wrap=True)
                console().print(Padding(memory.text, (0, 0, 0, 4)))
        console().print("decide with: germane review --resolve CONFLICT --keep MEMORY (or both)")


async def _review(options: GlobalOptions, id: str | None, keep: str, limit: int) -> tuple[Contradiction, ...]:
    async with options.open_store() as (_, agent):
        if id is not None:
            return (await agent.memories.resolve(id, keep=keep),)
        return await agent.memories.review(limit=limit)


def _conflict_shape(conflict: Contradiction) -> dict[str, Any]:
    from germane.cli.json_shapes import memory_shape

    return {
        "id": conflict.id,
        "reason": conflict.reason,
        "older": memory_shape(conflict.older),
        "newer": memory_shape(conflict.newer),
        "created_at": conflict.created_at.isoformat(),
        "kept": conflict.kept,
    }


# `germane consolidate`: brings the memories of a scope within a storage budget, after a question.


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
        print_json(_consolidated_shape(report))
    else:
        _print_consolidated(report)


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
        raise InvalidInput(f"consolidate asks first, and stdin isn't a terminal: pass --yes to {said}")
    return typer.confirm(f"{said.capitalize()} in {options.place} for good?", err=True)


def _print_consolidated(report: Consolidated) -> None:
    out, would = console(), "would be " if report.dry_run else ""
    out.print(f"before: {_holdings_text(report.before)}")
    merged = sum(len(one.ids) for one in report.merged)
    episodes = sum(len(one.ids) for one in report.compressed)
    out.print(f"{would}merged: {merged} duplicates into {len(report.merged)} memories")
    out.print(f"{would}compressed: {episodes} episodes into {len(report.compressed)} notes")
    out.print(f"vectors {would}dropped: {len(report.vectors_dropped)}")
    for kind in dict.fromkeys(one.kind for one in report.evicted):
        some = [one for one in report.evicted if one.kind == kind]
        ended = sum(one.reason == "ended" for one in some)
        out.print(f"{would}evicted: {len(some)} of kind {kind}, {ended} of them ended, the others the least valuable")
    out.print(f"after: {_holdings_text(report.after)}{' (estimated)' if report.dry_run else ''}")
    if not report.fits:
        out.print("the budget isn't kept: what is left is pinned, a preference or a behavior")
    if report.waiting_for:
        out.print(f"some of it is still left in the file: that waits for {report.waiting_for}")


def _holdings_text(holdings: Holdings) -> str:
    kinds = ", ".join(f"{count} {kind}" for kind, count in holdings.kinds.items())
    return f"{holdings.memories} memories, {holdings.bytes:,} bytes" + (f" ({kinds})" if kinds else "")


def _consolidated_shape(report: Consolidated) -> dict[str, object]:
    from germane.types.codec import encode

    shape: dict[str, object] = encode(report)
    return shape
