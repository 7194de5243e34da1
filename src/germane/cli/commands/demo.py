"""`germane demo`: imports a conversation, asks questions about it, and shows what goes into the context and why."""

from __future__ import annotations

from typing import Annotated

import typer

from germane.cli.global_options import options_of, run_async
from germane.cli.screen import print_json

__all__ = ["demo"]


def demo(
    context: typer.Context,
    conversation: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE", help="A file that germane import reads. Default: a sample conversation that is included."
        ),
    ] = None,
    questions: Annotated[
        list[str] | None,
        typer.Option("--ask", help="A question to ask (may be repeated). Default: questions that suit the conversation."),
    ] = None,
    model: Annotated[str, typer.Option(help="The model that the messages are for.")] = "gpt-4o",
    max_tokens: Annotated[
        int | None,
        typer.Option(min=0, help="Add at most this many tokens for each question. Default: what is worth its tokens."),
    ] = None,
    strategy: Annotated[str, typer.Option(help="default, verbose, compact or composite.")] = "default",
) -> None:
    """Import a conversation, ask questions about it, and show the resulting messages, the token budget and the reasons.

    The store is temporary unless --db names a file. No API key and no network are needed."""
    import tempfile
    from contextlib import ExitStack
    from dataclasses import replace
    from pathlib import Path

    from germane.cli.demo_conversation import load_conversation, sample
    from germane.cli.demo_tour import tour
    from germane.cli.imports.locomo import DemoQuestion
    from germane.cli.json_shapes import context_shape

    options = options_of(context)
    rows, asked = sample() if conversation is None else load_conversation(conversation)
    if questions:
        asked = [DemoQuestion(text) for text in questions]
    with ExitStack() as stack:
        if not options.explicit:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="germane-"))
            options = replace(options, db=Path(folder) / "demo.db")
        answers = run_async(tour(options, rows, asked, model, max_tokens, strategy))
    if options.json:
        print_json({"answers": [{"question": text, **context_shape(assembled)} for text, assembled in answers]})
