"""Preview: counts what an import would read, without storing anything, and says which files it comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from germane.cli.imports.rows import (
    BrokenRow,
    DirectiveRow,
    DocumentRow,
    MemoryRow,
    MessageRow,
    Remark,
    Row,
    SharedMessageRow,
)
from germane.cli.imports.store_rows import ImportTally

__all__ = ["Preview", "preview"]

_MAX_FILES = 12


class Preview(NamedTuple):
    """What would be stored, in how many sessions, and the files that memories come from with their numbers."""

    tally: ImportTally
    sessions: int
    files: Mapping[str, int]

    def lines(self) -> list[str]:
        """The files, the largest first, at most a dozen."""
        shown = sorted(self.files.items(), key=lambda one: (-one[1], one[0]))
        lines = [f"{name}: {count} {'section' if count == 1 else 'sections'}" for name, count in shown[:_MAX_FILES]]
        return [*lines, f"… and {len(shown) - _MAX_FILES} more files"] if len(shown) > _MAX_FILES else lines


def preview(format: str, rows: Iterable[Row]) -> Preview:
    """Counts the rows. Linear."""
    tally, sessions, files = ImportTally(format=format), set[str](), Counter[str]()
    for row in rows:
        match row:
            case MessageRow(session, message) | SharedMessageRow(session, message):
                sessions.add(session)
                tally.system += message.role == "system"
                tally.messages += message.role != "system"
            case MemoryRow(fields):
                tally.memories += 1
                origin = fields.get("provenance")
                refs = origin.get("refs") if isinstance(origin, Mapping) and origin.get("channel") == "markdown" else None
                files.update(str(ref) for ref in refs or ())
            case DocumentRow():
                tally.documents += 1
            case DirectiveRow():
                tally.directives += 1
            case Remark(what, number, left_out):
                (tally.left_out if left_out else tally.taken_along)[what] += number
            case BrokenRow(where, why):
                tally.broken.append(f"{where}: {why}")
    return Preview(tally, len(sessions), files)
