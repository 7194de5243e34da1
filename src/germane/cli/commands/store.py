"""`germane stats`, `users`, `agents`, `orgs`, `doctor`, `backup`, `reembed`, `extract`: the store as a whole."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from germane.cli.hints import counts_text, other_scopes
from germane.cli.options import GlobalOptions, options_of, run_async
from germane.cli.screen import (
    Exit,
    ListColumn,
    console,
    plain,
    print_done,
    print_fields,
    print_hints,
    print_json,
    print_listing,
    progress,
    table,
    told_progress,
)
from germane.errors import InvalidInput
from germane.types.codec import encode

if TYPE_CHECKING:
    from germane.stores.contract import Checkup
    from germane.types.inventory import AgentPage, OrgPage, Stats, UserPage, UserSummary
    from germane.types.reports import ExtractionRun


_MAX_COUNTED_USERS, _MAX_NAMED_USERS = 1000, 10
"""Users that are counted, and those that are named."""


def stats(context: typer.Context) -> None:
    """Count what the agent has stored: what all users share and, with --user, that user's own; without it, each user's own in
    short."""
    options = options_of(context)
    found, users, hints = run_async(_stats(options))
    if options.json:
        print_json(encode(found) | ({"by_user": [encode(one) for one in users]} if options.user is None else {}))
        return
    screen, kinds = console(), found.memories
    fields = [
        ("memories", f"{sum(kinds.values()):,}"),
        *((f"  {kind}", f"{count:,}") for kind, count in sorted(kinds.items())),
        ("  by rules", f"{rules:,} of them" if (rules := found.extracted.get("rules")) else ""),
        ("  by a model", f"{llm:,} of them" if (llm := found.extracted.get("llm")) else ""),
        ("  pinned", f"{found.pinned:,}" if found.pinned else ""),
        ("  ended", f"{found.ended:,}" if found.ended else ""),
        ("messages", f"{found.messages:,}"),
        ("events", f"{found.events:,}" if found.events else ""),
        ("sessions", f"{found.sessions:,}"),
        ("documents", f"{found.documents:,}" if found.documents else ""),
        ("  passages", f"{found.passages:,}" if found.passages else ""),
        ("entities", f"{found.entities:,}" if found.entities else ""),
        ("  relations", f"{found.relations:,}" if found.relations else ""),
        ("patterns", f"{found.patterns:,}" if found.patterns else ""),
        ("tasks", f"{found.tasks:,}" if found.tasks else ""),
        ("archived", f"{found.archived:,}" if found.archived else ""),
        ("summaries", f"{found.summaries:,}" if found.summaries else ""),
        ("blocks", f"{found.blocks:,}" if found.blocks else ""),
        ("users", "" if found.users is None else f"{found.users:,}"),
        ("text", _size(found.text_bytes)),
        ("without vector", f"{found.pending_vectors:,}" if found.pending_vectors else ""),
        ("oldest", "" if found.oldest is None else f"{found.oldest:%Y-%m-%d %H:%M}"),
        ("newest", "" if found.newest is None else f"{found.newest:%Y-%m-%d %H:%M}"),
    ]
    print_fields(screen, fields)
    if users:
        own = counts_text(sum(one.memories for one in users), sum(one.messages for one in users))
        screen.print(f"besides, {'its user has' if len(users) == 1 else f'its {len(users):,} users have'} {own}:")
        for one in sorted(users, key=lambda one: -(one.memories + one.messages))[:_MAX_NAMED_USERS]:
            screen.print(f"  {plain(one.user, 60)}: {counts_text(one.memories, one.messages)}")
        rest = f" (and {len(users) - _MAX_NAMED_USERS:,} more: germane users)" if len(users) > _MAX_NAMED_USERS else ""
        screen.print(f"--user NAME counts what one of them sees{rest}")
    print_hints(screen, hints)


def _size(count: int) -> str:
    size, unit = float(count), "B"
    for larger in ("KB", "MB", "GB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{size:,.0f} {unit}" if unit == "B" else f"{size:,.1f} {unit}"


async def _stats(options: GlobalOptions) -> tuple[Stats, tuple[UserSummary, ...], list[str]]:
    async with options.open_store() as (germane, agent):
        found = await agent.stats()
        users = () if options.user else (await agent.users(limit=_MAX_COUNTED_USERS)).users
        kept = (found.memories, found.ended, found.messages, found.events, found.documents, found.entities, found.tasks)
        nothing = not any((*kept, found.patterns, found.blocks, found.archival_entries, found.archived))
        return found, users, await other_scopes(germane, options) if nothing and not users else []


# `germane users`, `germane agents` and `germane orgs`: who has something stored.


Limit = Annotated[int, typer.Option(min=1, max=1000, help="Print at most this many.")]
Cursor = Annotated[str | None, typer.Option(help="Continue where a listing ended.")]


def users(context: typer.Context, limit: Limit = 50, cursor: Cursor = None) -> None:
    """List the users of the agent with what is stored for each. What all users share isn't counted."""
    options = options_of(context)
    page, hints = run_async(_users(options, limit, cursor))
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
    print_listing(options.json, encode(page), columns, rows, cursor=page.cursor, hints=hints)


