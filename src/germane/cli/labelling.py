"""`germane eval label`: what of an assembly helped, kept for `germane eval fit --feedback`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from germane.cli.global_options import setting
from germane.cli.screen import answer, console
from germane.errors import InvalidInput

__all__ = ["label"]


def label(
    context: typer.Context,
    trace: Annotated[str, typer.Argument(help="An assembly saved with --save-trace; - is standard input.")],
    helpful: Annotated[
        list[str] | None, typer.Option(help="An id, or a handle such as a3, that helped (may be repeated).")
    ] = None,
    harmful: Annotated[list[str] | None, typer.Option(help="One that did harm (may be repeated).")] = None,
    to: Annotated[Path, typer.Option(help="The file of feedback that it is added to.")] = Path("feedback.jsonl"),
) -> None:
    """Mark what helped and what did harm of what an assembly showed, and add it to a file of feedback.

    The file holds ids, marks and numbers, no text."""
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
    if setting(context).json:
        answer({"file": str(to), "shown": len(marked.shown), "marked": marked.marks})
    else:
        console().print(f"marked {marked.marks} of {len(marked.shown)} shown, in {to}")
