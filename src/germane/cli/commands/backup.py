"""`germane backup`: writes a consistent copy of the store while it is in use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.screen import console, print_json, progress
from germane.errors import InvalidInput

__all__ = ["backup"]


def backup(
    context: typer.Context,
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="The file to write the copy to.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace TARGET if it exists.")] = False,
) -> None:
    """Copy the whole store, with the data of every org and agent, while it is in use."""
    options = options_of(context)
    if target.is_dir():
        raise InvalidInput(f"{target} is a directory (give a file)")
    if target.exists() and (not overwrite or (options.db.exists() and target.samefile(options.db))):
        raise InvalidInput(f"{target} exists already (give another name, or --overwrite where it isn't the store itself)")
    # An existing copy is replaced only when the new one is complete.
    written = target.with_name(f"{target.name}.new") if target.exists() else target
    run_async(_backup(options, written))
    written.replace(target)
    size = target.stat().st_size
    if options.json:
        print_json({"target": str(target), "bytes": size})
    else:
        console().print(f"copied {options.db} to {target}, {size:,} bytes")


async def _backup(options: GlobalOptions, target: Path) -> None:
    async with options.open_store() as (germane, _):
        with progress(options.json) as bar:
            task = bar.add_task("copying pages", total=None)
            await germane.backup(target, lambda done, total: bar.update(task, completed=done, total=total))
