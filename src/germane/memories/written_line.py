"""Written line: what a language model said of a memory as a line of the profile; it is kept in the memory's provenance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from germane.memories.memory import Memory

__all__ = ["WrittenLine", "written_line"]


class WrittenLine(NamedTuple):
    """`always` says whether answers must respect it though a request doesn't speak of it; None where nobody said. `replaces`
    are the lines in whose place it stands: names of clauses, and ids of memories."""

    always: bool | None = None
    replaces: tuple[str, ...] = ()

    def as_metadata(self) -> Mapping[str, Any]:
        """Returns what is written into the provenance."""
        always = {} if self.always is None else {"always": self.always}
        return {**always, **({"replaces": list(self.replaces)} if self.replaces else {})}


def written_line(memory: Memory) -> WrittenLine:
    """Returns what was said of an extracted memory; of another, and of one that rules found, nothing."""
    metadata = memory.provenance.metadata
    if metadata.get("extracted") != "llm":
        return WrittenLine()
    always, replaces = metadata.get("always"), metadata.get("replaces")
    named = replaces if isinstance(replaces, list | tuple) else ()
    return WrittenLine(always if isinstance(always, bool) else None, tuple(one for one in named if isinstance(one, str)))
