"""Task limits: how deep and how wide a session's tasks may grow, and the checks that refuse more."""

from __future__ import annotations

from dataclasses import dataclass

from germane.errors import InvalidInput
from germane.tasks.branching import StackHead
from germane.types.candidate import Sensitivity

__all__ = [
    "MAX_BRANCHES",
    "MAX_DEPTH",
    "MAX_FRAMES",
    "MAX_OPEN",
    "DelegatedSession",
    "DelegationLimits",
    "check_room",
]

MAX_DEPTH = 32
"""Levels of a stack. A deeper plan has lost its way."""
MAX_OPEN = 256
"""Frames of one session that haven't ended."""
MAX_FRAMES = 10_000
"""Frames of one session."""
MAX_BRANCHES = 64
"""Branches of one session, and checkpoints likewise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationLimits:
    """`depth` is how many delegations may lie within one another, `open` how many of one session may run at the same time.
    Raises `InvalidInput` for what can't be a limit."""

    depth: int = 3
    open: int = 16

    def __post_init__(self) -> None:
        for name, value, maximum in (("depth", self.depth, MAX_DEPTH), ("open", self.open, MAX_OPEN)):
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= maximum:
                raise InvalidInput(f"delegation {name} must be a whole number from 0 to {maximum}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegatedSession:
    """What the agent that works in a session was given: how many delegations lie above it (`depth`, from 1), the sensitivities
    that it may see, and whether its task is still open."""

    depth: int
    allowed: tuple[Sensitivity, ...]
    open: bool


def check_room(head: StackHead | None, depth: int) -> None:
    """Raises `InvalidInput` where a session has no room for another frame at this depth."""
    if depth >= MAX_DEPTH:
        raise InvalidInput(f"the task would lie {depth + 1} levels deep, {MAX_DEPTH} are allowed: pop a task first")
    if head is not None and head.open >= MAX_OPEN:
        raise InvalidInput(f"the session has {head.open} tasks that are open, {MAX_OPEN} are allowed: pop some of them first")
    if head is not None and head.frames >= MAX_FRAMES:
        raise InvalidInput(f"the session has {head.frames:,} tasks, {MAX_FRAMES:,} are allowed: go on in another session")
