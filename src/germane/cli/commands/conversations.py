"""`germane record`, `messages`, `sessions`, `outline`, `compact`: conversations: stored, listed, made shorter."""

from __future__ import annotations

import json
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.rule import Rule
from rich.text import Text

from germane.cli.files import RequestFile, request_in, write_text
from germane.cli.hints import other_scopes
from germane.cli.options import GlobalOptions, ask, known, options_of, run_async
from germane.cli.screen import (
    Exit,
    ListColumn,
    console,
    plain,
    print_fields,
    print_json,
    print_listing,
    secrets_line,
)
from germane.types.candidate import SENSITIVITIES
from germane.types.codec import encode

if TYPE_CHECKING:
    from germane.compaction.plan import Compaction
    from germane.kinds.conversations.handle import EarlierMessages
    from germane.kinds.conversations.outline import OutlinePage
    from germane.kinds.events.reads import MessagePage, SessionPage
    from germane.kinds.events.value import Recorded
    from germane.kinds.remote_values import RemoteCompaction, RemoteEarlier
    from germane.types.query import Filters
    from germane.types.reports import HistoryReport


def record(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A JSON list of messages; - is standard input.")] = "-",
    session: Annotated[str, typer.Option(help="The id of the conversation that the messages belong to.")] = "default",
) -> None:
    """Store the messages of a conversation, word for word. Idempotent: a message that is stored already isn't added again;
    a short turn without ids and times counts as said again ten seconds later."""
    options = options_of(context)
    messages = request_in(file).messages
    done = ask(options, lambda agent: agent.record(messages, session=session), create=True)
    if options.json:
        told = {"session": session, "added": list(done.added), "skipped": done.skipped, "secrets": dict(done.secrets)}
        print_json(told | _assumed(done))
        return
    console().print(f"recorded {len(done.added)} messages in session {session}, {done.skipped} were there already")
    if done.assumed_resent:
        console().print(f"{done.assumed_resent} of these may have been said again: ids or times would tell")
    if done.assumed_new:
        console().print(f"{len(done.assumed_new)} of the new ones may have been sent again: ids or times would tell")
    if done.secrets:
        console().print(secrets_line(done.secrets))


def _assumed(recorded: Recorded) -> dict[str, Any]:
    """What had to be assumed, where anything was."""
    told = {"assumed_resent": recorded.assumed_resent, "assumed_new": list(recorded.assumed_new)}
    return {name: value for name, value in told.items() if value}


# `germane messages` and `germane sessions`: what was recorded.


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
        sensitivities=SENSITIVITIES,
    )
    page, hints = run_async(_messages(options, session, filters, limit, cursor))
    shown = page.messages[::-1]
    document = {"messages": [message_shape(event) for event in shown], "cursor": page.cursor}
    rows = [
        (event.id, event.session, f"{event.created_at:%Y-%m-%d %H:%M}", f"{event.name or event.role}: {plain(event.text, 240)}")
        for event in shown
    ]
    print_listing(options.json, document, _MESSAGE, rows, cursor=page.cursor, backwards=True, hints=hints)


def sessions(context: typer.Context, limit: Limit = 50, cursor: Cursor = None) -> None:
    """List the conversations; the one with the latest message comes first."""
    options = options_of(context)
    page, hints = run_async(_sessions(options, limit, cursor))
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
    print_listing(options.json, encode(page), _SESSION, rows, cursor=page.cursor, hints=hints)


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
        return page, ["no messages here", *await other_scopes(germane, options)]


async def _sessions(options: GlobalOptions, limit: int, cursor: str | None) -> tuple[SessionPage, list[str]]:
    async with options.open_store() as (germane, agent):
        page = await agent.sessions(limit=limit, cursor=cursor)
        return page, [] if page.sessions else ["no conversations here", *await other_scopes(germane, options)]


# `germane outline`: a conversation line by line: what each exchange was about.


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
    rows = [(f"{line.first_at:%Y-%m-%d %H:%M}", str(line.messages), plain(line.text)) for line in page.lines]
    print_listing(options.json, encode(page), _COLUMNS, rows, cursor=page.cursor, hints=hints)


async def _outline(options: GlobalOptions, session: str, limit: int, cursor: str | None) -> tuple[OutlinePage, list[str]]:
    async with options.open_store() as (germane, agent):
        page = await agent.conversations.outline(session, limit=limit, cursor=cursor)
        if page.lines:
            return page, []
        count = (await agent.stats()).messages
        if count:
            return page, [f"no messages in session {session} (germane sessions lists the conversations)"]
        return page, ["no messages here", *await other_scopes(germane, options)]


# `germane compact`: makes a long conversation fit a model's window, and says what was done.


_STRATEGIES = ("summarise", "truncate", "importance", "time-decay")


def compact(
    context: typer.Context,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A JSON list of messages, or a request with messages, tools and system; - is standard input."
        ),
    ],
    model: Annotated[str, typer.Option(help="The model that the messages are for.")] = "gpt-4o",
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="The most tokens of the whole request. Default: what the model's window has.")
    ] = None,
    provider: Annotated[
        str | None, typer.Option(help="Their shape: openai, openai-responses, anthropic or gemini. Default: the model's.")
    ] = None,
    strategy: Annotated[
        str, typer.Option(help="What leaves first: summarise, truncate, importance or time-decay.")
    ] = "summarise",
    session: Annotated[
        str | None,
        typer.Option(help="Keep what leaves in the store, under this conversation: germane show HANDLE brings it back."),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the messages to this file, as JSON.")] = None,
) -> None:
    """Make a long conversation fit: old tool outputs are masked, then a summary stands for the oldest
    messages. Without --session no store is used. The exit code is 1 where it can't fit.

    \b
      germane compact talk.json --max-tokens 8000
      germane compact talk.json --session s1 --json
    """

    options = options_of(context)
    request = request_in(file)
    given = {
        "model": model,
        "max_tokens": max_tokens,
        "provider": provider,
        "system": request.system,
        "tools": request.tools or (),
        "strategy": _strategy(strategy),
    }
    made = _compacted(request, given) if session is None else run_async(_kept(options, request, session, given))
    if out is not None:
        write_text(out, json.dumps(_request(request, made), ensure_ascii=False, indent=2) + "\n")
    if options.json:
        print_json(compaction_shape(made))
    else:
        print_compaction(made)
        if out is not None:
            console(stderr=True).print(f"wrote {len(made.messages):,} messages to {out}", soft_wrap=True)
    if not _figures(made).fits:
        raise typer.Exit(Exit.FAILED)


