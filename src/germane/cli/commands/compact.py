"""`germane compact`: makes a long conversation fit a model's window, and says what was done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from germane.cli.exits import Exit
from germane.cli.files import RequestFile, request_in, write_text
from germane.cli.filter_options import known
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.screen import console, print_json

if TYPE_CHECKING:
    from germane.compaction.compaction import Compaction

__all__ = ["compact"]

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
    from germane.cli.compaction_screen import compaction_shape, print_compaction

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
    if not made.fits:
        raise typer.Exit(Exit.FAILED)


def _compacted(request: RequestFile, given: dict[str, Any]) -> Compaction:
    from germane.history.compacting import compact as fitted

    return fitted(request.messages, **given)


async def _kept(options: GlobalOptions, request: RequestFile, session: str, given: dict[str, Any]) -> Compaction:
    async with options.open_store(create=True) as (_, agent):
        return await agent.history.compact(request.messages, session=session, deadline=None, **given)


def _strategy(name: str) -> Any:
    from germane.compaction.strategy import Importance, Summarise, TimeDecay, Truncate

    made = (Summarise, Truncate, Importance, TimeDecay)
    return dict(zip(_STRATEGIES, made, strict=True))[known("--strategy", name, _STRATEGIES)]()


def _request(request: RequestFile, made: Compaction) -> Any:
    """As the file was: a list of messages, or a request."""
    if request.system is None and request.tools is None:
        return made.messages
    return {"messages": made.messages} | {
        name: value for name, value in (("system", made.system), ("tools", request.tools)) if value is not None
    }
