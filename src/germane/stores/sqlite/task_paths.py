"""Task paths: reads the frames above one frame, and what a session's assembly sees of its tasks."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import apsw

from germane.stores.sqlite.encoding import shown, stored
from germane.stores.sqlite.rows import first, rows
from germane.stores.sqlite.tasks import branch_named, frames, frames_by_id
from germane.stores.sqlite.visible_partitions import VisiblePartition
from germane.tasks.branching import TaskBranch
from germane.tasks.frame import MAIN, TaskFrame
from germane.tasks.limits import MAX_BRANCHES, MAX_DEPTH
from germane.tasks.view import TaskView, task_view

__all__ = ["forks_of", "path_to", "view_of"]

_PATH = (
    "WITH RECURSIVE up (id, parent, level) AS (SELECT id, parent, 0 FROM tasks WHERE id = ?2 AND partition = ?1 UNION ALL"
    " SELECT t.id, t.parent, up.level + 1 FROM up JOIN tasks t ON t.id = up.parent AND t.partition = ?1"
    f" WHERE up.level < {MAX_DEPTH + 1}) SELECT id FROM up ORDER BY level DESC"
)
_BRANCHES = "SELECT name, parent, state FROM task_branches WHERE partition = ? AND session = ?"
_OF_BRANCH = "SELECT id FROM tasks WHERE partition = ? AND session = ? AND branch = ?"
_NEVER = datetime.min
_NEAR, _FAR = 32, 4
"""Frames that are read below and beside the current one, and beside each frame above, the latest first: more find no room."""
_RUNNING = "SELECT branch, moves FROM task_heads WHERE partition = ? AND session = ?"
_ENDED = "t.status IN ('complete', 'failed') AND"


def path_to(connection: apsw.Connection, partition: VisiblePartition, id: str) -> tuple[TaskFrame, ...]:
    """Returns the frames from the root to this one; () where the partition has no such frame."""
    ids = [one for (one,) in rows(connection, _PATH, (partition.id, id))]
    found = frames_by_id(connection, partition, ids)
    return tuple(found[one] for one in ids)


def view_of(connection: apsw.Connection, partition: VisiblePartition, session: str, id: str | None = None) -> TaskView | None:
    """Returns what an assembly of this session sees; None where no task is open. `id` names the frame that is to be the
    current one, which must be of this session."""
    row = first(connection, _RUNNING, (partition.id, stored(session)))
    running = None if row is None else branch_named(connection, partition, session, shown(row[0]))
    if row is None or running is None:
        return None
    current = running.current if id is None else id
    path = () if current is None else path_to(connection, partition, current)
    if not path or any(frame.session != session for frame in path):
        return None
    branch = running if id is None else branch_named(connection, partition, session, path[-1].branch) or running
    near = list(_below(connection, partition, session, path[-1].id, _NEAR, ""))
    for steps, frame in enumerate(reversed(path)):
        near += _below(connection, partition, session, frame.parent, _FAR if steps else _NEAR, _ENDED)
    forks = forks_of(connection, partition, branch)
    return task_view(path, near, forks, moves=row[1], elsewhere=_elsewhere(connection, partition, session, forks))


def forks_of(connection: apsw.Connection, partition: VisiblePartition, branch: TaskBranch) -> dict[str, datetime | None]:
    """Returns the branches whose frames this one sees: itself, and those above until it, or one between, left them."""
    forks: dict[str, datetime | None] = {branch.name: None}
    until: datetime | None = None
    here = branch
    while here.parent is not None and here.parent not in forks and len(forks) <= MAX_BRANCHES:
        until = here.forked_at if until is None else min(until, here.forked_at)
        forks[here.parent] = until
        above = branch_named(connection, partition, here.session, here.parent)
        if above is None or above.name == MAIN:
            break
        here = above
    return forks


def _elsewhere(
    connection: apsw.Connection, partition: VisiblePartition, session: str, forks: Mapping[str, datetime | None]
) -> dict[str, datetime | None]:
    """The frames of branches that aren't seen, or only until a time. A branch that was injected where it is seen is seen."""
    found = dict[str, datetime | None]()
    for name, parent, state in list(rows(connection, _BRANCHES, (partition.id, stored(session)))):
        branch = shown(name)
        if branch in forks and forks[branch] is None:
            continue
        if branch not in forks and state == "merged" and parent is not None and forks.get(shown(parent), _NEVER) is None:
            continue
        limit = forks.get(branch)
        found |= dict.fromkeys((id for (id,) in rows(connection, _OF_BRANCH, (partition.id, stored(session), name))), limit)
    return found


def _below(
    connection: apsw.Connection, partition: VisiblePartition, session: str, parent: str | None, limit: int, ended: str
) -> tuple[TaskFrame, ...]:
    if parent is None:
        clause = f"{ended} t.session = ? AND t.parent IS NULL ORDER BY t.key DESC LIMIT ?"
        return frames(connection, partition, clause, (stored(session), limit), children=False)
    return frames(connection, partition, f"{ended} t.parent = ? ORDER BY t.key DESC LIMIT ?", (parent, limit), children=False)
