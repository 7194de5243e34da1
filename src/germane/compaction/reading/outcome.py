"""Outcome: the error that a tool's result reports, also where its text is masked by a line that says what it held."""

from __future__ import annotations

from germane.compaction.reading.output_facts import OutputFacts
from germane.compaction.reading.results import error_of_result
from germane.types.message import ToolResult

__all__ = ["error_of_outcome"]


def error_of_outcome(result: ToolResult, facts: OutputFacts | None, *, ran: bool) -> str:
    """Returns the error on one line; '' for a success. `facts` are those of the line that masks the output, None for an output
    that isn't masked; `ran` says that the tool ran a command."""
    if facts is None:
        return error_of_result(result, ran=ran)
    return facts.error if facts.sure or ran else ""
