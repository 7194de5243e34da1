"""Output facts: what a tool's output says that later work refers to, for the line that stands in its place (HIST-5).

A masked output is read again when its exchange leaves the prompt, also by callers who go on with what they were given: an error
and the ids that only it held must then still be there.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from germane.compaction.reading.references import ids_in, json_ids
from germane.compaction.reading.results import error_of_result, may_report_error
from germane.types.message import ToolResult

__all__ = ["FACTS", "MAX_FACTS", "OutputFacts", "facts_of", "read_facts"]

MAX_FACTS = 260
"""Characters of the facts of one output."""
FACTS = r"(?:; (?:error|says) [^;\n]{1,170})?(?:; ids [^;\n]{1,70})?"
"""An expression for them, as `OutputFacts.text` writes them."""
_FACTS = re.compile(r"(?:; (?P<how>error|says) (?P<error>[^;\n]{1,170}))?(?:; ids (?P<ids>[^;\n]{1,70}))?")
_MAX_IDS, _MAX_ID, _MAX_READ, _SHORT = 3, 60, 4_000, 600


class OutputFacts(NamedTuple):
    """The error that an output reports, "" for none, and its first ids. `sure` is false where the output is an error only if it
    is that of a command: it may be a text about one."""

    error: str = ""
    ids: tuple[str, ...] = ()
    sure: bool = True

    @property
    def text(self) -> str:
        """The facts as they stand in a line: `; error …; ids …`, at most 260 characters; "" where there are none."""
        kept, room = list[str](), 70
        for name in self.ids:
            if len(name) + 2 <= room:
                kept.append(name)
                room -= len(name) + 2
        error = f"; {'error' if self.sure else 'says'} {self.error}" if self.error else ""
        return error + (f"; ids {', '.join(kept)}" if kept else "")


def facts_of(result: ToolResult) -> OutputFacts:
    """Returns what an output says. Reads some 10,000 characters; linear."""
    text = result.text[:_MAX_READ]
    named = json_ids(text) if text[:1] in ("{", "[") else ids_in(text) if len(result.text) <= _SHORT else []
    ids = tuple(name for name in map(_plain, named[:_MAX_IDS]) if 0 < len(name) <= _MAX_ID and ", " not in name)
    if not may_report_error(result):
        return OutputFacts("", ids)
    sure = error_of_result(result, ran=False)
    return OutputFacts(_plain(sure or error_of_result(result, ran=True)), ids, bool(sure))


def read_facts(text: str) -> OutputFacts | None:
    """Returns the facts that `OutputFacts.text` wrote; None for any other text."""
    found = _FACTS.fullmatch(text)
    if found is None:
        return None
    return OutputFacts(found["error"] or "", tuple(found["ids"].split(", ")) if found["ids"] else (), found["how"] != "says")


def _plain(text: str) -> str:
    """The text on one line, without the mark between facts."""
    return " ".join(text.replace(";", ",").split())
