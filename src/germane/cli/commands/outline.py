"""`germane outline`: prints a conversation line by line: what each exchange was about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from germane.cli.codec import encode
from germane.cli.elsewhere import elsewhere, print_hints
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.listing import ListColumn, print_rows
from germane.cli.screen import console, plain, print_json

if TYPE_CHECKING:
    from germane.compaction.outline import OutlinePage

__all__ = ["outline"]

_COLUMNS = (ListColumn("when"), ListColumn("messages", number=True), ListColumn("about"))


def outline(
    context: typer.Context,
    session: Annotated[str, typer.Argument(metavar="SESSION", help="A conversation.")],
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Print at most this many lines.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Continue where a listing ended.")] = None,
) -> None:
    """Print what a conversation was about, oldest line first: one for each exchange."""
    options = options_of(context)
    page, hints = run_async(_outline(options, session, limit, cursor))
    if options.json:
        print_json(encode(page))
        return
    screen = console()
    rows = [(f"{line.first_at:%Y-%m-%d %H:%M}", str(line.messages), plain(line.text)) for line in page.lines]
    print_rows(screen, _COLUMNS, rows)
    if page.cursor:
        screen.print(f"… and more: add --cursor {page.cursor}", soft_wrap=True)
    print_hints(screen, hints)


async def _outline(options: GlobalOptions, session: str, limit: int, cursor: str | None) -> tuple[OutlinePage, list[str]]:
    async with options.open_store() as (germane, agent):
        page = await agent.history.outline(session, limit=limit, cursor=cursor)
        if page.lines:
            return page, []
        count = (await agent.stats()).messages
        if count:
            return page, [f"no messages in session {session} (germane sessions lists the conversations)"]
        return page, ["no messages here", *await elsewhere(germane, options)]
