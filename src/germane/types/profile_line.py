"""Profile line: what a candidate is that may always stand in the prompt: a standing instruction, or what holds about the
person."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final, Literal, NamedTuple

__all__ = ["ABOUT", "INSTRUCTION", "LineKind", "ProfileLine", "replaced_by"]

LineKind = Literal["about", "instruction"]
ABOUT: Final = "about"
INSTRUCTION: Final = "instruction"


class ProfileLine(NamedTuple):
    """`id` is the memory's, or the name of a clause (`profile/shown_clause.py`). `worth`, in [0, 1], orders the lines of one
    kind; `why` says in words where it comes from. `stated` lines were remembered on purpose; the others were found in the
    message `origin` (germane's id), and `core` is what they say of it: a fact's value, else the text. `replaces` are the lines
    in whose place it stands. `speaker` is the name under which it was said, where there is one."""

    id: str
    kind: LineKind
    text: str
    worth: float
    said_at: datetime
    why: str = ""
    stated: bool = False
    origin: str = ""
    core: str = ""
    pinned: bool = False
    replaces: tuple[str, ...] = ()
    speaker: str = ""


def replaced_by(lines: Iterable[ProfileLine]) -> set[str]:
    """Returns the ids of the lines in whose place one of these stands."""
    return {name for line in lines for name in line.replaces}
