"""`germane pseudonym`: how ids stand in the log of a served store."""

from __future__ import annotations

from typing import Annotated

import typer

from germane.cli.global_options import GlobalOptions, finish, setting
from germane.cli.screen import answer, console, plain

__all__ = ["pseudonym"]


def pseudonym(
    context: typer.Context,
    ids: Annotated[list[str], typer.Argument(metavar="ID…", help="Of orgs, agents, or requests with odd ids.")],
) -> None:
    """Print what stands for an id in the service's log, so that its lines can be found.

    It is made with a key that the store keeps (or with the settings' nonce_key): the same in every process and after a restart,
    another one in another store.
    """
    chosen = setting(context)
    found = finish(_found(chosen, ids))
    if chosen.json:
        answer({"pseudonyms": found})
        return
    for id, stands in found.items():
        console().print(plain(stands if len(found) == 1 else f"{stands}  {id}"), soft_wrap=True)


async def _found(chosen: GlobalOptions, ids: list[str]) -> dict[str, str]:
    async with chosen.opened() as (germane, _):
        return {id: germane.pseudonym(id) for id in ids}
