"""`germane block consents`, `approve`, `deny`: edits that a partner or a human has to agree to."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from germane.cli.block_screen import consent_shape, consent_state, print_consents
from germane.cli.duration import duration
from germane.cli.elsewhere import elsewhere, print_hints
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.screen import console, plain, print_json
from germane.errors import InvalidInput

if TYPE_CHECKING:
    from germane.blocks.consent_request import ConsentRequest

__all__ = ["register"]

_LEAST = 4
"""First characters of an id that are enough."""
_LOOKED_AT = 1_000
RequestId = Annotated[str, typer.Argument(metavar="ID", help="The request's id, or its first characters (4 or more).")]


def register(app: typer.Typer) -> None:
    """Adds the commands to the group."""
    app.command("consents", short_help="List the edits that wait for consent.")(consents)
    app.command("approve", short_help="Allow an edit that waits for consent.")(approve)
    app.command("deny", short_help="Refuse an edit that waits for consent.")(deny)


def consents(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="Also those that were answered or have expired.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Print at most this many.")] = 50,
) -> None:
    """List the requests for consent on the own blocks, newest first."""
    options = options_of(context)
    found, hints = run_async(_consents(options, everything, limit))
    print_consents(found, options, datetime.now(UTC))
    if not options.json:
        print_hints(console(), hints)


def approve(
    context: typer.Context,
    id: RequestId,
    lasting: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="once|15m|block",
            help="This edit once; all that the same agent does with the content for a time; or without an end.",
        ),
    ] = "once",
) -> None:
    """Allow an edit. Nothing is changed yet: whoever asked tries the edit again."""
    options = options_of(context)
    scope = lasting if lasting in ("once", "block") else _seconds(lasting)
    _print(run_async(_answer(options, id, scope)), options)


def deny(context: typer.Context, id: RequestId) -> None:
    """Refuse an edit."""
    options = options_of(context)
    _print(run_async(_answer(options, id, None)), options)


def _seconds(lasting: str) -> float:
    if not lasting[:1].isdecimal():
        raise InvalidInput(f"--for must be once, block or a duration such as 15m, not {lasting[:40]!r}")
    seconds = duration(lasting, "--for").total_seconds()
    if not 0 < seconds <= 366 * 86_400:
        raise InvalidInput(f"--for {lasting[:40]} must be above 0 and at most a year (block has no end)")
    return seconds


def _print(request: ConsentRequest, options: GlobalOptions) -> None:
    now = datetime.now(UTC)
    if options.json:
        print_json(consent_shape(request, now))
    else:
        what = f"{request.operation} of {request.label} by {request.requested_by}"
        console().print(plain(f"{consent_state(request, now)}: {what}"))


async def _consents(options: GlobalOptions, everything: bool, limit: int) -> tuple[tuple[ConsentRequest, ...], list[str]]:
    async with options.open_store() as (germane, agent):
        found = await agent.blocks.consents(pending=not everything, limit=limit)
        if found:
            return found, []
        has_blocks = bool(await agent.blocks.list())
        return found, ["nothing waits for consent", *([] if has_blocks else await elsewhere(germane, options))]


async def _answer(options: GlobalOptions, id: str, scope: Any) -> ConsentRequest:
    async with options.open_store() as (_, agent):
        known = await agent.blocks.consents(pending=False, limit=_LOOKED_AT)
        near = [one.id for one in known if len(id) >= _LEAST and one.id.startswith(id)]
        if len(near) > 1:
            raise InvalidInput(f"id {id!r} stands for {len(near)} requests: give more of it")
        whole = near[0] if near else id
        return await (agent.blocks.deny(whole) if scope is None else agent.blocks.approve(whole, scope))
