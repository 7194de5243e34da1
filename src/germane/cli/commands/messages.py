"""`germane messages` and `germane sessions`: list what was recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from germane.cli.codec import encode
from germane.cli.elsewhere import elsewhere, print_hints
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.listing import ListColumn, print_rows
from germane.cli.screen import console, plain, print_json

if TYPE_CHECKING:
    from germane.events.reader import MessagePage, SessionPage
    from germane.types.query import Filters

__all__ = ["messages", "sessions"]

Limit = Annotated[int, typer.Option(min=1, max=1000, help="Print at most this many.")]
Cursor = Annotated[str | None, typer.Option(help="Continue where a listing ended.")]
_MESSAGE = (ListColumn("id", id=True), ListColumn("session"), ListColumn("when"), ListColumn("text"))
_SESSION = (
    ListColumn("session"),
    ListColumn("messages", number=True),
    ListColumn("began"),
    ListColumn("last"),
    ListColumn("of"),
)


def messages(
    context: typer.Context,
    session: Annotated[str | None, typer.Argument(metavar="SESSION", help="A conversation. Default: all of them.")] = None,
    since: Annotated[str | None, typer.Option(help="Only messages said from this time on (ISO 8601).")] = None,
    until: Annotated[str | None, typer.Option(help="Only messages said up to this time (ISO 8601).")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """Print the latest messages, in the order in which they were said; --cursor goes back in time."""
    from germane.cli.json_shapes import message_shape
    from germane.types.query import Filters

    options = options_of(context)
    filters = Filters(
        since=options.parse_time(since, "--since"),
        until=options.parse_time(until, "--until"),
        sensitivities=("public", "private", "sensitive"),
    )
    page, hints = run_async(_messages(options, session, filters, limit, cursor))
    shown = page.messages[::-1]
    if options.json:
        print_json({"messages": [message_shape(event) for event in shown], "cursor": page.cursor})
        return
    screen = console()
    if page.cursor:
        screen.print(f"… earlier ones: add --cursor {page.cursor}", soft_wrap=True)
    rows = [
        (event.id, event.session, f"{event.created_at:%Y-%m-%d %H:%M}", f"{event.name or event.role}: {plain(event.text, 240)}")
        for event in shown
    ]
    print_rows(screen, _MESSAGE, rows)
    print_hints(screen, hints)


def sessions(context: typer.Context, limit: Limit = 50, cursor: Cursor = None) -> None:
    """List the conversations; the one with the latest message comes first."""
    options = options_of(context)
    page, hints = run_async(_sessions(options, limit, cursor))
    if options.json:
        print_json(encode(page))
        return
    screen = console()
    rows = [
        (
            session.id,
            str(session.length),
            f"{session.started_at:%Y-%m-%d %H:%M}",
            f"{session.last_at:%Y-%m-%d %H:%M}",
            session.user or "all users",
        )
        for session in page.sessions
    ]
    print_rows(screen, _SESSION, rows)
    if page.cursor:
        screen.print(f"… and more: add --cursor {page.cursor}", soft_wrap=True)
    print_hints(screen, hints)


async def _messages(
    options: GlobalOptions, session: str | None, filters: Filters, limit: int, cursor: str | None
) -> tuple[MessagePage, list[str]]:
    async with options.open_store() as (germane, agent):
        page = await agent.messages(session, filters=filters, limit=limit, cursor=cursor, whole=options.json)
        if page.messages:
            return page, []
        count = (await agent.stats()).messages
        if count:
            what = "at that time" if session is None else f"in session {session}"
            return page, [f"no messages {what}; there are {count:,} in all (germane sessions lists the conversations)"]
        return page, ["no messages here", *await elsewhere(germane, options)]


async def _sessions(options: GlobalOptions, limit: int, cursor: str | None) -> tuple[SessionPage, list[str]]:
    async with options.open_store() as (germane, agent):
        page = await agent.sessions(limit=limit, cursor=cursor)
        return page, [] if page.sessions else ["no conversations here", *await elsewhere(germane, options)]
