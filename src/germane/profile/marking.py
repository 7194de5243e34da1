"""Marking: pins a line of a profile or hides it: the plan, and the operations that every store must support.

A line is a telling clause, under its name (`shown_clause.py`), or a memory, under its id. A mark is of the scope's own user
(agent-wide where it has none), whoever the memory is of, and goes with what it is of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar, Literal, NamedTuple, get_args

from germane.errors import InvalidInput, NotFound
from germane.profile.shown_clause import stored_clause
from germane.types.limits import ID, shown, text
from germane.types.plan import Change, Decision, Plan, Read, TextOf, read

__all__ = ["LinesNamed", "Mark", "MarkLine", "MarkedLine", "NamedLines", "mark_line", "thing_of"]

Mark = Literal["pin", "hide"]


class MarkedLine(NamedTuple):
    """A line that was pinned or hidden at this time."""

    line: str
    mark: Mark
    at: datetime


@dataclass(frozen=True, slots=True)
class NamedLines:
    """What a store knows of some names of lines: those that are lines, the ids of their messages and memories that the scope
    sees, and the marks of the scope's own."""

    lines: frozenset[str] = frozenset()
    things: frozenset[str] = frozenset()
    marks: Mapping[str, Mark] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class LinesNamed(Read[NamedLines]):
    """What is known of these names."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MarkLine(Change):
    """Marks a line for the scope's own user, or takes its mark away (None). A line that has this mark keeps its time."""

    text_of: ClassVar[TextOf] = "nothing"
    line: str
    mark: Mark | None
    at: datetime


def thing_of(line: str) -> str:
    """Returns the id of the message or memory that a line is of."""
    clause = stored_clause(line)
    return line if clause is None else clause[0]


def mark_line(line: str, mark: Mark | None, *, at: datetime) -> Plan[bool]:
    """Pins the line (`pin`) or hides it (`hide`); None takes its mark away. The outcome says whether that changed anything.
    Raises `InvalidInput` for another mark, and `NotFound` where there is no such line."""
    text("line", line, ID)
    if mark is not None and mark not in get_args(Mark):
        raise InvalidInput(f"mark must be pin, hide or None, not {shown(mark)}")
    known = yield from read(LinesNamed((line,)))
    if line not in known.lines and line not in known.marks:
        raise NotFound(f"there is no line {line!r} in this profile: give the id of a line that it shows")
    if known.marks.get(line) == mark:
        return Decision((), False)
    return Decision((MarkLine(line, mark, at),), True)