def agents(context: typer.Context, limit: Limit = 50, cursor: Cursor = None) -> None:
    """List the agents of the organisation with what is stored for each, that of all users included."""
    options = options_of(context)
    page = run_async(_agents(options, limit, cursor))
    columns = (ListColumn("agent"), *(ListColumn(name, number=True) for name in ("users", "memories", "messages")))
    rows = [(one.agent, *map(str, (one.users, one.memories, one.messages))) for one in page.agents]
    hints = () if rows else (f"organisation {options.org} has no agents here: germane orgs lists those that have",)
    print_listing(options.json, encode(page), columns, rows, cursor=page.cursor, hints=hints)


def orgs(context: typer.Context, limit: Limit = 50, cursor: Cursor = None) -> None:
    """List the organisations of the store with what is stored for each. Of one: germane agents --org ORG."""
    options = options_of(context)
    page, hints = run_async(_orgs(options, limit, cursor))
    columns = (ListColumn("org"), *(ListColumn(name, number=True) for name in ("agents", "users", "memories", "messages")))
    rows = [(one.org, *map(str, (one.agents, one.users, one.memories, one.messages))) for one in page.orgs]
    print_listing(options.json, encode(page), columns, rows, cursor=page.cursor, hints=hints)


async def _users(options: GlobalOptions, limit: int, cursor: str | None) -> tuple[UserPage, list[str]]:
    async with options.open_store() as (germane, _):
        page = await options.agent_wide(germane).users(limit=limit, cursor=cursor)
        if page.users:
            return page, []
        return page, [f"agent {options.agent} has no users here", *await other_scopes(germane, options)]


async def _agents(options: GlobalOptions, limit: int, cursor: str | None) -> AgentPage:
    async with options.open_store() as (germane, _):
        page: AgentPage = await germane.agents(options.org, limit=limit, cursor=cursor)
        return page


async def _orgs(options: GlobalOptions, limit: int, cursor: str | None) -> tuple[OrgPage, list[str]]:
    async with options.open_store() as (germane, _):
        page: OrgPage = await germane.orgs(limit=limit, cursor=cursor)
        return page, [] if page.orgs else await other_scopes(germane, options)


# `germane doctor`: checks the health of the store.


def doctor(
    context: typer.Context,
    full: Annotated[bool, typer.Option("--full", help="Compare the search rows of all texts, not of a sample.")] = False,
    client: Annotated[
        str | None, typer.Option(metavar="CLIENT", help="Check what germane install gave this coding agent, with a prompt.")
    ] = None,
) -> None:
    """Check the store: integrity, checksums of all texts, search rows, schema version, vectors, file mode, disk space and more.
    With --client, check a coding agent's settings and the local service instead, and send a prompt through. The exit code is 1
    if a check fails."""
    options = options_of(context)
    if client is not None:
        from germane.cli.commands.install import check_client

        checkup = check_client(client)
    else:
        checkup = run_async(_check(options, full))
    if options.json:
        checks = [{"name": name, "finding": finding, "fine": fine} for name, finding, fine in checkup.findings]
        print_json({"healthy": checkup.healthy, "checks": checks})
    else:
        rows = table("", "check", "finding")
        for name, finding, fine in checkup.findings:
            rows.add_row(Text("fine" if fine else "not fine", style="green" if fine else "bold red"), name, plain(finding))
        console().print(rows)
    if not checkup.healthy:
        raise typer.Exit(Exit.FAILED)


