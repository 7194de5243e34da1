"""`germane demo`: the whole way in one command: import a conversation, ask about it, show what went in and why."""

from __future__ import annotations

from typing import Annotated

import typer

from germane.cli.global_options import finish, setting
from germane.cli.screen import answer

__all__ = ["demo"]


def demo(
    context: typer.Context,
    conversation: Annotated[
        str | None, typer.Argument(help="Any file that germane import reads; its own sample by default.")
    ] = None,
    question: Annotated[list[str] | None, typer.Option("--ask", help="A question of your own (may be repeated).")] = None,
    model: Annotated[str, typer.Option(help="The model the messages are for.")] = "gpt-4o",
    max_tokens: Annotated[int, typer.Option(min=0, help="Cap on what is added for a question.")] = 500,
    strategy: Annotated[str, typer.Option(help="default, compact or composite.")] = "compact",
) -> None:
    """Import a conversation into a temporary store (or --db), ask about it, show the enriched messages and the reasons."""
    import tempfile
    from contextlib import ExitStack
    from dataclasses import replace
    from pathlib import Path

    from germane.cli.conversation import given, sample
    from germane.cli.imports.locomo import Asked
    from germane.cli.shapes import context_shape
    from germane.cli.tour import tour

    chosen = setting(context)
    rows, asked = sample() if conversation is None else given(conversation)
    asked = [Asked(text, "", (), 0) for text in question] if question else asked
    with ExitStack() as stack:
        if not chosen.explicit:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="germane-"))
            chosen = replace(chosen, db=Path(folder) / "demo.db")
        done = finish(tour(chosen, rows, asked, model, max_tokens, strategy))
    if chosen.json:
        answer({"answers": [{"question": text, **context_shape(found)} for text, found in done]})
