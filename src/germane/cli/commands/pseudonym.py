"""`germane pseudonym`: prints the pseudonym of an id in the service's log."""

from __future__ import annotations

from typing import Annotated

import typer

from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.screen import console, plain, print_json

__all__ = ["pseudonym"]


def pseudonym(
    context: typer.Context,
    ids: Annotated[
        list[str], typer.Argument(metavar="ID", help="Ids of orgs or agents, or request ids that the log shows as pseudonyms.")
    ],
) -> None:
    """Print the pseudonym that the service's log shows instead of an id, so that you can find the id's lines.

    A pseudonym is a keyed hash. Its key is the setting nonce_key, or else one that the store keeps: pseudonyms are the same in
    every process and after a restart, and differ between stores.
    """
    options = options_of(context)
    pseudonyms = run_async(_pseudonyms(options, ids))
    if options.json:
        print_json({"pseudonyms": pseudonyms})
        return
    for id, name in pseudonyms.items():
        console().print(plain(name if len(pseudonyms) == 1 else f"{name}  {id}"), soft_wrap=True)


async def _pseudonyms(options: GlobalOptions, ids: list[str]) -> dict[str, str]:
    async with options.open_store() as (germane, _):
        return {id: germane.pseudonym(id) for id in ids}
