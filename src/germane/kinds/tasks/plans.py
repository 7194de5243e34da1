"""Task plans: change the stack of a session: push, pop, block and resume a task (TASK-1).

Each plan reads where the session stands within the transaction that writes, so several processes may work on one stack.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, get_args

from germane.errors import InvalidInput, NotFound
from germane.kinds.tasks.reads import HeadOf, OpenChildren, PutBranch, PutFrame, PutHead, frame_by_id
from germane.kinds.tasks.value import MAIN, Mode, StackHead, TaskArtifact, TaskBranch, TaskFrame, TaskStatus, check_room
from germane.text.secrets.detection import SecretPolicy, SecretScreen
from germane.types.candidate import Provenance, Sensitivity
from germane.types.checks import check_one_of, check_size, check_text
from germane.types.limits import ID, REFERENCES, TASK_GOAL, TASK_RESULT, TASK_TITLE
from germane.types.plan import Decision, Plan, Read, read, uuid7

_EMPTY_STACK = "the session has no open task: push one first"
_MAX_NAMED = 5
"""Open tasks that an error names by their ids."""


def push_task(frame: TaskFrame) -> Plan[TaskFrame]:
    """Puts a frame on the stack, below the current one, and makes it the current one. Only the goal, the owner and the times of
    `frame` are taken as they are: where it belongs follows from the stack. Raises `InvalidInput` where there is no room."""
    head = yield from read(HeadOf(frame.session))
    branch = running_branch(head, frame)
    parent = yield from current_frame(branch)
    placed = replace(
        frame,
        parent=None if parent is None else parent.id,
        branch=branch.name,
        depth=0 if parent is None else parent.depth + 1,
    )
    check_room(head, placed.depth)
    moved = replace(branch, current=placed.id, root=branch.root or (None if branch.parent is None else placed.id))
    return Decision((PutFrame(placed), PutBranch(moved), PutHead(frame.session, branch.name)), placed)


def pop_task(session: str, status: TaskStatus, outcome: TaskOutcome, *, at: datetime) -> Plan[TaskFrame]:
    """Closes the current frame with its result, and makes the frame above it the current one. Raises `InvalidInput` where the
    stack is empty, where frames below it are open (it names them), and without a result."""
    branch, frame = yield from _top(session)
    yield from must_be_closed(frame)
    closed = closed_frame(frame, status, outcome, at=at)
    moved = replace(branch, current=frame.parent)
    return Decision((PutFrame(closed), PutBranch(moved), PutHead(session, branch.name)), closed)


def block_task(session: str, outcome: TaskOutcome, *, at: datetime) -> Plan[TaskFrame]:
    """Marks the current frame as blocked by what `outcome` says; the frame above it, if any, becomes the current one, so that
    other work can go on. Raises `InvalidInput` where the stack is empty."""
    branch, frame = yield from _top(session)
    blocked = replace(
        frame, status="blocked", result=outcome.text, version=frame.version + 1, updated_at=at, secrets=outcome.secrets
    )
    above = frame.id if frame.parent is None or frame.parent == branch.base else frame.parent
    return Decision((PutFrame(blocked), PutBranch(replace(branch, current=above)), PutHead(session, branch.name)), blocked)


def resume_task(session: str, id: str | None, *, at: datetime) -> Plan[TaskFrame]:
    """Makes an open frame of the running branch the current one, and active again. Without an `id`: the current frame where it
    is blocked, else the only blocked one below it. Raises `InvalidInput`, `NotFound`."""
    head = yield from read(HeadOf(session))
    if head is None:
        raise InvalidInput(_EMPTY_STACK)
    branch = head.branch
    frame = (yield from _blocked(branch)) if id is None else (yield from own_frame(id, session))
    if frame.branch != branch.name:
        raise InvalidInput("the task is of the branch {}", frame.branch, advice="switch to it first")
    if not frame.open:
        raise InvalidInput("the task has ended", advice="push a new one")
    if frame.delegated is not None:
        raise InvalidInput("the task was given to another agent", advice="finish() ends it")
    active = replace(frame, status="active", result=None, version=frame.version + 1, updated_at=at)
    changes = (PutFrame(active),) if frame.status == "blocked" else ()
    outcome = active if changes else frame
    return Decision((*changes, PutBranch(replace(branch, current=frame.id)), PutHead(session, branch.name)), outcome)


def running_branch(head: StackHead | None, frame: TaskFrame) -> TaskBranch:
    """Returns the branch that a new frame goes to: the running one, or a main one that the frame begins."""
    return TaskBranch(session=frame.session, name=MAIN, forked_at=frame.created_at) if head is None else head.branch


def current_task(session: str) -> Generator[Read[Any], Any, str | None]:
    """Returns the id of the frame that a session stands at; None where its stack is empty."""
    head: StackHead | None = yield from read(HeadOf(session))
    return None if head is None else head.branch.current


def current_frame(branch: TaskBranch) -> Generator[Read[Any], Any, TaskFrame | None]:
    """Returns the frame that a branch stands at; None where its stack is empty."""
    return None if branch.current is None else (yield from frame_by_id(branch.current))


def own_frame(id: str, session: str) -> Generator[Read[Any], Any, TaskFrame]:
    """Returns a frame of this session. Raises `NotFound`."""
    frame = yield from frame_by_id(id)
    if frame is None or frame.session != session:
        raise NotFound("no task {} in this session", id)
    found: TaskFrame = frame
    return found


def must_be_closed(frame: TaskFrame) -> Generator[Read[Any], Any, None]:
    """Raises `InvalidInput` where a frame has frames below it that haven't ended, and names them."""
    below: Sequence[TaskFrame] = yield from read(OpenChildren(frame.id))
    if below:
        named = ", ".join(f"{one.id} ({_kind(one)})" for one in below[:_MAX_NAMED])
        more = "" if len(below) <= _MAX_NAMED else f" and {len(below) - _MAX_NAMED} more"
        raise InvalidInput(
            f"the task has {len(below)} below it that are open: {named}{more}. Close each of them first",
            advice="resume and pop it, finish it where it is delegated, inject or abandon its branch",
        )


