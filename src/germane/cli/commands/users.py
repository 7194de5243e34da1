"""`germane users`, `germane agents` and `germane orgs`: list who has something stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from germane.cli.codec import encode
from germane.cli.elsewhere import elsewhere, print_hints
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.listing import ListColumn, print_rows
from germane.cli.screen import console, print_json

if TYPE_CHECKING:
    from germane.types.inventory import AgentPage, OrgPage, UserPage

__all__ = ["agents", "orgs", "users"]

Limit = Annotated[int, typer.Option(min=1, max=1000, help="Print at most this many.")]
Cursor = Annotated[str | None, typer.Option(help="Continue where a listing ended.")]


def users(context: typer.Context, limit: Limit = 50, cursor: Cursor = None) -> None:
    """List the users of the agent with what is stored for each. What all users share isn't counted."""
    options = options_of(context)
    page, hints = run_async(_users(options, limit, cursor))
    if options.json:
        print_json(encode(page))
        return
    columns = (
        ListColumn("user"),
        *(ListColumn(name, number=True) for name in ("memories", "messages", "sessions")),
        ListColumn("last"),
    )
    rows = [
        (
            user.user,
            *map(str, (user.memories, user.messages, user.sessions)),
            f"{user.last_at:%Y-%m-%d}" if user.last_at else "",
        )
        for user in page.users
    ]
    screen = console()
    print_rows(screen, columns, rows)
    if page.cursor:
        screen.print(f"… and more: add --cursor {page.cursor}", soft_wrap=True)
    print_hints(screen, hints)


def agents(context: typer.Context, limit: Limit = 50, cursor: Cursor = None) -> None:
    """List the agents of the organisation with what is stored for each, that of all users included."""
    options = options_of(context)
    page = run_async(_agents(options, limit, cursor))
    if options.json:
        print_json(encode(page))
        return
    columns = (ListColumn("agent"), *(ListColumn(name, number=True) for name in ("users", "memories", "messages")))
    screen = console()
    if page.agents:
        print_rows(screen, columns, [(one.agent, *map(str, (one.users, one.memories, one.messages))) for one in page.agents])
    else:
        screen.print(f"organisation {options.org} has no agents here: germane orgs lists those that have")
    if page.cursor:
        screen.print(f"… and more: add --cursor {page.cursor}", soft_wrap=True)


def orgs(context: typer.Context, limit: Limit = 50, cursor: Cursor = None) -> None:
    """List the organisations of the store with what is stored for each. Of one: germane agents --org ORG."""
    options = options_of(context)
    page, hints = run_async(_orgs(options, limit, cursor))
    if options.json:
        print_json(encode(page))
        return
    columns = (ListColumn("org"), *(ListColumn(name, number=True) for name in ("agents", "users", "memories", "messages")))
    screen = console()
    rows = [(one.org, *map(str, (one.agents, one.users, one.memories, one.messages))) for one in page.orgs]
    print_rows(screen, columns, rows)
    if page.cursor:
        screen.print(f"… and more: add --cursor {page.cursor}", soft_wrap=True)
    print_hints(screen, hints)


async def _users(options: GlobalOptions, limit: int, cursor: str | None) -> tuple[UserPage, list[str]]:
    async with options.open_store() as (germane, _):
        page = await options.agent_wide(germane).users(limit=limit, cursor=cursor)
        if page.users:
            return page, []
        return page, [f"agent {options.agent} has no users here", *await elsewhere(germane, options)]


async def _agents(options: GlobalOptions, limit: int, cursor: str | None) -> AgentPage:
    async with options.open_store() as (germane, _):
        page: AgentPage = await germane.agents(options.org, limit=limit, cursor=cursor)
        return page


async def _orgs(options: GlobalOptions, limit: int, cursor: str | None) -> tuple[OrgPage, list[str]]:
    async with options.open_store() as (germane, _):
        page: OrgPage = await germane.orgs(limit=limit, cursor=cursor)
        return page, [] if page.orgs else await elsewhere(germane, options)