def _compacted(request: RequestFile, given: dict[str, Any]) -> Compaction:
    from germane.integrations.compactor import compact as fitted

    return fitted(request.messages, **given)


async def _kept(
    options: GlobalOptions, request: RequestFile, session: str, given: dict[str, Any]
) -> Compaction | RemoteCompaction:
    async with options.open_store(create=True) as (_, agent):
        waits = None if options.server is None else 60.0
        return await agent.conversations.compact(request.messages, session=session, deadline=waits, **given)


def _strategy(name: str) -> Any:
    from germane.compaction.strategy import Importance, Summarise, TimeDecay, Truncate

    made = (Summarise, Truncate, Importance, TimeDecay)
    return dict(zip(_STRATEGIES, made, strict=True))[known("--strategy", name, _STRATEGIES)]()


def _request(request: RequestFile, made: Compaction | RemoteCompaction) -> Any:
    """As the file was: a list of messages, or a request."""
    if request.system is None and request.tools is None:
        return made.messages
    return {"messages": made.messages} | {
        name: value for name, value in (("system", made.system), ("tools", request.tools)) if value is not None
    }


# What a compaction did, for a person and as JSON; and what a handle in a compacted prompt stands for (`germane show`).


def compaction_shape(made: Compaction | RemoteCompaction) -> dict[str, Any]:
    """A compaction as JSON, without the entries: what was taken out is in the messages given. A server gives the figures of the
    trace alone."""
    from germane.kinds.remote_values import RemoteCompaction

    if isinstance(made, RemoteCompaction):
        shared = {name: encode(getattr(made, name)) for name in ("provider", "messages", "system")}
        return {**shared, **encode(made.report), "summary": made.summary or None, "constraints": list(made.constraints)}
    shown = (
        "provider",
        "messages",
        "system",
        "tokens_before",
        "tokens",
        "max_tokens",
        "fits",
        "masked",
        "summarised",
        "dropped",
    )
    return {
        **{name: encode(getattr(made, name)) for name in (*shown, "quarantined")},
        "summary": None if made.summary is None else made.summary.text,
        "constraints": [one.text for one in made.constraints],
        "cited": list(made.cited),
        "trace": encode(made.trace),
    }


def _figures(made: Compaction | RemoteCompaction) -> HistoryReport:
    from germane.compaction.plan import report_of
    from germane.kinds.remote_values import RemoteCompaction

    return made.report if isinstance(made, RemoteCompaction) else report_of(made)


def print_compaction(made: Compaction | RemoteCompaction) -> None:
    """Print the figures, what couldn't be done, the handles, and last the summary."""
    screen, done = console(), _figures(made)
    saved = f"{done.saved_tokens:,} tokens; {done.cache_lost_tokens:,} are read anew"
    fields = [
        ("tokens", f"{done.tokens_before:,} before, {done.tokens:,} now, of {done.max_tokens:,}"),
        ("fits", "yes" if done.fits else "no: what may not be lost is larger"),
        ("messages", f"{len(made.messages):,}"),
        ("masked", _counted(done.masked, "tool output")),
        ("summarised", _counted(done.summarised, "message")),
        ("dropped", _counted(done.dropped, "message")),
        ("closed", f"{_counted(done.quarantined, 'message')} without a call or a result" if done.quarantined else ""),
        ("saved", saved if done.saved_tokens else ""),
        ("pays after", "" if done.pays_after is None else _counted(max(1, ceil(done.pays_after)), "call")),
        *(("because" if not index else " ", reason) for index, reason in enumerate(done.reasons)),
        *(("handles" if not index else " ", handle) for index, handle in enumerate(done.cited)),
    ]
    print_fields(screen, fields)
    summary = made.summary if isinstance(made.summary, str | None) else made.summary.text
    if summary:
        screen.print(Rule(Text("summary", style="bold"), align="left", style="dim", characters="─"))
        screen.print(Text(plain(summary)))


def archived_shape(earlier: EarlierMessages | RemoteEarlier) -> dict[str, Any]:
    """What a handle stands for, as JSON."""
    return {"type": "earlier", **encode(earlier)}


def print_archived(earlier: EarlierMessages | RemoteEarlier) -> None:
    """Print what a handle stands for: where it is from, and the text last."""
    count = len(earlier.messages)
    output = earlier.kind == "output"
    fields = [
        ("handle", earlier.handle),
        ("kind", "a tool output that was masked" if output else f"{_counted(count, 'message')} that left"),
        ("title", earlier.title),
        ("session", earlier.session),
        ("taken out", f"{earlier.created_at:%Y-%m-%d %H:%M:%S}"),
        ("before it", earlier.previous),
    ]
    screen = console()
    print_fields(screen, fields)
    screen.print(Rule(Text("text", style="bold"), align="left", style="dim", characters="─"))
    screen.print(Text(plain(earlier.text)))


def _counted(count: int, name: str) -> str:
    return "" if not count else f"{count:,} {name}{'' if count == 1 else 's'}"
