"""Shown task: how an assembly names a frame that it shows, and what it writes of it.

The name holds the frame's version, so that a changed frame is shown again, and the names of earlier versions stay valid in
texts that stand in the prompt: they say how things stood then. The current frame's name also holds the session's moves, so that
it is shown anew after each push and pop.
"""

from __future__ import annotations

from germane.tasks.frame import TaskFrame
from germane.text.normal import content_hash

__all__ = ["TASK_CATEGORY", "shown_task", "stored_task", "task_hash", "task_text"]

TASK_CATEGORY = "task"
_SIGN = "@"


def shown_task(frame: TaskFrame, moves: int | None = None) -> str:
    """Returns `<id>@<version>`, or `<id>@<version>.<moves>` for the current frame."""
    return f"{frame.id}{_SIGN}{frame.version}" + ("" if moves is None else f".{moves}")


def stored_task(name: str) -> tuple[str, int] | None:
    """Returns the id and the version that such a name holds; None for another text."""
    id, sign, rest = name.partition(_SIGN)
    version = rest.partition(".")[0]
    known = bool(sign) and 0 < len(version) <= 18 and version.isascii() and version.isdecimal()
    return (id, int(version)) if known else None


def task_hash(name: str) -> int:
    """Returns a hash of what is shown under this name."""
    return content_hash("task", name)


def task_text(frame: TaskFrame, role: str) -> str:
    """Returns what a context says of a frame. `role` is root, current, above or result."""
    goal = " ".join(frame.goal.split())
    if role == "root":
        return f"Root goal: {frame.goal}"
    if role == "current":
        waiting = f" (blocked: {frame.result})" if frame.status == "blocked" and frame.result else ""
        return f"Current task: {frame.goal}{waiting}"
    if frame.status in ("complete", "failed"):
        word = "Done" if frame.status == "complete" else "Failed"
        return f"{word}: {_clipped(goal)} → {frame.result or ''}{_pointers(frame)}"
    waiting = f" (blocked: {frame.result})" if frame.status == "blocked" and frame.result else ""
    return f"Part of: {frame.goal}{waiting}"


_MAX_GOAL = 100
"""Characters of a goal in front of its result."""
_MAX_NAMED = 8
"""Artifacts that a line names."""


def _clipped(goal: str) -> str:
    return goal if len(goal) <= _MAX_GOAL else f"{goal[: _MAX_GOAL - 1].rstrip()}…"


def _pointers(frame: TaskFrame) -> str:
    """The artifacts of a frame by number: the line's handle with a number (`m3.1`) expands to one."""
    if not frame.artifacts:
        return ""
    named = (f".{number} {one.title or 'artifact'}" for number, one in enumerate(frame.artifacts[:_MAX_NAMED], 1))
    return f" (expand {', '.join(named)})"
