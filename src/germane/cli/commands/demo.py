"""`germane demo`: imports a conversation, asks a few requests, and shows what each is given."""

from __future__ import annotations

from shlex import join
from typing import TYPE_CHECKING, Annotated, Any

import typer

from germane.cli.options import GlobalOptions, options_of, run_async
from germane.cli.screen import console, print_json

if TYPE_CHECKING:
    from germane.cli.made_requests import MadeRequest
    from germane.types.context import Context


def demo(
    context: typer.Context,
    conversation: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="A file, a zip archive or a folder that germane import takes; - is standard input. Default: a sample.",
        ),
    ] = None,
    questions: Annotated[
        list[str] | None,
        typer.Option("--ask", help="A request (may be repeated). Default: requests that the conversation can answer."),
    ] = None,
    model: Annotated[str, typer.Option(help="The model that the messages are for.")] = "gpt-4o",
    max_tokens: Annotated[
        int | None,
        typer.Option(min=0, help="Add at most this many tokens for each request. Default: what is worth its tokens."),
    ] = None,
    strategy: Annotated[str, typer.Option(help="default, verbose, compact or composite.")] = "default",
) -> None:
    """Import a conversation, ask a few requests, each at the beginning of a conversation of its own, and show what germane adds
    to each: a fact in other words, an instruction, a value that changed, a day, thanks.

    The store is temporary unless --db names a file. No API key and no network are needed."""
    import tempfile
    from contextlib import ExitStack
    from dataclasses import replace
    from pathlib import Path

    from germane.cli.demo import DemoSettings, load_conversation, print_next, sample, tour
    from germane.cli.imports.load import ExportFile
    from germane.cli.made_requests import MadeRequest

    options = options_of(context)
    talk = sample() if conversation is None else load_conversation(conversation)
    asked = tuple(MadeRequest(text=text, kind="a request of yours") for text in questions or ())
    with ExitStack() as stack:
        if isinstance(talk.loaded, ExportFile):
            stack.callback(talk.loaded.close)
        if not options.explicit:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="germane-"))
            options = replace(options, db=Path(folder) / "demo.db")
        scope, answers = run_async(tour(options, talk, DemoSettings(model, max_tokens, strategy, asked)))
    if options.json:
        print_json({"answers": [_shape(request, assembled) for request, assembled in answers]})
    else:
        print_next(console(), _next(scope, conversation, answers[0][0].text if answers else ""))


def _shape(request: MadeRequest, assembled: Context) -> dict[str, Any]:
    from germane.cli.demo import shown_parts
    from germane.cli.json_shapes import context_shape

    labels = {"question": request.text, "kind": request.kind, "answer": request.answer}
    parts = {"answer_parts": len(request.evidence), "answer_parts_shown": shown_parts(request, assembled)}
    return {**labels, **parts, **context_shape(assembled)}


def _next(options: GlobalOptions, conversation: str | None, asked: str) -> list[tuple[str, str]]:
    """Commands to type next: why, where the store was kept; a conversation of one's own; a store to keep."""
    if options.explicit:
        scope = ["--db", str(options.db)]
        for name, value, default in (("org", options.org, "default"), ("agent", options.agent, "default")):
            scope += [] if value == default else [f"--{name}", value]
        scope += [] if options.user is None else ["--user", options.user]
        return [
            (join(["germane", "explain", "--query", asked, *scope]), "the messages' cost, and why each line went in"),
            (join(["germane", "assemble", "--query", asked, *scope]), "the messages as a model gets them"),
            (join(["germane", "about", *scope]), "what is known of you"),
        ]
    own = ["germane", "demo", *([] if conversation in (None, "-") else [conversation])]
    return [
        (join([*own, "--db", "demo.db"]), "keeps the store"),
        ("germane demo YOUR-EXPORT.zip", "the same with your own talk"),
        ("germane import YOUR-EXPORT.zip --user me", "a store of your own"),
    ]
