"""`germane assemble`: prints the messages of a request with the context that the model needs."""

from __future__ import annotations

import typer

from germane.cli.assembly_options import AssemblyOptions, SaveTrace
from germane.cli.global_options import options_of, run_async
from germane.cli.option_groups import expand_groups
from germane.cli.screen import console, plain, print_json

__all__ = ["assemble"]


@expand_groups
def assemble(context: typer.Context, request: AssemblyOptions, save_trace: SaveTrace = None) -> None:
    """Print a request's messages with the context that the model needs. Without
    --deadline it waits for every source.

    \b
      germane assemble --query "When do we launch?" --user ada
      germane assemble request.json --user ada --strategy compact
    """
    from germane.cli.enriched_messages import print_messages
    from germane.cli.json_shapes import context_shape
    from germane.cli.trace_file import SavedTrace, save

    options = options_of(context)
    assembled = run_async(request.assemble(options))
    if save_trace is not None:
        save(SavedTrace.of(assembled), save_trace)
    if options.json:
        print_json(context_shape(assembled))
        return
    print_messages(assembled, console())
    fallback = assembled.metadata.fallback_reason
    for note in ([f"less than asked for: {fallback}"] if fallback else []) + list(assembled.trace.warnings):
        console(stderr=True).print(f"note: {plain(note)}")
