"""Shown clause: how an assembly names a clause of a message that it shows: the message's id with the clause's place.

A clause is no copy: its text is the message's own, from one character to another. It may be shown while its message may.
"""

from __future__ import annotations

import re

from germane.text.normal import content_hash

__all__ = ["clause_hash", "shown_clause", "stored_clause"]

_NAME = re.compile(r"(.{1,200})@(\d{1,7})-(\d{1,7})", re.DOTALL)


def shown_clause(id: str, start: int, end: int) -> str:
    """Returns `<id of the message>@<start>-<end>`."""
    return f"{id}@{start}-{end}"


def stored_clause(name: str) -> tuple[str, int, int] | None:
    """Returns the message's id and the place that such a name holds; None for another text."""
    found = _NAME.fullmatch(name)
    return None if found is None else (found[1], int(found[2]), int(found[3]))


def clause_hash(message_hash: int, start: int, end: int) -> int:
    """Returns a hash of what is shown, made from the message's content hash."""
    return content_hash("clause", f"{message_hash} {start} {end}")