def _kind(frame: TaskFrame) -> str:
    return "delegated" if frame.delegated is not None else frame.status


def _top(session: str) -> Generator[Read[Any], Any, tuple[TaskBranch, TaskFrame]]:
    head = yield from read(HeadOf(session))
    frame = None if head is None else (yield from current_frame(head.branch))
    if head is None or frame is None:
        raise InvalidInput(_EMPTY_STACK)
    if frame.branch != head.branch.name:
        raise InvalidInput(
            "the branch {} has no open task of its own left",
            head.branch.name,
            advice="inject its result into another branch, abandon it, or push a task",
        )
    return head.branch, frame


def _blocked(branch: TaskBranch) -> Generator[Read[Any], Any, TaskFrame]:
    frame = yield from current_frame(branch)
    if frame is None:
        raise InvalidInput(_EMPTY_STACK)
    if frame.status == "blocked":
        return frame
    below = yield from read(OpenChildren(frame.id))
    blocked = [one for one in below if one.status == "blocked" and one.branch == branch.name]
    if len(blocked) != 1:
        raise InvalidInput(f"{len(blocked)} tasks below the current one are blocked", advice="name the one to resume by its id")
    return blocked[0]


# Frames made from what a caller gives, and closed frames: every text is checked and screened for secrets.


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
    words = check_text("goal", goal, TASK_GOAL)
    if not words.strip():
        raise InvalidInput("is blank", path="goal", advice="say what the task is to reach")
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
    words = None if result is None else check_text("result", result, TASK_RESULT).strip()
    pointed = tuple(replace(one, title=screen.text(one.title)) for one in checked_artifacts(artifacts))
    return TaskOutcome(text=screen.text(words) if words else None, artifacts=pointed, secrets=dict(screen.found))


def closed_frame(
    frame: TaskFrame, status: TaskStatus, outcome: TaskOutcome, *, at: datetime, provenance: Provenance | None = None
) -> TaskFrame:
    """Returns the frame with this status and result. Raises `InvalidInput` for a completed task without a result: what it
    reached is all that the tasks after it see of it."""
    if outcome.text is None:
        what = "reached" if status == "complete" else "went wrong"
        raise InvalidInput(
            "is missing", path="result", advice=f"say what the task {what}, as the tasks after it see nothing else of it"
        )
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
        raise InvalidInput(f"must be a list of ids, or of ids with titles, not {type(value).__name__}", path="artifacts")
    found = list[TaskArtifact]()
    for given in value:
        check_size("artifacts", len(found) + 1, REFERENCES, at_least=True)
        found.append(_artifact(given, f"artifacts[{len(found)}]"))
    return tuple(found)


def _artifact(given: Any, where: str) -> TaskArtifact:
    if isinstance(given, TaskArtifact):
        id, title = given.id, given.title
    elif isinstance(given, tuple | list) and len(given) == 2:
        id, title = given
    else:
        id, title = given, ""
    if not check_text(where, id, ID):
        raise InvalidInput("is empty", path=where, advice="give the id of something stored")
    return TaskArtifact(id=id, title=" ".join(check_text(f"{where}.title", title, TASK_TITLE).split()))


def _sensitivity(value: object) -> Sensitivity:
    known: Sensitivity = check_one_of("sensitivity", value, get_args(Sensitivity))
    return known
