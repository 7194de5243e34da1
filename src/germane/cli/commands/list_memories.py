"""`germane list`: lists the memories of a scope, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from germane.cli.elsewhere import elsewhere, print_hints
from germane.cli.filter_options import known
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.listing import ListColumn, print_rows
from germane.cli.screen import console, plain, print_json

if TYPE_CHECKING:
    from germane.memories.reader import Page
    from germane.types.query import Filters

__all__ = ["list_memories"]

_COLUMNS = (ListColumn("id", id=True), ListColumn("kind"), ListColumn("since"), ListColumn(""), ListColumn("text"))


def list_memories(
    context: typer.Context,
    kind: Annotated[list[str] | None, typer.Option(help="Only memories of this kind (may be repeated).")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only memories with this tag (may be repeated).")] = None,
    session: Annotated[str | None, typer.Option(help="Only memories that were made in this conversation.")] = None,
    since: Annotated[str | None, typer.Option(help="Only memories stored from this time on (ISO 8601).")] = None,
    until: Annotated[str | None, typer.Option(help="Only memories stored up to this time (ISO 8601).")] = None,
    sensitivity: Annotated[
        list[str] | None, typer.Option(help="Only public, private or sensitive ones (may be repeated). Default: all.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also those that were superseded or have ended.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Print at most this many.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Continue where a listing ended.")] = None,
) -> None:
    """List the memories, newest first: those of all users, and with --user that user's own too."""
    from germane.memories.memory import KINDS
    from germane.types.candidate import Sensitivity
    from germane.types.query import Filters

    options = options_of(context)
    levels: tuple[Any, ...] = get_args(Sensitivity)
    filters = Filters(
        kinds=tuple(known("--kind", name, tuple(KINDS)) for name in kind) if kind else None,
        tags=tuple(tag) if tag else None,
        session=session,
        since=options.parse_time(since, "--since"),
        until=options.parse_time(until, "--until"),
        sensitivities=tuple(known("--sensitivity", name, levels) for name in sensitivity) if sensitivity else levels,  # type: ignore[misc]
        with_history=everything,
    )
    page, hints = run_async(_list(options, filters, limit, cursor))
    if options.json:
        from germane.cli.json_shapes import memory_shape

        print_json({"memories": [memory_shape(memory) for memory in page.memories], "cursor": page.cursor})
        return
    screen = console()
    rows = [
        (memory.id, memory.kind, f"{memory.valid_from:%Y-%m-%d}", _marks(memory, options), plain(memory.text, 240))
        for memory in page.memories
    ]
    print_rows(screen, _COLUMNS, rows)
    if page.cursor:
        screen.print(f"… and more: add --cursor {page.cursor}", soft_wrap=True)
    print_hints(screen, hints)


def _marks(memory: Any, options: GlobalOptions) -> str:
    marks = ["pinned"] * memory.pinned + ["sensitive"] * (memory.sensitivity == "sensitive")
    marks += ["ended"] * (memory.valid_to is not None or memory.superseded_by is not None)
    marks += ["of all users"] * (options.user is not None and memory.user is None)
    return ", ".join(marks)


async def _list(options: GlobalOptions, filters: Filters, limit: int, cursor: str | None) -> tuple[Page, list[str]]:
    from germane.types.query import Filters

    async with options.open_store() as (germane, agent):
        page = await agent.memories.list(filters, limit=limit, cursor=cursor)
        if page.memories:
            return page, []
        counted = await agent.stats()
        valid = sum(counted.memories.values())
        if valid and filters != Filters(sensitivities=filters.sensitivities):
            return page, [f"no memory passes these filters; without them there are {valid:,}"]
        ended = [f"{counted.ended:,} have ended: --all shows them"] if counted.ended and not filters.with_history else []
        said = ["messages are here: germane messages prints them"] if counted.messages else []
        return page, ["no memories here", *ended, *(said or await elsewhere(germane, options))]
