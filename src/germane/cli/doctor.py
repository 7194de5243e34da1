"""`germane doctor` and `germane reembed`: is the store well, and the cure for vectors of another embedder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from rich.text import Text

from germane.cli.exits import Exit
from germane.cli.global_options import GlobalOptions, finish, setting
from germane.cli.screen import answer, console, plain, progress, table

if TYPE_CHECKING:
    from germane.store import Checkup

__all__ = ["doctor", "reembed"]


def doctor(context: typer.Context) -> None:
    """Check the store: its integrity, its version, its vectors. Exit code 1 when something isn't fine."""
    chosen = setting(context)
    checkup = finish(_check(chosen))
    if chosen.json:
        checks = [{"name": name, "finding": finding, "fine": fine} for name, finding, fine in checkup.findings]
        answer({"healthy": checkup.healthy, "checks": checks})
    else:
        rows = table("", "check", "finding")
        for name, finding, fine in checkup.findings:
            rows.add_row(Text("fine" if fine else "not fine", style="green" if fine else "bold red"), name, plain(finding))
        console().print(rows)
    if not checkup.healthy:
        raise typer.Exit(Exit.FAILED)


def reembed(context: typer.Context) -> None:
    """Make all vectors anew with the chosen --embedder, after it changed. Searching goes on meanwhile."""
    chosen = setting(context)
    count = finish(_reembed(chosen))
    if chosen.json:
        answer({"reembedded": count})
    else:
        console().print(f"made {count} vectors")


async def _check(chosen: GlobalOptions) -> Checkup:
    async with chosen.opened() as (germane, _):
        checkup: Checkup = await germane.check()
        return checkup


async def _reembed(chosen: GlobalOptions) -> int:
    async with chosen.opened() as (germane, _):
        with progress(chosen.json) as shown:
            task = shown.add_task("embedding", total=None)
            count: int = await germane.reembed(lambda done, total: shown.update(task, completed=done, total=total))
            return count
