"""`germane doctor`: checks the health of the store."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from germane.cli.exits import Exit
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.screen import console, plain, print_json, table, told_progress

if TYPE_CHECKING:
    from germane.store import Checkup

__all__ = ["doctor"]


def doctor(
    context: typer.Context,
    full: Annotated[bool, typer.Option("--full", help="Compare the search rows of all texts, not of a sample.")] = False,
) -> None:
    """Check the store: integrity, checksums of all texts, search rows, schema version, vectors, file mode, disk space and more.
    The exit code is 1 if a check fails."""
    options = options_of(context)
    checkup = run_async(_check(options, full))
    if options.json:
        checks = [{"name": name, "finding": finding, "fine": fine} for name, finding, fine in checkup.findings]
        print_json({"healthy": checkup.healthy, "checks": checks})
    else:
        rows = table("", "check", "finding")
        for name, finding, fine in checkup.findings:
            rows.add_row(Text("fine" if fine else "not fine", style="green" if fine else "bold red"), name, plain(finding))
        console().print(rows)
    if not checkup.healthy:
        raise typer.Exit(Exit.FAILED)


async def _check(options: GlobalOptions, full: bool) -> Checkup:
    async with options.open_store(upgrade=False) as (germane, _):  # it reports what is left to do
        checkup: Checkup = await germane.check()
        with told_progress("comparing texts with their checksums", options.json) as told:
            content = await germane.verify(full=full, progress=told)
        return replace(checkup, findings=(*checkup.findings, *content.findings))
