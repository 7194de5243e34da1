"""`germane export`: writes all data of an agent as JSON Lines, which `germane import` reads."""

from __future__ import annotations

import sys
from typing import Annotated, TextIO

import typer

from germane.cli.codec import encode
from germane.cli.files import owner_only
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.screen import console, print_json, printable_json
from germane.errors import InvalidInput

__all__ = ["export"]


def export(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file to write; - is standard output.")] = "-",
) -> None:
    """Write the directive, the memories and the messages of the agent, or with --user of that user, as JSON Lines.

    Each line is an object with its kind in the field `type`; germane import reads them. A new file is readable by its owner
    only. Vectors and API keys are not exported."""
    options = options_of(context)
    if file == "-":
        run_async(_export(options, sys.stdout))
        return
    try:
        with open(file, "w", encoding="utf-8", newline="\n", opener=owner_only) as stream:
            count = run_async(_export(options, stream))
    except OSError as error:
        raise InvalidInput(f"{file} can't be written: {error.strerror}") from None
    if options.json:
        print_json({"target": file, "lines": count})
    else:
        console().print(f"exported {count} lines to {file}")


async def _export(options: GlobalOptions, stream: TextIO) -> int:
    """Returns the number of lines written."""
    count = 0
    async with options.open_store() as (_, agent):
        async for line in agent.export():
            stream.write(printable_json(encode(line), indent=None) + "\n")
            count += 1
    stream.flush()
    return count
