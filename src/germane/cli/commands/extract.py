"""`germane extract`: has the configured language model read the conversations that wait for it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from germane.cli.exits import Exit
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.screen import console, plain, print_json, told_progress
from germane.errors import InvalidInput

if TYPE_CHECKING:
    from germane.api.extraction_worker import ExtractionRun

__all__ = ["extract"]

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
        _tell(run)
    if run.stopped or run.failed or run.parked:
        raise typer.Exit(Exit.FAILED)


def _tell(run: ExtractionRun) -> None:
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
