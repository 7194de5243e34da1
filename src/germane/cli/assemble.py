"""`germane assemble` and `germane explain`: the messages a model would get, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from germane.cli.global_options import finish, setting
from germane.cli.narrowing import Allow, Kind, Narrowing, Since, Tag, Until
from germane.cli.screen import answer, console, plain
from germane.errors import InvalidInput

__all__ = ["assemble", "explain"]

File = Annotated[str | None, typer.Argument(help="A JSON list of messages; - is standard input.")]
Ask = Annotated[str | None, typer.Option("--query", help="The question; without FILE it is the request's only message.")]
Model = Annotated[str, typer.Option(help="The model the messages are for.")]
Provider = Annotated[str | None, typer.Option(help="openai, anthropic or gemini; told from the model by default.")]
Most = Annotated[int | None, typer.Option("--max-tokens", min=0, help="Cap on all that is added.")]
How = Annotated[str, typer.Option(help="default, compact, composite, or one of your own.")]
Session = Annotated[str | None, typer.Option(help="The conversation going on.")]
At = Annotated[str | None, typer.Option(help="The time asked about (ISO 8601); now by default.")]


def assemble(
    context: typer.Context,
    file: File = None,
    query: Ask = None,
    model: Model = "gpt-4o",
    provider: Provider = None,
    max_tokens: Most = None,
    strategy: How = "default",
    session: Session = None,
    at: At = None,
    since: Since = None,
    until: Until = None,
    kind: Kind = None,
    tag: Tag = None,
    allow: Allow = None,
    save_trace: Annotated[Path | None, typer.Option(help="Keep the explanation for explain --trace.")] = None,
) -> None:
    """Print the messages enriched with what the model needs to know. It waits for every source, however long."""
    from germane.cli.asked import Asked, assembled
    from germane.cli.enriched import enriched
    from germane.cli.shapes import context_shape
    from germane.cli.trace_file import save, saved

    chosen = setting(context)
    narrowing = Narrowing(since=since, until=until, kinds=kind, tags=tag, allow=allow)
    asked = Asked(
        file=file,
        query=query,
        model=model,
        provider=provider,
        max_tokens=max_tokens,
        strategy=strategy,
        session=session,
        at=at,
        narrowing=narrowing,
    )
    done = finish(assembled(chosen, asked))
    if save_trace is not None:
        save(saved(done), save_trace)
    if chosen.json:
        answer(context_shape(done))
    else:
        enriched(done, console())
        fell = f"less than asked for: {done.metadata.fallback_reason}" if done.metadata.fallback_reason else ""
        for line in filter(None, (fell, *done.trace.warnings)):
            console(stderr=True).print(f"note: {plain(line)}")


def explain(
    context: typer.Context,
    file: File = None,
    query: Ask = None,
    trace: Annotated[str | None, typer.Option(help="Show a saved assembly again instead.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every candidate that was left out.")] = False,
    ids: Annotated[bool, typer.Option("--ids", help="Ids instead of texts.")] = False,
    model: Model = "gpt-4o",
    provider: Provider = None,
    max_tokens: Most = None,
    strategy: How = "default",
    session: Session = None,
    at: At = None,
    since: Since = None,
    until: Until = None,
    kind: Kind = None,
    tag: Tag = None,
    allow: Allow = None,
    save_trace: Annotated[Path | None, typer.Option(help="Keep the explanation for explain --trace.")] = None,
) -> None:
    """Assemble and show why: each candidate, in or out, with its score, tokens and reason."""
    from germane.cli.asked import Asked, assembled
    from germane.cli.explanation import explanation
    from germane.cli.trace_file import dump, load, save, saved

    chosen = setting(context)
    if trace is not None:
        if file is not None or query is not None:
            raise InvalidInput("--trace shows what was saved: give either --trace, or FILE and --query")
        kept = load(trace)
    else:
        narrowing = Narrowing(since=since, until=until, kinds=kind, tags=tag, allow=allow)
        asked = Asked(
            file=file,
            query=query,
            model=model,
            provider=provider,
            max_tokens=max_tokens,
            strategy=strategy,
            session=session,
            at=at,
            narrowing=narrowing,
        )
        kept = saved(finish(assembled(chosen, asked)))
    if save_trace is not None:
        save(kept, save_trace)
    if chosen.json:
        answer(dump(kept))
    else:
        explanation(kept, console(), everything=everything, ids=ids)
