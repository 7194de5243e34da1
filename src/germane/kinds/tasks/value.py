"""Tasks as values: a frame of the stack, its limits, and what is shown of the stack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, get_args

from germane.errors import InvalidInput
from germane.text.normal import content_hash
from germane.types.candidate import Provenance, Sensitivity
from germane.types.checks import check_whole_number

TaskStatus = Literal["active", "complete", "blocked", "failed"]
Mode = Literal["isolated", "fork", "brief"]
STATUSES: tuple[TaskStatus, ...] = get_args(TaskStatus)
CLOSED: tuple[TaskStatus, ...] = ("complete", "failed")
"""The statuses of a frame that has ended: it isn't opened again."""
BRANCH = "branch"
"""The name under which the provenance of a frame has the branch that it brought back."""
MAIN = "main"
"""The branch that every session begins with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskArtifact:
    """A pointer to something stored that a task made or used: a message or event, a memory, an archival entry, another task.
    `id` is germane's id of it, `title` a few words that say what it is."""

    id: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFrame:
    """`result` is what came of the task once it is closed; of a blocked one, what it waits for. `depth` counts from 0, the
    root's. `children` are the ids of the frames below it, at most 1,000, the oldest first. `version` rises with each change.
    A frame that was given to another agent has its `mode` (`delegated`), the `child_session` that this agent works in, how
    many delegations lie above it (`delegation_depth`, from 1), and the sensitivities that it may see (`allowed`)."""

    id: str
    session: str
    goal: str
    parent: str | None = None
    branch: str = MAIN
    depth: int = 0
    status: TaskStatus = "active"
    result: str | None = None
    artifacts: tuple[TaskArtifact, ...] = ()
    children: tuple[str, ...] = ()
    user: str | None = None
    sensitivity: Sensitivity = "private"
    provenance: Provenance = field(default_factory=Provenance)
    version: int = 1
    delegated: Mode | None = None
    child_session: str | None = None
    delegation_depth: int = 0
    allowed: tuple[Sensitivity, ...] = ()
    created_at: datetime
    updated_at: datetime
    closed_at: datetime | None = None
    secrets: Mapping[str, int] = field(default_factory=dict, compare=False)
    """The secrets that were found in what was just given, by kind; not stored."""

    def without_content(self) -> TaskFrame:
        """Returns the task as a caller gets it who may not read: without goal, result, artifacts and provenance."""
        return replace(self, goal="", result=None, artifacts=(), provenance=Provenance())

    @property
    def derived_from(self) -> tuple[str, ...]:
        """The ids of the frames whose words this one repeats: a branch's, where it brought a branch back."""
        return self.provenance.refs if BRANCH in self.provenance.metadata else ()

    @property
    def open(self) -> bool:
        """Whether the frame hasn't ended: it is active or blocked."""
        return self.status not in CLOSED

    def __repr__(self) -> str:
        return f"<TaskFrame {self.id} {self.status} depth={self.depth}>"


def closing_status(value: object) -> TaskStatus:
    """Returns `value` where it is a status that a frame can end with. Raises `InvalidInput`."""
    for status in CLOSED:
        if value == status:
            return status
    raise InvalidInput(f"must be {' or '.join(CLOSED)}, not {{}}: block() keeps a task open", value, path="status")


BranchState = Literal["open", "merged", "abandoned"]
BRANCH_STATES: tuple[BranchState, ...] = get_args(BranchState)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskBranch:
    """`parent` is the branch that it left, None for the main one, and `forked_at` when; what happened there later doesn't
    belong to this branch. `base` is the frame that it left from, `root` the first frame of its own, and `current` the frame it
    stands at; each None where there is none."""

    session: str
    name: str
    parent: str | None = None
    base: str | None = None
    root: str | None = None
    current: str | None = None
    state: BranchState = "open"
    forked_at: datetime
    closed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCheckpoint:
    """A place to come back to: the frame (None: the empty stack) that a branch stood at when the checkpoint was made."""

    session: str
    name: str
    branch: str
    frame: str | None = None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StackHead:
    """Where a session stands: its running branch, and how often it moved (`moves` rises with each push, pop and switch).
    `open` counts the frames of the session that haven't ended, `frames` all of them, `branches` its branches, and
    `checkpoints` its checkpoints."""

    branch: TaskBranch
    moves: int = 0
    open: int = 0
    frames: int = 0
    branches: int = 0
    checkpoints: int = 0


# How deep and how wide a session's tasks may grow, and the check that refuses more.


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
            check_whole_number(name, value, 0, maximum)


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
        raise InvalidInput(f"the task would lie {depth + 1} levels deep, {MAX_DEPTH} are allowed", advice="pop a task first")
    if head is not None and head.open >= MAX_OPEN:
        raise InvalidInput(
            f"the session has {head.open} tasks that are open, {MAX_OPEN} are allowed", advice="pop some of them first"
        )
    if head is not None and head.frames >= MAX_FRAMES:
        raise InvalidInput(
            f"the session has {head.frames:,} tasks, {MAX_FRAMES:,} are allowed", advice="go on in another session"
        )


# View: what an assembly sees of a session's tasks, and what it writes of them (TASK-2). A view holds the path to the
# current task, and the results that bear on it.


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


# An assembly names a frame with its version, so that a changed frame is shown again. The names of earlier versions stay
# valid in texts of the prompt: they say how things stood then. The current frame's name also holds the session's moves,
# so that it is shown anew after each push and pop.


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


_MAX_GOAL_CHARACTERS = 100
"""Characters of a goal in front of its result."""
_MAX_NAMED = 8
"""Artifacts that a line names."""


def _clipped(goal: str) -> str:
    return goal if len(goal) <= _MAX_GOAL_CHARACTERS else f"{goal[: _MAX_GOAL_CHARACTERS - 1].rstrip()}…"


def _pointers(frame: TaskFrame) -> str:
    """The artifacts of a frame by number: the line's handle with a number (`m3.1`) expands to one."""
    if not frame.artifacts:
        return ""
    named = (f".{number} {one.title or 'artifact'}" for number, one in enumerate(frame.artifacts[:_MAX_NAMED], 1))
    return f" (expand {', '.join(named)})"
