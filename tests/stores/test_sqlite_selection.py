"""Selection: what goes with forgotten things reaches what was made of each of them, directly or through others."""

from __future__ import annotations

from typing import Any

import pytest

from germane import Germane
from germane.kinds.memories.forgetting import forget
from germane.kinds.memories.reads import Forget, PutMemory
from germane.kinds.tasks.reads import ListFrames, PutFrame
from germane.kinds.tasks.value import BRANCH, TaskFrame
from germane.stores.contract import ScopedStore
from germane.types.candidate import Provenance
from germane.types.scope import Scope
from germane_testing.builders import NOON, a_memory, writing

pytestmark = pytest.mark.requirement("MEM-3")
ADA = Scope(agent="coder", user="ada")
ROOT, COPY, BELOW = ("1" * 32, "2" * 32, "3" * 32)


def a_frame(id: str, **fields: Any) -> TaskFrame:
    given: dict[str, Any] = {"session": "s", "branch": "main", "goal": f"Goal {id[0]}", "status": "active"}
    return TaskFrame(id=id, user="ada", created_at=NOON, updated_at=NOON, **given | fields)


async def texts(germane: Germane) -> list[str]:
    page = await germane.agent(ADA.agent, user=ADA.user).memories.list()
    return [memory.text for memory in page.memories]


async def remove(scoped: ScopedStore, id: str, *, by_plan: bool, also: str) -> None:
    """Forgets the frame with a plan that selects first, as callers do, and names `also` in its receipt; or with the change
    alone."""
    if by_plan:
        receipt = await scoped.commit(forget(ids=[id], scope=ADA, at=NOON))
        assert also in receipt.all_ids
    else:
        await scoped.commit(writing(Forget(task_ids=(id,), at=NOON)))


@pytest.mark.parametrize("by_plan", [True, False])
async def test_a_delegated_session_goes_with_what_replaced_memories_of_it(germane: Germane, by_plan: bool) -> None:
    """The agent's memory was consolidated: the memory in its place says what the session said."""
    scoped = germane._open.store.within(ADA)
    task = a_frame(ROOT, delegated="brief", child_session="child")
    replaced = Provenance(metadata={"replaced": [{"id": "gone", "session": "child"}]})
    elsewhere = Provenance(metadata={"replaced": [{"id": "gone too", "session": "another"}]})
    goes, stays = a_memory("goes", user="ada", provenance=replaced), a_memory("stays", user="ada", provenance=elsewhere)
    await scoped.commit(writing(PutFrame(task), PutMemory(goes), PutMemory(stays)))
    await remove(scoped, task.id, by_plan=by_plan, also=goes.id)
    assert await texts(germane) == ["stays"]


@pytest.mark.parametrize("by_plan", [True, False])
async def test_a_frame_below_a_derived_one_goes_with_what_was_made_of_it(germane: Germane, by_plan: bool) -> None:
    """A branch brought the copy back; a frame was pushed below it, and a memory was made of that one."""
    scoped = germane._open.store.within(ADA)
    copy = a_frame(COPY, provenance=Provenance(refs=(ROOT,), metadata={BRANCH: "try"}))
    below = a_frame(BELOW, parent=COPY, depth=1)
    made, stays = a_memory("made", user="ada", derived_from=(BELOW,)), a_memory("stays", user="ada")
    await scoped.commit(writing(*map(PutFrame, (a_frame(ROOT), copy, below)), PutMemory(made), PutMemory(stays)))
    await remove(scoped, ROOT, by_plan=by_plan, also=made.id)
    assert await scoped.ask(ListFrames(None, None, 9)) == ()
    assert await texts(germane) == ["stays"]
