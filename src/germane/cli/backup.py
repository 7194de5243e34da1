"""`germane backup`: a consistent copy of the store while it is in use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from germane.cli.global_options import GlobalOptions, finish, setting
from germane.cli.screen import answer, console, progress
from germane.errors import InvalidInput

__all__ = ["backup"]


def backup(
    context: typer.Context,
    target: Annotated[Path, typer.Argument(help="The copy to write.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that is there.")] = False,
) -> None:
    """Copy the whole store, every org and agent in it."""
    chosen = setting(context)
    if target.is_dir():
        raise InvalidInput(f"{target} is a directory (give a file)")
    if target.exists() and (not overwrite or (chosen.db.exists() and target.samefile(chosen.db))):
        raise InvalidInput(f"{target} exists already (give another name, or --overwrite where it isn't the store itself)")
    fresh = target.with_name(f"{target.name}.new") if target.exists() else target
    finish(_backup(chosen, fresh))
    fresh.replace(target)
    size = target.stat().st_size
    if chosen.json:
        answer({"target": str(target), "bytes": size})
    else:
        console().print(f"copied {chosen.db} to {target}, {size:,} bytes")


async def _backup(chosen: GlobalOptions, target: Path) -> None:
    async with chosen.opened() as (germane, _):
        with progress(chosen.json) as shown:
            task = shown.add_task("copying pages", total=None)
            await germane.backup(target, lambda done, total: shown.update(task, completed=done, total=total))
