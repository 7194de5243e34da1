"""`germane export`: writes all data of an agent, an org or the store as JSON Lines, which `germane import` restores."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Annotated

import typer

from germane.cli.files import owner_only
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.screen import console, print_json, printable_json, progress
from germane.errors import InvalidInput

if TYPE_CHECKING:
    from germane.api.export import Exported
    from germane.api.germane import Germane

__all__ = ["export"]


def export(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file to write; - is standard output.")] = "-",
    all_users: Annotated[bool, typer.Option("--all-users", help="The agent with all its users.")] = False,
    all_agents: Annotated[bool, typer.Option("--all-agents", help="The org with all its agents and users.")] = False,
    everything: Annotated[bool, typer.Option("--everything", help="The whole store: every org in it.")] = False,
) -> None:
    """Write the directives, memories, contradictions, sessions, messages and tombstones of the agent, or with --user of that
    user, as JSON Lines.

    The export shows the store at one moment, and germane import restores it as it was. A new file is readable by its owner
    only. Vectors and API keys are not exported."""
    from germane.transfer.line import written

    options = options_of(context)
    if all_users + all_agents + everything > 1:
        raise InvalidInput("--all-users, --all-agents and --everything exclude each other: give the largest one")
    wrong = options.named & ({"user"} if all_users else {"user", "agent"} if all_agents else set())
    wrong = options.named if everything else wrong
    if wrong:
        raise InvalidInput(f"--{min(wrong)} has no meaning beside an export of all of them: leave one of the two out")

    def exported(germane: Germane) -> AsyncIterator[Exported]:
        if everything:
            return germane.export()
        if all_agents or all_users:
            return germane.export(options.org, options.agent if all_users else None)
        return germane.agent(options.agent, org=options.org, user=options.user).export()

    if file == "-":
        run_async(_export(options, exported, lambda line: print(_printable(line))))
        return
    try:
        with open(file, "w", encoding="utf-8", newline="\n", opener=owner_only) as stream:
            count = run_async(_export(options, exported, lambda line: stream.write(f"{written(line)}\n")))
    except OSError as error:
        raise InvalidInput(f"{file} can't be written: {error.strerror}") from None
    if options.json:
        print_json({"target": file, "lines": count})
    else:
        console().print(f"exported {count} lines to {file}")


async def _export(
    options: GlobalOptions, exported: Callable[[Germane], AsyncIterator[Exported]], write: Callable[[Exported], object]
) -> int:
    """Returns the number of lines written."""
    count = 0
    async with options.open_store() as (germane, _):
        with progress(options.json) as bar:
            task = bar.add_task("exporting", total=None)
            async for line in exported(germane):
                write(line)
                count += 1
                if count == 1:
                    bar.update(task, total=1 + sum(line["holds"].values()))
                bar.advance(task)
    return count


def _printable(line: Exported) -> str:
    """The line as `written`; in ASCII where standard output can't encode it."""
    from germane.transfer.line import written

    text = written(line)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return printable_json(line, indent=None)
    return text