async def _check(options: GlobalOptions, full: bool) -> Checkup:
    async with options.open_store(upgrade=False) as (germane, _):  # it reports what is left to do
        checkup: Checkup = await germane.check()
        with told_progress("comparing texts with their checksums", options.json) as told:
            content = await germane.verify(full=full, progress=told)
        return replace(checkup, findings=(*checkup.findings, *_spool_findings(options.db), *content.findings))


def _spool_findings(db: Path) -> tuple[tuple[str, str, bool], ...]:
    """What waits beside the store for the proxy of a service to record it."""
    if os.name != "posix":  # where no service runs
        return ()
    from germane.service.proxy.spool import spool_finding, spool_of

    try:
        finding = None if (folder := spool_of(db)) is None else spool_finding(folder)
    except OSError:
        return (("proxy", "the turns that wait to be recorded can't be read", False),)
    return () if finding is None else (finding,)


# `germane backup`: writes a consistent copy of the store while it is in use.


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
    print_done(options.json, {"target": str(target), "bytes": size}, f"copied {options.db} to {target}, {size:,} bytes")


async def _backup(options: GlobalOptions, target: Path) -> None:
    async with options.open_store() as (germane, _):
        with progress(options.json) as bar:
            task = bar.add_task("copying pages", total=None)
            await germane.backup(target, lambda done, total: bar.update(task, completed=done, total=total))


# `germane reembed`: computes the missing vectors after a change of embedder.


def reembed(context: typer.Context) -> None:
    """Compute a vector, with the embedder of --embedder, for every text that has none from it.

    Run it after a change of embedder. Searches keep working meanwhile; an interrupted run can be started again."""
    options = options_of(context)
    count = run_async(_reembed(options))
    print_done(options.json, {"reembedded": count}, f"made {count} vectors")


async def _reembed(options: GlobalOptions) -> int:
    async with options.open_store() as (germane, _):
        with progress(options.json) as bar:
            task = bar.add_task("embedding", total=None)
            count: int = await germane.reembed(lambda done, total: bar.update(task, completed=done, total=total))
            return count


# `germane extract`: has the configured language model read the conversations that wait for it.


_CHARACTERS_PER_TOKEN = 4


def extract(
    context: typer.Context,
    everything: Annotated[
        bool, typer.Option("--all", help="Also read what was recorded before a language model was configured.")
    ] = False,
    session: Annotated[str | None, typer.Option(help="Read this session only, from its beginning.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would be sent.")] = False,
) -> None:
    """Have a language model read the conversations that wait for it, and store what it finds.

    The model is the one that the settings name (llm, or GERMANE_LLM). Without --user the conversations of all users of the
    agent are read. What failed too often before is tried again. The exit code is 1 if not everything could be read."""
    options = options_of(context)
    if everything and session is not None:
        raise InvalidInput("--all and --session exclude each other (a session is read whole)")
    run = run_async(_extract(options, session, everything=everything, dry_run=dry_run))
    if options.json:
        print_json(asdict(run))
    elif dry_run:
        tokens = run.characters // _CHARACTERS_PER_TOKEN
        console().print(f"{run.waiting} messages wait, {run.characters:,} characters (about {tokens:,} tokens)")
    else:
        _print_outcome(run)
    if run.stopped or run.failed or run.parked:
        raise typer.Exit(Exit.FAILED)


def _print_outcome(run: ExtractionRun) -> None:
    done = f"read {run.messages} messages, stored {run.memories} memories, ended {run.ended}, rejected {run.rejected}"
    console().print(done)
    console().print(f"{run.calls} calls, {run.input_tokens:,} tokens in and {run.output_tokens:,} out")
    if run.failed:
        console().print(f"{run.failed} calls failed and will be tried again")
    if run.parked:
        console().print(f"{run.parked} calls failed too often: germane doctor says why")
    if run.stopped:
        console().print(f"stopped: {plain(run.stopped)}")


async def _extract(options: GlobalOptions, session: str | None, *, everything: bool, dry_run: bool) -> ExtractionRun:
    async with options.open_store() as (_, agent):
        with told_progress("reading", options.json) as told:
            run: ExtractionRun = await agent.extract(session=session, everything=everything, dry_run=dry_run, progress=told)
            return run
