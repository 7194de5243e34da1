"""New frame: makes a frame from what a caller gives, and closes one, with every text checked and screened for secrets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, get_args

from germane.errors import InvalidInput
from germane.tasks.frame import MAIN, Mode, TaskArtifact, TaskFrame, TaskStatus
from germane.text.secrets.screen import SecretPolicy, SecretScreen
from germane.types.candidate import Provenance, Sensitivity
from germane.types.ids import uuid7
from germane.types.limits import ID, REFERENCES, TASK_GOAL, TASK_RESULT, TASK_TITLE, shown, text, within

__all__ = ["TaskOutcome", "checked_artifacts", "closed_frame", "new_frame", "task_outcome"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOutcome:
    """What came of a task, checked: its text, and the stored things that it points to."""

    text: str | None = None
    artifacts: tuple[TaskArtifact, ...] = ()
    secrets: dict[str, int] = field(default_factory=dict)


def new_frame(
    goal: object,
    *,
    session: str,
    user: str | None,
    at: datetime,
    parent: TaskFrame | None = None,
    branch: str = MAIN,
    sensitivity: object = "private",
    provenance: Provenance | None = None,
    delegated: Mode | None = None,
    secrets: SecretPolicy = "redact",
) -> TaskFrame:
    """Returns an active frame below `parent`, with the policy on secrets applied to its goal. Raises `InvalidInput`."""
    words = text("goal", goal, TASK_GOAL)
    if not words.strip():
        raise InvalidInput("goal is blank: say what the task is to reach")
    screen = SecretScreen(secrets, "the goal")
    return TaskFrame(
        id=uuid7(int(at.timestamp() * 1000)),
        session=session,
        goal=screen.text(words.strip()),
        parent=None if parent is None else parent.id,
        branch=branch,
        depth=0 if parent is None else parent.depth + 1,
        user=user,
        sensitivity=_sensitivity(sensitivity),
        provenance=provenance or Provenance(session=session),
        delegated=delegated,
        created_at=at,
        updated_at=at,
        secrets=dict(screen.found),
    )


def task_outcome(result: object, artifacts: object = (), *, secrets: SecretPolicy = "redact") -> TaskOutcome:
    """Returns a result with what it points to, with the policy on secrets applied. Raises `InvalidInput`."""
    screen = SecretScreen(secrets, "the result")
    words = None if result is None else text("result", result, TASK_RESULT).strip()
    pointed = tuple(replace(one, title=screen.text(one.title)) for one in checked_artifacts(artifacts))
    return TaskOutcome(text=screen.text(words) if words else None, artifacts=pointed, secrets=dict(screen.found))


def closed_frame(
    frame: TaskFrame, status: TaskStatus, outcome: TaskOutcome, *, at: datetime, provenance: Provenance | None = None
) -> TaskFrame:
    """Returns the frame with this status and result. Raises `InvalidInput` for a completed task without a result: what it
    reached is all that the tasks after it see of it."""
    if outcome.text is None:
        what = "reached" if status == "complete" else "went wrong"
        raise InvalidInput(f"result is missing: say what the task {what}, as the tasks after it see nothing else of it")
    return replace(
        frame,
        status=status,
        result=outcome.text,
        artifacts=(*frame.artifacts, *outcome.artifacts),
        provenance=provenance or frame.provenance,
        version=frame.version + 1,
        updated_at=at,
        closed_at=at,
        secrets=outcome.secrets,
    )


def checked_artifacts(value: object) -> tuple[TaskArtifact, ...]:
    """Returns pointers from ids, (id, title) pairs and `TaskArtifact`s. Raises `InvalidInput`."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise InvalidInput(f"artifacts must be a list of ids, or of ids with titles, not {type(value).__name__}")
    found = list[TaskArtifact]()
    for given in value:
        within("artifacts", len(found) + 1, REFERENCES, at_least=True)
        found.append(_artifact(given, f"artifacts[{len(found)}]"))
    return tuple(found)


def _artifact(given: Any, where: str) -> TaskArtifact:
    if isinstance(given, TaskArtifact):
        id, title = given.id, given.title
    elif isinstance(given, tuple | list) and len(given) == 2:
        id, title = given
    else:
        id, title = given, ""
    if not text(where, id, ID):
        raise InvalidInput(f"{where} is empty: give the id of something stored")
    return TaskArtifact(id=id, title=" ".join(text(f"the title of {where}", title, TASK_TITLE).split()))


def _sensitivity(value: object) -> Sensitivity:
    for level in get_args(Sensitivity):
        if value == level:
            known: Sensitivity = level
            return known
    raise InvalidInput(f"sensitivity must be one of {', '.join(get_args(Sensitivity))}, not {shown(value)}")
