"""View: what an assembly sees of a session's tasks: the path to the current one, and the results that bear on it (TASK-2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from germane.tasks.frame import TaskFrame

__all__ = ["TaskView", "task_view"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """`path` leads from the root to the current frame, both included. `results` are closed frames: first those below the
    current one and beside it, the latest first, then those beside the frames above, the nearest level first. No frame is in
    both, or twice. `members` are the frames whose activity belongs to the current one: itself and its children; `until` says
    for frames that a branch shares with another one since when that other one goes on alone. `elsewhere` are the frames of
    branches that aren't seen from here, each with the time until which it was seen; None for never. `moves` is the
    session's."""

    path: tuple[TaskFrame, ...]
    results: tuple[TaskFrame, ...] = ()
    members: frozenset[str] = frozenset()
    until: Mapping[str, datetime] = field(default_factory=dict, hash=False)
    elsewhere: Mapping[str, datetime | None] = field(default_factory=dict, hash=False)
    moves: int = 0

    @property
    def root(self) -> TaskFrame:
        return self.path[0]

    @property
    def current(self) -> TaskFrame:
        return self.path[-1]

    @property
    def ancestors(self) -> tuple[TaskFrame, ...]:
        """The frames between the root and the current one, the nearest to the current one first."""
        return self.path[-2:0:-1]

    def holds(self, task: str | None, at: datetime) -> bool:
        """Whether activity of this task, at this time, belongs to the current one. What names no task belongs to all."""
        if task is None:
            return True
        return task in self.members and (task not in self.until or at <= self.until[task])

    def binds(self, session: str | None, task: str | None, at: datetime) -> bool:
        """Whether a decision that was made for this task, at this time, binds the current one: those of this session do, but
        for what was decided on a branch that isn't seen from here."""
        if session != self.root.session or task is None or task not in self.elsewhere:
            return session == self.root.session
        limit = self.elsewhere[task]
        return limit is not None and at <= limit


def task_view(
    path: Sequence[TaskFrame],
    near: Sequence[TaskFrame],
    forks: Mapping[str, datetime | None],
    *,
    moves: int,
    elsewhere: Mapping[str, datetime | None] | None = None,
) -> TaskView | None:
    """Returns the view of a path; None where there is none. `near` are frames below and beside those of the path. `forks` has
    each branch whose frames are seen, with the time after which its frames aren't; None for the running one. `elsewhere` is
    that of the view."""
    if not path:
        return None
    current, on_path = path[-1], {frame.id: frame.depth for frame in path}
    seen = {frame.id: frame for frame in near if frame.id not in on_path and _visible(frame, forks)}
    closed = [frame for frame in seen.values() if not frame.open and frame.result]

    def order(frame: TaskFrame) -> tuple[int, float, str]:
        beside = frame.parent in (current.id, current.parent)
        ended = frame.closed_at or frame.updated_at
        return (0 if beside else current.depth - frame.depth, -ended.timestamp(), frame.id)

    members = {current.id, *(frame.id for frame in seen.values() if frame.parent == current.id)}
    until = {frame.id: limit for frame in path if (limit := forks.get(frame.branch)) is not None}
    return TaskView(
        path=tuple(path),
        results=tuple(sorted(closed, key=order)),
        members=frozenset(members),
        until=until,
        elsewhere=elsewhere or {},
        moves=moves,
    )


def _visible(frame: TaskFrame, forks: Mapping[str, datetime | None]) -> bool:
    """Whether a branch sees the frame: its own, and what the branches above had closed when it left them."""
    if frame.branch not in forks:
        return False
    limit = forks[frame.branch]
    return limit is None or (frame.closed_at is not None and frame.closed_at <= limit)
