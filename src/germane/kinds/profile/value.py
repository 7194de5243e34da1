"""Profile as values: what a call of `profile` returns, and the marks that a person gives to its lines (PERSON-1).

The clients of a service read these values too, so nothing here may import numpy or a store.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from germane.types.candidate import LineKind

Mark = Literal["pin", "hide"]
"""`pin`: the line is chosen before all others; `hide`: it never stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewedLine:
    """A line of a profile. `why` says where it comes from, `worth` in [0, 1] orders the lines of one kind; `tokens` is its cost
    as written, with the header that it is the first below; None where it wasn't counted. `memory` is the id of the memory that
    it is, `message` that of the message in which it was found. `reason` is empty for a line that stands, else why it doesn't:
    `budget`, `duplicate` (another line says the same), `hidden`, or a reason of the trace."""

    id: str
    kind: LineKind
    text: str
    why: str
    worth: float
    said_at: datetime
    tokens: int | None = None
    pinned: bool = False
    memory: str | None = None
    message: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileView:
    """What a session that begins at this time is shown whatever it asks, where the strategy is `default`: `lines` in the order
    in which they are written, within `budget` tokens. `tokens` is what they take, their headers included. `text` is all of them
    as a prompt holds them: data between germane's own tags; empty where there is no line. `left_out` are lines that could have
    stood."""

    lines: tuple[ViewedLine, ...]
    left_out: tuple[ViewedLine, ...]
    tokens: int
    budget: int
    text: str

    def __repr__(self) -> str:
        return f"<ProfileView lines={len(self.lines)} left_out={len(self.left_out)} tokens={self.tokens}>"
