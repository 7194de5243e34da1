"""`germane task`: pushes, pops, branches and shows the tasks of a session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from germane.cli.files import read_text
from germane.cli.options import GlobalOptions, options_of, run_async
from germane.cli.screen import ListColumn, console, plain, print_fields, print_json, print_rows, secrets_line
from germane.types.codec import encode

if TYPE_CHECKING:
    from germane.kinds.tasks.handle import AgentTasks
    from germane.kinds.tasks.value import TaskFrame


T = TypeVar("T")
Session = Annotated[str, typer.Option(metavar="ID", help="The session whose tasks these are.")]
Text = Annotated[str, typer.Argument(metavar="TEXT", help="The text; - reads it from standard input.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The branch's name.")]
Points = Annotated[list[str] | None, typer.Option("--artifact", metavar="ID", help="A stored thing that it points to.")]
_COLUMNS = (ListColumn("id", id=True), ListColumn("status"), ListColumn("branch"), ListColumn("goal"))
_PREVIEW = 120

app = typer.Typer(invoke_without_command=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.callback()
def task(context: typer.Context) -> None:
    """Keep what an agent is doing as a stack of tasks, with branches."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command("push", short_help="Begin a task below the current one.")
def push(context: typer.Context, goal: Text, session: Session = "default") -> None:
    """Begin a task below the current one. It is the current one now."""
    _changed(context, lambda tasks: tasks.push(_read(goal), session=session), "begun", create=True)


@app.command("pop", short_help="End the current task with its result.")
def pop(
    context: typer.Context,
    result: Text,
    failed: Annotated[bool, typer.Option("--failed", help="It failed: the text says what went wrong.")] = False,
    artifact: Points = None,
    session: Session = "default",
) -> None:
    """End the current task with its result. The task above it is the current one then."""
    status = "failed" if failed else "complete"
    _changed(context, lambda tasks: tasks.pop(_read(result), session=session, status=status, artifacts=artifact or ()), status)


@app.command("block", short_help="Say what the current task waits for.")
def block(context: typer.Context, reason: Text, session: Session = "default") -> None:
    """Mark the current task as blocked. The task above it is the current one then."""
    _changed(context, lambda tasks: tasks.block(_read(reason), session=session), "blocked")


@app.command("resume", short_help="Go on with an open task.")
def resume(
    context: typer.Context,
    id: Annotated[str | None, typer.Argument(metavar="ID", help="The task; by default the blocked one below.")] = None,
    session: Session = "default",
) -> None:
    """Make an open task the current one, active again where it was blocked."""
    _changed(context, lambda tasks: tasks.resume(id, session=session), "resumed")


@app.command("show", short_help="Print everything of a task.")
def show(
    context: typer.Context,
    id: Annotated[str | None, typer.Argument(metavar="ID", help="The task; by default the current one.")] = None,
    session: Session = "default",
) -> None:
    """Print everything of a task, its result last."""
    options = options_of(context)

    async def found(tasks: AgentTasks) -> TaskFrame | None:
        return await tasks.peek(session) if id is None else await tasks.get(id)

    frame = run_async(_with(options, found))
    if options.json:
        print_json(None if frame is None else encode(frame))
    elif frame is None:
        console().print(_empty(session))
    else:
        _print(frame)


@app.command("path", short_help="Print the tasks from the root to the current one.")
def path(context: typer.Context, session: Session = "default") -> None:
    """Print the tasks from the root to the current one."""
    options = options_of(context)
    frames = run_async(_with(options, lambda tasks: tasks.path(session)))
    if options.json:
        print_json({"session": session, "path": [encode(frame) for frame in frames]})
    elif not frames:
        console().print(_empty(session))
    for frame in () if options.json else frames:
        console().print(f"{'  ' * frame.depth}{plain(frame.goal, _PREVIEW)}", soft_wrap=True)


@app.command("list", short_help="List the tasks of a session, the latest first.")
def list_tasks(
    context: typer.Context,
    status: Annotated[str | None, typer.Option(help="Only active, complete, blocked or failed ones.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Print at most this many.")] = 100,
    session: Annotated[str | None, typer.Option(metavar="ID", help="Only tasks of this session.")] = None,
) -> None:
    """List the tasks, the latest first."""
    options = options_of(context)
    frames = run_async(_with(options, lambda tasks: tasks.list(session, status=status, limit=limit)))
    if options.json:
        print_json({"tasks": [encode(frame) for frame in frames]})
    elif not frames:
        console().print("no tasks here (germane task push TEXT begins one)")
    else:
        rows = [(one.id, one.status, plain(one.branch), plain(one.goal, _PREVIEW)) for one in frames]
        print_rows(console(), _COLUMNS, rows)


