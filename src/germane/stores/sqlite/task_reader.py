"""SqliteTasks: the task reader of one scope."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import apsw

from germane.stores.sqlite.delegated_sessions import delegated_session
from germane.stores.sqlite.encoding import stored
from germane.stores.sqlite.readers import Readers, Reading
from germane.stores.sqlite.rows import rows
from germane.stores.sqlite.task_paths import path_to, view_of
from germane.stores.sqlite.tasks import BRANCH, CHECKPOINT, branch_of, checkpoint_of, frames, frames_by_id, head_of
from germane.stores.sqlite.visible_partitions import VisiblePartition
from germane.tasks.branching import StackHead, TaskBranch, TaskCheckpoint
from germane.tasks.frame import TaskFrame, TaskStatus
from germane.tasks.limits import DelegatedSession
from germane.tasks.view import TaskView
from germane.types.scope import Scope

__all__ = ["SqliteTasks"]

T = TypeVar("T")


class SqliteTasks:
    """Implements `germane.tasks.reader.TaskReader`."""

    def __init__(self, scope: Scope, readers: Readers) -> None:
        self._scope, self._readers = scope, readers

    async def head(self, session: str) -> StackHead | None:
        return await self._own(lambda connection, own: head_of(connection, own, session), None)

    async def view(self, session: str, id: str | None = None) -> TaskView | None:
        def work(reading: Reading) -> TaskView | None:
            own = self._partition(reading)
            return None if own is None else view_of(reading.connection, own, session, id)

        return await self._readers.read_batched(work)

    async def frames(self, ids: Sequence[str]) -> tuple[TaskFrame, ...]:
        none: dict[str, TaskFrame] = {}
        found = await self._own(lambda connection, own: frames_by_id(connection, own, ids), none)
        return tuple(found[id] for id in dict.fromkeys(ids) if id in found)

    async def path(self, id: str) -> tuple[TaskFrame, ...]:
        return await self._own(lambda connection, own: path_to(connection, own, id), ())

    async def list(self, session: str | None, status: TaskStatus | None, limit: int) -> tuple[TaskFrame, ...]:
        wanted = [("t.session = ?", None if session is None else stored(session)), ("t.status = ?", status)]
        clauses = [clause for clause, value in wanted if value is not None] or ["1"]
        values: tuple[Any, ...] = tuple(value for _, value in wanted if value is not None)
        clause = f"{' AND '.join(clauses)} ORDER BY t.key DESC LIMIT ?"
        return await self._own(lambda connection, own: frames(connection, own, clause, (*values, limit)), ())

    async def branches(self, session: str) -> tuple[TaskBranch, ...]:
        sql = f"{BRANCH} AND session = ? ORDER BY forked_at, name"
        return await self._own(
            lambda connection, own: tuple(map(branch_of, rows(connection, sql, (own.id, stored(session))))), ()
        )

    async def checkpoints(self, session: str) -> tuple[TaskCheckpoint, ...]:
        sql = f"{CHECKPOINT} AND session = ? ORDER BY created_at, name"
        return await self._own(
            lambda connection, own: tuple(map(checkpoint_of, rows(connection, sql, (own.id, stored(session))))), ()
        )

    async def delegations(self, session: str, *, open: bool, limit: int) -> tuple[TaskFrame, ...]:
        state = " AND t.status IN ('active', 'blocked')" if open else ""
        clause = f"t.session = ? AND t.delegated IS NOT NULL{state} ORDER BY t.key DESC LIMIT ?"
        return await self._own(lambda connection, own: frames(connection, own, clause, (stored(session), limit)), ())

    async def delegated(self, session: str) -> DelegatedSession | None:
        scope = self._scope.within(session)
        return await self._readers.read_batched(lambda reading: delegated_session(reading.connection, scope))

    async def _own(self, read: Callable[[apsw.Connection, VisiblePartition], T], empty: T) -> T:
        def work(reading: Reading) -> T:
            own = self._partition(reading)
            return empty if own is None else read(reading.connection, own)

        return await self._readers.run(work)

    def _partition(self, reading: Reading) -> VisiblePartition | None:
        visible = reading.visible(self._scope)
        return next((partition for partition in visible if partition.user == self._scope.user), None)
