"""`germane audit`: lists what deserves a look among the memories and messages of a scope."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from germane.cli.exits import Exit
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.screen import console, plain, print_json, table

if TYPE_CHECKING:
    from germane.memories.audit import Audit

__all__ = ["audit"]

_NAMES = {
    "duplicate": "duplicates",
    "near_duplicate": "near-duplicates",
    "contradiction": "contradicting",
    "secret": "secrets",
    "never_retrieved": "never retrieved",
    "stale": "stale",
    "expired": "expired, and stored",
}
_ADVICE = {
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
    report = run_async(_audit(options, unused_days, limit, messages))
    if options.json:
        from germane.cli.codec import encode

        print_json(encode(report))
    else:
        _show(report)
    if report.counts["secret"] or report.counts["contradiction"]:
        raise typer.Exit(Exit.FAILED)


async def _audit(options: GlobalOptions, unused_days: int, limit: int, messages: bool) -> Audit:
    async with options.open_store() as (_, agent):
        report: Audit = await agent.audit(unused_days=unused_days, limit=limit, messages=messages)
        return report


def _show(report: Audit) -> None:
    out = console()
    out.print(f"examined {report.memories} memories and {report.messages} messages")
    counts = table("count", "what", "what to do", right=("count",))
    for kind, count in report.counts.items():
        counts.add_row(str(count), _NAMES[kind], _ADVICE[kind] if count else "")
    out.print(counts)
    for finding in report.findings:
        out.print(
            plain(f"{_NAMES[finding.kind]}: {' '.join(finding.ids)}" + (f" ({finding.detail})" if finding.detail else ""))
        )
