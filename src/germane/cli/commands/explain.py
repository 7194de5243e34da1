"""`germane explain`: assembles, and prints why each candidate went into the context or was left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from germane.cli.assembly_options import AssemblyOptions, SaveTrace
from germane.cli.global_options import options_of, run_async
from germane.cli.option_groups import expand_groups
from germane.cli.screen import console, print_json
from germane.errors import InvalidInput

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
    save_trace: SaveTrace = None,
) -> None:
    """Assemble a request and print why: each candidate with its score, its tokens and the reason it went in or was left out.

    \b
      germane explain --query "When do we launch?" --user ada --save-trace launch.json
      germane explain --trace launch.json --all
    """
    from germane.cli.explanation_table import print_explanation
    from germane.cli.trace_file import SavedTrace, dump, load, save

    options = options_of(context)
    texts: Mapping[str, str] = {}
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
