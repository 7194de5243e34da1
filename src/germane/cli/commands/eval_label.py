"""`germane eval label`: marks which items of an assembly helped, for `germane eval fit --feedback`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from germane.cli.global_options import options_of
from germane.cli.screen import console, print_json
from germane.errors import InvalidInput

__all__ = ["label"]


def label(
    context: typer.Context,
    trace: Annotated[
        str, typer.Argument(metavar="TRACE", help="A trace that assemble --save-trace wrote; - is standard input.")
    ],
    helpful: Annotated[
        list[str] | None, typer.Option(help="The id, or the handle such as a3, of an item that helped (may be repeated).")
    ] = None,
    harmful: Annotated[
        list[str] | None, typer.Option(help="The id or the handle of an item that did harm (may be repeated).")
    ] = None,
    to: Annotated[Path, typer.Option(help="The feedback file to append to.")] = Path("feedback.jsonl"),
) -> None:
    """Mark which items of an assembly helped and which did harm, and append the marks to a feedback file.

    The file holds ids, marks and numbers, but no texts."""
    from germane.cli.trace_file import load
    from germane.evaluate.fit import feedback

    if not helpful and not harmful:
        raise InvalidInput("nothing is marked: give --helpful ID or --harmful ID (the ids are in germane explain --ids)")
    marked = feedback.label(load(trace).trace, helpful=helpful or (), harmful=harmful or ())
    if not marked.marks:
        raise InvalidInput("what is marked was shown for another reason than its likeness to the query: nothing to learn from")
    try:
        with to.open("a", encoding="utf-8") as file:
            file.write(feedback.line(marked) + "\n")
    except OSError as error:
        raise InvalidInput(f"{to} can't be written: {error.strerror}") from None
    if options_of(context).json:
        print_json({"file": str(to), "shown": len(marked.shown), "marked": marked.marks})
    else:
        console().print(f"marked {marked.marks} of {len(marked.shown)} shown, in {to}")
