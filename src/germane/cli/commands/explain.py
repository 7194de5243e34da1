"""`germane explain`: assembles, and prints why each candidate went into the context or was left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from germane.cli.assembly_options import AssemblyOptions, SaveTrace
from germane.cli.codec import encode
from germane.cli.elsewhere import whereabouts
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.listing import print_fields
from germane.cli.option_groups import expand_groups
from germane.cli.screen import console, print_json
from germane.errors import InvalidInput

if TYPE_CHECKING:
    from germane.types.why import Why

__all__ = ["explain"]


@expand_groups
def explain(
    context: typer.Context,
    request: AssemblyOptions,
    trace: Annotated[
        str | None, typer.Option(help="Explain the assembly that --save-trace wrote to this file, instead of a new one.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show every candidate that was left out.")] = False,
    ids: Annotated[bool, typer.Option("--ids", help="Show ids instead of texts.")] = False,
    why: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Say of this memory or message alone why it went in or not, wherever it was lost."),
    ] = None,
    save_trace: SaveTrace = None,
) -> None:
    """Assemble a request and print why: each candidate with its score, its tokens and the reason it went in or was left out.

    \b
      germane explain --query "When do we launch?" --user ada --save-trace launch.json
      germane explain --trace launch.json --all
      germane explain --query "When do we launch?" --user ada --why 01a204f2-6d51
    """
    from germane.cli.explanation_table import print_explanation
    from germane.cli.trace_file import SavedTrace, dump, load, save

    options = options_of(context)
    texts: Mapping[str, str] = {}
    if why is not None:
        if trace is not None or save_trace is not None:
            raise InvalidInput("--why assembles the request and prints nothing else: leave out --trace and --save-trace")
        print_why(run_async(_why(options, request, why)), options)
        return
    if trace is None:
        assembled, texts = run_async(request.assemble_and_read(options, reading=everything))
        saved = SavedTrace.of(assembled)
    elif request.file is not None or request.query is not None:
        raise InvalidInput("--trace shows what was saved: give either --trace, or FILE and --query")
    else:
        saved = load(trace)
    if save_trace is not None:
        save(saved, save_trace)
    if options.json:
        print_json(dump(saved))
    else:
        print_explanation(saved, console(), everything=everything, ids=ids, texts=texts)


def print_why(found: Why, options: GlobalOptions) -> None:
    """Print what an assembly did with one thing."""
    if options.json:
        print_json(encode(found))
        return
    fields = [
        ("id", found.id),
        ("outcome", found.outcome.replace("_", " ")),
        ("why", found.text),
        ("rank", "" if found.rank is None else f"{found.rank:,}"),
        ("P(relevant)", "" if found.probability is None else f"{found.probability:.4f}"),
        ("tokens", "" if found.tokens is None else f"{found.tokens:,}"),
    ]
    print_fields(console(), fields)


async def _why(options: GlobalOptions, request: AssemblyOptions, id: str) -> Why:
    """Where this scope has no such thing, the sentence tells who has: whoever runs the command has the file."""
    from dataclasses import replace

    checked = request.checked(options)
    async with options.open_store(warm=True) as (germane, agent):
        found: Why = await agent.why(id, await request.assemble_with(agent, checked), session=request.session)
        if found.outcome == "absent" and (where := await whereabouts(germane, options, id)):
            return replace(found, text=f"this scope doesn't have it: {where}")
        return found