@app.command("branch", short_help="Try something beside the main line, or list the branches.")
def branch(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The new branch; without it, list them.")] = None,
    goal: Annotated[str | None, typer.Argument(metavar="GOAL", help="Its task; by default the current one's.")] = None,
    checkpoint: Annotated[str | None, typer.Option(metavar="NAME", help="Begin at this checkpoint.")] = None,
    session: Session = "default",
) -> None:
    """Open a branch where the session stands and switch to it; without a name, list the branches."""
    if name is not None:
        _changed(context, lambda tasks: tasks.branch(name, goal, session=session, checkpoint=checkpoint), "begun")
        return
    options = options_of(context)
    found = run_async(_with(options, lambda tasks: tasks.branches(session)))
    if options.json:
        print_json({"session": session, "branches": [encode(one) for one in found]})
    else:
        print_rows(console(), (ListColumn("branch"), ListColumn("state")), [(plain(one.name), one.state) for one in found])


@app.command("checkpoint", short_help="Remember where the session stands.")
def checkpoint(context: typer.Context, name: Name, session: Session = "default") -> None:
    """Remember where the session stands, so that a branch can begin there later."""
    _done(context, lambda tasks: tasks.checkpoint(name, session=session), f"checkpoint {plain(name)}")


@app.command("switch", short_help="Go to another branch.")
def switch(context: typer.Context, name: Name, session: Session = "default") -> None:
    """Make a branch the running one; the first one is main."""
    _done(context, lambda tasks: tasks.switch(name, session=session), f"on branch {plain(name)}")


@app.command("inject", short_help="Bring a branch's result back.")
def inject(
    context: typer.Context,
    name: Name,
    result: Annotated[str | None, typer.Argument(metavar="TEXT", help="The result, where its task is open.")] = None,
    session: Session = "default",
) -> None:
    """Bring a branch's result to the running branch, and end that branch."""
    _changed(context, lambda tasks: tasks.inject(name, result, session=session), "complete")


@app.command("abandon", short_help="End a branch without a result.")
def abandon(context: typer.Context, name: Name, session: Session = "default") -> None:
    """End a branch without a result."""
    _done(context, lambda tasks: tasks.abandon(name, session=session), f"abandoned {plain(name)}")


def _read(text: str) -> str:
    return read_text("-").strip() if text == "-" else text


def _empty(session: str) -> str:
    return f"no open task in session {plain(session)} (germane task push TEXT begins one)"


def _changed(
    context: typer.Context, change: Callable[[AgentTasks], Awaitable[TaskFrame]], word: str, *, create: bool = False
) -> None:
    options = options_of(context)
    frame = run_async(_with(options, change, create=create))
    if options.json:
        print_json(encode(frame))
        return
    console().print(f"{word} {frame.id}: {plain(frame.goal, _PREVIEW)}", soft_wrap=True)
    if frame.secrets:
        console().print(secrets_line(frame.secrets))


def _done(context: typer.Context, change: Callable[[AgentTasks], Awaitable[Any]], said: str) -> None:
    options = options_of(context)
    value = run_async(_with(options, change))
    if options.json:
        print_json(encode(value))
    else:
        console().print(said)


def _print(frame: TaskFrame) -> None:
    fields = [
        *(("task", frame.id), ("session", frame.session), ("branch", frame.branch), ("status", frame.status)),
        ("parent", frame.parent or ""),
        ("goal", frame.goal),
        ("begun", frame.created_at.isoformat(timespec="seconds")),
        ("ended", "" if frame.closed_at is None else frame.closed_at.isoformat(timespec="seconds")),
        ("artifacts", ", ".join(f"{one.title} {one.id}".strip() for one in frame.artifacts)),
        ("result", frame.result or ""),
    ]
    print_fields(console(), fields)


async def _with(options: GlobalOptions, work: Callable[[AgentTasks], Awaitable[T]], *, create: bool = False) -> T:
    async with options.open_store(create=create) as (_, agent):
        return await work(agent.tasks)
