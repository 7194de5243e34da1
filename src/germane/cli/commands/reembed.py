"""`germane reembed`: computes the missing vectors after a change of embedder."""

from __future__ import annotations

import typer

from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.screen import console, print_json, progress

__all__ = ["reembed"]


def reembed(context: typer.Context) -> None:
    """Compute a vector, with the embedder of --embedder, for every text that has none from it.

    Run it after a change of embedder. Searches keep working meanwhile; an interrupted run can be started again."""
    options = options_of(context)
    count = run_async(_reembed(options))
    if options.json:
        print_json({"reembedded": count})
    else:
        console().print(f"made {count} vectors")


async def _reembed(options: GlobalOptions) -> int:
    async with options.open_store() as (germane, _):
        with progress(options.json) as bar:
            task = bar.add_task("embedding", total=None)
            count: int = await germane.reembed(lambda done, total: bar.update(task, completed=done, total=total))
            return count
