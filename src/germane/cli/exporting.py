"""`germane export`: everything of an agent as JSON Lines, which `germane import` reads back."""

from __future__ import annotations

import sys
from typing import Annotated, TextIO

import typer

from germane.cli.codec import encode
from germane.cli.global_options import GlobalOptions, finish, setting
from germane.cli.reading import private
from germane.cli.screen import answer, console, dumped
from germane.errors import InvalidInput

__all__ = ["export"]


def export(
    context: typer.Context,
    file: Annotated[str, typer.Argument(help="Where to; - is standard output.")] = "-",
) -> None:
    """Write memories, messages and the directive: one JSON object a line, told by its `type`."""
    chosen = setting(context)
    if file == "-":
        finish(_export(chosen, sys.stdout))
        return
    try:
        with open(file, "w", encoding="utf-8", newline="\n", opener=private) as stream:
            count = finish(_export(chosen, stream))
    except OSError as error:
        raise InvalidInput(f"{file} can't be written: {error.strerror}") from None
    if chosen.json:
        answer({"target": file, "lines": count})
    else:
        console().print(f"exported {count} lines to {file}")


async def _export(chosen: GlobalOptions, stream: TextIO) -> int:
    count = 0
    async with chosen.opened() as (_, agent):
        async for line in agent.export():
            stream.write(dumped(encode(line), indent=None) + "\n")
            count += 1
    stream.flush()
    return count
