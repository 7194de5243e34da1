"""Task contract: what every store must keep of tasks: `StoreContract` includes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from germane.errors import InvalidInput
from germane.memories.operations import Forget, ForgetOwner
from germane.store import ScopedStore, Store
from germane.tasks.frame import TaskFrame
from germane.tasks.new_frame import TaskOutcome, new_frame
from germane.tasks.operations import FrameById, HeadOf, OpenChildren, PathTo, PutFrame, TaskIdsInUse
from germane.tasks.shown import shown_task
from germane.tasks.stack import pop_task, push_task
from germane.testing.scope_contract import ANNA, LATER
from germane.testing.stored import NOON, asking, writing
from germane.types.query import Filters
from germane.types.scope import Scope

__all__ = ["TaskContract"]

S = "work"
BEN = replace(ANNA, user="ben")


def _frame(goal: str, user: str | None = ANNA.user) -> TaskFrame:
    return new_frame(goal, session=S, user=user, at=NOON)


class TaskContract:
    """A stack is decided and written in one transaction, belongs to one owner, and leaves nothing behind."""

    @pytest.fixture
    def opening(self) -> Callable[[], Store]:
        raise NotImplementedError

    async def test_a_stack_is_read_back_as_it_was_written(self, opening: Callable[[], Store]) -> None:
        """By plans and by the reader, here and in another handle."""
        store = opening()
        mine = store.within(ANNA)
        root = await mine.journal.commit(push_task(_frame("root")))
        child = await mine.journal.commit(push_task(_frame("child")))
        assert (child.parent, child.depth) == (root.id, 1)
        assert [one.id for one in await mine.journal.commit(asking(OpenChildren(root.id)))] == [child.id]
        assert [one.id for one in await mine.journal.commit(asking(PathTo(child.id)))] == [root.id, child.id]
        before = await mine.journal.revision()
        ended = await mine.journal.commit(pop_task(S, "complete", TaskOutcome(text="done"), at=LATER))
        assert await mine.journal.revision() > before
        assert (ended.version, ended.closed_at) == (2, LATER)
        other = opening()
        view = await other.within(ANNA).tasks.view(S)
        assert view is not None
        assert ([one.id for one in view.path], [one.id for one in view.results]) == ([root.id], [child.id])
        head = await mine.journal.commit(asking(HeadOf(S)))
        assert head is not None
        assert (head.moves, head.open, head.frames) == (3, 1, 2)
        await other.close()
        await store.close()

    async def test_no_other_scope_reads_or_writes_a_task(self, opening: Callable[[], Store]) -> None:
        """Nor may a frame be written for somebody else, nor over somebody else's."""
        store = opening()
        mine = store.within(ANNA)
        frame = await mine.journal.commit(push_task(_frame("mine")))
        for scope in (BEN, replace(ANNA, user=None), replace(ANNA, agent="another"), Scope(org="x", user=ANNA.user)):
            theirs = store.within(scope)
            assert await theirs.tasks.frames([frame.id]) == ()
            assert await theirs.tasks.view(S) is None
            assert await theirs.journal.commit(asking(FrameById(frame.id))) is None
            assert frame.id in (await theirs.journal.commit(asking(TaskIdsInUse((frame.id,))))).elsewhere
            stolen = replace(frame, user=scope.user, goal="theirs")
            await theirs.journal.commit(writing(PutFrame(stolen)))
            await theirs.journal.commit(writing(Forget(task_ids=(frame.id,), at=LATER)))
        with pytest.raises(InvalidInput):
            await store.within(BEN).journal.commit(writing(PutFrame(frame)))
        assert (await mine.tasks.frames([frame.id]))[0].goal == "mine"
        await store.close()

    async def test_the_gate_passes_versions_that_were_and_none_that_will_be(self, opening: Callable[[], Store]) -> None:
        """A text says how a task stood then; a forgotten task, and a sensitivity that isn't allowed, pass no more."""
        store = opening()
        mine = store.within(ANNA)
        frame = await mine.journal.commit(push_task(_frame("mine")))

        async def passed(scoped: ScopedStore, *names: str, **filters: Any) -> set[str]:
            return set(await scoped.allowed(names, at=LATER, filters=Filters(**filters)))

        now, later, odd = shown_task(frame, 7), f"{frame.id}@2", (f"{frame.id}@", f"{frame.id}@x", f"{frame.id}@0", "@1")
        assert await passed(mine, now, later, *odd) == {now}
        await mine.journal.commit(pop_task(S, "complete", TaskOutcome(text="done"), at=LATER))
        assert await passed(mine, now, later) == {now, later}
        assert await passed(mine, now, sensitivities=("public",)) == set()
        assert await passed(store.within(BEN), now, later) == set()
        await mine.journal.commit(writing(Forget(task_ids=(frame.id,), at=LATER)))
        assert await passed(mine, now, later) == set()
        await store.close()

    async def test_an_owner_that_is_forgotten_leaves_no_task(self, opening: Callable[[], Store]) -> None:
        store = opening()
        mine = store.within(ANNA)
        frame = await mine.journal.commit(push_task(_frame("mine")))
        await mine.journal.commit(writing(ForgetOwner(user=ANNA.user, at=LATER)))
        assert await mine.tasks.list(None, None, 10) == ()
        assert await mine.journal.commit(asking(HeadOf(S))) is None
        known = await mine.journal.commit(asking(TaskIdsInUse((frame.id,))))
        assert known.forgotten == {frame.id}
        await store.close()
