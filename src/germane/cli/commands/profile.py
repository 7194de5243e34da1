"""`germane profile` and `germane directive`: what is shown with every request of a user, and an agent's instructions.

`profile` prints the lines; it also pins, hides and clears them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from germane.cli.files import read_text
from germane.cli.hints import other_scopes, owner_hint
from germane.cli.options import GlobalOptions, options_of, run_async
from germane.cli.screen import console, plain, print_done, print_hints, print_json
from germane.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from rich.console import Console

    from germane.kinds.profile.value import Mark, ProfileView, ViewedLine


_TITLES = (("instruction", "Asked for in all answers"), ("about", "About the user"))
_ID_LENGTHS = (13, 18, 23, 36)
"""Where the id of a memory or a message is cut: at its hyphens."""
_REASONS = {"budget": "no room", "duplicate": "another line says it"}

Line = Annotated[
    str, typer.Argument(metavar="ID", help="The line's id as the list shows it, or the first characters of it (4 or more).")
]

app = typer.Typer(invoke_without_command=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.callback()
def profile(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="Also the lines that don't stand, each with the reason.")] = False,
    tokens: Annotated[
        int | None, typer.Option(min=0, max=1_000_000, help="The tokens for lines.  [default: those of the strategy]")
    ] = None,
    at: Annotated[str | None, typer.Option(help="As of this time (ISO 8601). Default: now.")] = None,
    prompt: Annotated[bool, typer.Option("--prompt", help="Print the text as a prompt holds it.")] = False,
) -> None:
    """Print the profile of a user: the lines that stand in every prompt from a session's first turn on, each with its id, its
    tokens and the reason. Without --user: that of the agent as a whole.

    \b
      germane profile --user ada --all
      germane profile pin ID --user ada
    """
    if context.invoked_subcommand is not None:
        if everything or tokens is not None or at is not None or prompt:
            raise InvalidInput(f"--all, --tokens, --at and --prompt belong to the list, not to {context.invoked_subcommand}")
        return
    options = options_of(context)
    view, hints = run_async(_view(options, at=options.parse_time(at, "--at"), tokens=tokens))
    if options.json:
        print_json(_shape(view, everything))
    elif prompt:
        console().print(view.text, markup=False, highlight=False, soft_wrap=True)
    else:
        _print_view(view, everything, hints)


@app.command("pin", short_help="Choose a line before all others.")
def pin(context: typer.Context, id: Line) -> None:
    """Choose a line before all others, in the next session and later ones."""
    _mark(context, id, "pin", "pinned")


@app.command("hide", short_help="Let a line never stand.")
def hide(context: typer.Context, id: Line) -> None:
    """Let a line never stand, nor what says the same. What it is made of stays stored and can be found."""
    _mark(context, id, "hide", "hidden")


@app.command("clear", short_help="Take the mark of a line away.")
def clear(context: typer.Context, id: Line) -> None:
    """Take the mark of a line away: it is neither pinned nor hidden then."""
    _mark(context, id, None, "cleared")


def _mark(context: typer.Context, id: str, mark: Mark | None, done: str) -> None:
    options = options_of(context)
    line = run_async(_marked(options, id, mark))
    print_done(options.json, {"id": line, "mark": mark}, f"{done}: {line}", whole=True)


async def _marked(options: GlobalOptions, id: str, mark: Mark | None) -> str:
    async with options.open_store() as (germane, agent):
        try:
            return await agent.mark_line(id, mark)
        except NotFound as missing:
            if where := await owner_hint(germane, options, id.partition("@")[0]):
                raise NotFound(f"{missing} ({where})") from None
            raise


async def _view(options: GlobalOptions, **asked: Any) -> tuple[ProfileView, list[str]]:
    async with options.open_store() as (germane, agent):
        view = await agent.profile(**asked)
        return view, [] if view.lines or view.left_out else await other_scopes(germane, options)


def _print_view(view: ProfileView, everything: bool, hints: Sequence[str]) -> None:
    screen, short = console(), _shortened([*view.lines, *view.left_out])
    for kind, title in _TITLES:
        _print_lines(screen, title, [line for line in view.lines if line.kind == kind], short)
    if everything:
        _print_lines(screen, "Left out", view.left_out, short)
    if not view.lines:
        screen.print("no line stands here")
    else:
        count = f"{len(view.lines)} lines" if len(view.lines) > 1 else "1 line"
        screen.print(f"{count}, {view.tokens:,} tokens with headers; lines may take {view.budget:,}")
    if view.left_out and not everything:
        screen.print(f"{len(view.left_out)} left out: --all shows them")
    print_hints(screen, hints)


def _print_lines(screen: Console, title: str, lines: Sequence[ViewedLine], short: dict[str, str]) -> None:
    """Each line's text, and below it the id, the tokens and where it comes from."""
    from rich.padding import Padding
    from rich.text import Text

    if not lines:
        return
    screen.print(Text(title, style="bold"))
    for line in lines:
        about = [short[line.id], "" if line.tokens is None else f"{line.tokens} tokens", "pinned" if line.pinned else ""]
        about += [_REASONS.get(line.reason, line.reason), f"{line.said_at:%Y-%m-%d}", line.why]
        screen.print(Padding(Text(plain(line.text, 400)), (0, 0, 0, 2)))
        screen.print(Padding(Text(" · ".join(filter(None, map(plain, about))), style="dim"), (0, 0, 0, 4)))
    screen.print()


def _shortened(lines: Sequence[ViewedLine]) -> dict[str, str]:
    """The beginnings by which these lines are told apart, as `Agent.mark_line` takes them: of a clause its message's beginning,
    and the place where the clause begins."""
    things = {line.id: line.id.partition("@")[0] for line in lines}
    several = set(things.values())
    length = next((size for size in _ID_LENGTHS if len({id[:size] for id in several}) == len(several)), None)
    return {
        line.id: thing[:length] + at + place.partition("-")[0]
        for line, thing in ((line, things[line.id]) for line in lines)
        for _, at, place in (line.id.partition("@"),)
    }


def _shape(view: ProfileView, everything: bool) -> dict[str, Any]:
    shape: dict[str, Any] = {"lines": [_line_shape(line) for line in view.lines], "tokens": view.tokens, "budget": view.budget}
    return shape | {"left_out": [_line_shape(line) for line in view.left_out]} if everything else shape


def _line_shape(line: ViewedLine) -> dict[str, Any]:
    return asdict(line) | {"said_at": line.said_at.isoformat(), "worth": round(line.worth, 4), "reason": line.reason or None}


# `germane directive`: sets or prints an agent's standing instructions.


def directive(
    context: typer.Context,
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="TEXT", help="The instructions to set; - reads them from standard input. Without TEXT: print them."
        ),
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Remove the instructions.")] = False,
) -> None:
    """Set or print the standing instructions of the agent, which go into every context.

    With --user, the instructions apply to that user only and replace the agent's."""
    options = options_of(context)
    new = "" if clear else read_text("-").strip() if text == "-" else text
    current = run_async(_directive(options, new))
    print_done(options.json, {"directive": current}, current or "no directive is set")


async def _directive(options: GlobalOptions, new: str | None) -> str:
    async with options.open_store(create=bool(new)) as (_, agent):
        if new is not None:
            await agent.directive(new)
        return await agent.directive() or ""
