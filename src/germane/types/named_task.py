"""Named task: the argument with which a request names the task that it works on."""

from __future__ import annotations

from germane.errors import InvalidInput
from germane.types.limits import ID, text

__all__ = ["named_task"]


def named_task(task: object, session: str | None) -> str | bool | None:
    """Returns the task: an id, True or None for the current one, False for none. Raises `InvalidInput` for what names no task,
    and for a task without a session."""
    if task is None or isinstance(task, bool):
        wanted: bool | str | None = task
    else:
        wanted = text("task", task, ID)
        if not wanted.strip():
            raise InvalidInput("task is blank: give a task's id, True, False or None")
    if wanted and not session:
        raise InvalidInput("task needs a session: name the conversation that the task belongs to")
    return wanted
