"""Forget contract: the tests of `StoreContract` about selecting and forgetting."""

from __future__ import annotations

from typing import Any

import pytest

from germane.events.operations import PutEvent
from germane.memories.operations import FactsOnKey, Forget, ForgetOwner, PutMemory, Select, Selection, SetDirective
from germane.store import ScopedStore, Store
from germane.testing.scope_contract import AGENT, ALL, ANNA, LATER, found
from germane.testing.stored import NOON, a_memory, an_event, asking, writing
from germane.types.candidate import Provenance

__all__ = ["ForgetContract"]


class ForgetContract:
    """Tests of forgetting. Inherit `StoreContract`, which has them all."""

    @pytest.mark.requirement("MEM-3")
    async def test_what_is_forgotten_is_found_nowhere(self, scoped: ScopedStore) -> None:
        """No read returns forgotten data. Forgetting is idempotent, and a session ends with its last event."""
        memory, event = a_memory("cat secret", "fact", tags=("t",)), an_event("cat turn", name="Ana", message_id="m")
        await scoped.journal.commit(writing(PutMemory(memory), PutEvent(event)))
        assert len(await found(scoped, "cat")) == 2
        gone = Forget(memory_ids=(memory.id,), event_ids=(event.id,), at=LATER, by="op", reason="asked")
        for _ in range(2):
            await scoped.journal.commit(writing(gone))
            assert await found(scoped, "cat") == []
            assert await scoped.memories.get([memory.id]) == ()
            assert await scoped.events.get([event.id]) == ()
            assert await scoped.allowed([memory.id, event.id], at=LATER, filters=ALL) == frozenset()
            assert await scoped.memories.pinned(("drink",), ("t",), at=LATER, filters=ALL) == ()
            assert await scoped.events.recent(5, filters=ALL) == ()
            assert (await scoped.events.sessions(5)).sessions == ()
            assert await scoped.events.speakers() == ()
            assert await scoped.journal.commit(asking(FactsOnKey("drink", NOON))) == ()

    @pytest.mark.requirement("MEM-3")
    async def test_forgetting_an_owner_takes_all_the_owner_has_and_nothing_of_others(self, store: Store) -> None:
        """Forgetting an owner removes directive and sessions too, and scrubbing succeeds. Forgetting an absent owner is no
        error."""
        agent, anna = store.within(AGENT), store.within(ANNA)
        for scoped in (agent, anna):
            user = scoped.scope.user
            kept = (PutMemory(a_memory("cat", user=user)), PutEvent(an_event("cat", user=user)), SetDirective("Be kind"))
            await scoped.journal.commit(writing(*kept))
        before = await anna.journal.revision()
        for user in (ANNA.user, ANNA.user, "nobody"):
            await agent.journal.commit(writing(ForgetOwner(user=user, at=LATER)))
            assert await agent.journal.scrub() == ""
            assert await found(anna, "cat") == ["cat", "cat"]
            assert (await anna.directive()).text == "Be kind"
            assert len((await anna.events.sessions(5)).sessions) == 1
        assert await anna.journal.revision() > before
        await anna.journal.commit(writing(ForgetOwner(user=None, at=LATER)))
        assert len(await found(anna, "cat")) == 2
        await agent.journal.commit(writing(ForgetOwner(at=LATER)))
        assert (await found(anna, "cat"), (await anna.directive()).text) == ([], "")

    @pytest.mark.requirement("MEM-3")
    async def test_a_selection_meets_every_criterion(self, scoped: ScopedStore) -> None:
        """Criteria are germane's or the caller's ids, key, tag and session. Without a criterion nothing is selected."""
        fact = a_memory("one", "fact", key="k", tags=("t",), provenance=Provenance(session="s1"))
        note = a_memory("two", tags=("t",))
        events = [an_event("three", message_id="m1"), an_event("four", session="s2", message_id="m2")]
        await scoped.journal.commit(writing(PutMemory(fact), PutMemory(note), *map(PutEvent, events)))

        async def select(**criteria: Any) -> Selection:
            return await scoped.journal.commit(asking(Select(**criteria)))

        assert await select() == Selection()
        assert await select(everything=True) == Selection((fact.id, note.id), (events[0].id, events[1].id))
        assert await select(ids=(note.id, "m2")) == Selection((note.id,), (events[1].id,))
        assert await select(key="k") == Selection((fact.id,))
        assert await select(tag="t") == Selection((fact.id, note.id))
        assert await select(session="s1") == Selection((fact.id,), (events[0].id,))
        assert await select(tag="t", session="s2") == Selection()
