"""Reads: what a store answers about a scope's profile: its most telling clauses, and the lines that are pinned or hidden.

A line is a telling clause, under the name that `clause_name` gives it, or a memory, under its id. A mark is of the scope's
own user (agent-wide where it has none), whoever the memory is of, and goes with what it is of.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar, NamedTuple, get_args

from germane.errors import InvalidInput, NotFound
from germane.kinds.profile.value import Mark
from germane.text.normal import content_hash
from germane.types.candidate import Outdated, Sensitivity
from germane.types.limits import ID, check_text
from germane.types.plan import Change, Decision, Plan, Read, TextOf, read
from germane.types.query import Filters


class ToldClause(NamedTuple):
    """A telling clause of a stored message: `text` is the message's from one character (`start`) to another (`end`). A named
    tuple, as a session's first request reads some hundreds."""

    id: str
    """The message's id of germane's."""
    start: int
    end: int
    text: str
    rule: float
    """P(it is a standing instruction), as of `TellingClause`."""
    matters: float
    """P(it says what matters for requests that don't ask for it)."""
    session: str
    created_at: datetime
    speaker: str = ""
    message_id: str | None = None
    sensitivity: Sensitivity = "private"
    content_hash: int = 0
    """The message's."""
    outdated: tuple[Outdated, ...] = ()
    """What was extracted from the message and was replaced since, the oldest replacement first."""

    @property
    def line(self) -> str:
        """The name under which it is shown, and marked."""
        return clause_name(self.id, self.start, self.end)

    @property
    def shown_hash(self) -> int:
        """The hash of what is shown, which `Store.injections` tells of its name."""
        return clause_hash(self.content_hash, self.start, self.end)


@dataclass(frozen=True, slots=True)
class TellingClauses(Read[tuple[ToldClause, ...]]):
    """The `limit` most telling clauses of messages that pass `filters`, by the greater of `rule` and `matters`; of equal ones
    those of the message that was stored last come first, in order. Takes as long however many messages there are. Of long
    messages the first 20,000 characters were read. Like every read of a profile but `LinesNamed`, it sees what belongs to the
    scope's own user, or the agent-wide things where the scope has no user."""

    quick: ClassVar[bool] = True
    limit: int
    filters: Filters


@dataclass(frozen=True, slots=True)
class ChatsWithAssistant(Read[frozenset[str]]):
    """Which of these sessions are chats with an assistant: it speaks in one of their first 40 messages."""

    quick: ClassVar[bool] = True
    sessions: Collection[str]


@dataclass(frozen=True, slots=True)
class StillHolding(Read[frozenset[str]]):
    """Which of these messages, by germane's ids, are stored and state nothing that has ended by `at`."""

    quick: ClassVar[bool] = True
    messages: Collection[str]
    at: datetime


# Marks: the reads and changes, and the plan that pins a line or hides it.


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
class LineMarks(Read[Mapping[str, Mark]]):
    """The lines that are pinned or hidden, by line: a clause's name, or the id of a memory. Nothing that a mark names is
    forgotten."""

    quick: ClassVar[bool] = True


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
    clause = parse_clause_name(line)
    return line if clause is None else clause[0]


def mark_line(line: str, mark: Mark | None, *, at: datetime) -> Plan[bool]:
    """Pins the line (`pin`) or hides it (`hide`); None takes its mark away. The outcome says whether that changed anything.
    Raises `InvalidInput` for another mark, and `NotFound` where there is no such line."""
    check_text("line", line, ID)
    if mark is not None and mark not in get_args(Mark):
        raise InvalidInput("must be pin, hide or None, not {}", mark, path="mark")
    known = yield from read(LinesNamed((line,)))
    if line not in known.lines and line not in known.marks:
        raise NotFound("there is no line {} in this profile: give the id of a line that it shows", line)
    if known.marks.get(line) == mark:
        return Decision((), False)
    return Decision((MarkLine(line, mark, at),), True)


# The name of a clause: the message's id with the clause's place. A clause is no copy: its text is the message's own,
# from one character to another. It may be shown while its message may.


_NAME = re.compile(r"(.{1,200})@(\d{1,7})-(\d{1,7})", re.DOTALL)


def clause_name(id: str, start: int, end: int) -> str:
    """Returns `<id of the message>@<start>-<end>`."""
    return f"{id}@{start}-{end}"


def parse_clause_name(name: str) -> tuple[str, int, int] | None:
    """Returns the message's id and the place that such a name holds; None for another text."""
    found = _NAME.fullmatch(name)
    return None if found is None else (found[1], int(found[2]), int(found[3]))


def clause_hash(message_hash: int, start: int, end: int) -> int:
    """Returns a hash of what is shown, made from the message's content hash."""
    return content_hash("clause", f"{message_hash} {start} {end}")
