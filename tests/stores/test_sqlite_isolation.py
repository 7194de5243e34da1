"""Isolation: random work of many scopes against a model that says who may see what."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, TypeVar

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from germane.clock import Clock
from germane.errors import NotFound
from germane.kinds.events.reads import PutEvent, SeenEvents
from germane.kinds.inventory import AllowedIds
from germane.kinds.memories.reads import EndMemory, Forget, PutMemory, SeenMemories
from germane.stores.sqlite import SqliteStore
from germane.types.query import Filters
from germane.types.scope import Scope
from germane_testing.builders import NOON, Hashed, a_memory, an_event, question, writing
from support.examples import examples

T = TypeVar("T")
SCOPES = [
    Scope(org=org, agent=agent, user=user) for org in ("a", "b") for agent in ("x", "a") for user in (None, "x", "y", "a")
]
EVERYTHING = Filters(sensitivities=("public", "private", "sensitive"), with_ended=True)
scopes = st.sampled_from(SCOPES)


def sees(scope: Scope, owner: Scope) -> bool:
    return (scope.org, scope.agent) == (owner.org, owner.agent) and owner.user in (None, scope.user)


class Isolation(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.store = self.run(self.opened())
        self.owners: dict[str, Scope] = {}
        self.ended: set[str] = set()
        self.count = 0

    async def opened(self) -> SqliteStore:
        return SqliteStore.open(":memory:", embedder=Hashed(dimension=4), clock=Clock(), readers=1)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def teardown(self) -> None:
        self.run(self.store.close())
        self.runner.close()

    @rule(scope=scopes)
    def remember(self, scope: Scope) -> None:
        memory = a_memory("canary memory", user=scope.user)
        self.run(self.store.within(scope).commit(writing(PutMemory(memory))))
        self.owners[memory.id] = scope

    @rule(scope=scopes, session=st.sampled_from(["s", "x"]))
    def record(self, scope: Scope, session: str) -> None:
        self.count += 1
        event = an_event("canary event", session=session, user=scope.user, position=self.count)
        self.run(self.store.within(scope).commit(writing(PutEvent(event))))
        self.owners[event.id] = scope

    @rule(scope=scopes, data=st.data())
    def forget(self, scope: Scope, data: st.DataObject) -> None:
        ids = tuple(data.draw(st.lists(st.sampled_from(list(self.owners)), max_size=4))) if self.owners else ()
        self.run(self.store.within(scope).commit(writing(Forget(memory_ids=ids, event_ids=ids, at=NOON))))
        for id in ids:
            if self.owners.get(id) == scope:
                del self.owners[id]

    @rule(scope=scopes, data=st.data())
    def change_what_may_be_anothers(self, scope: Scope, data: st.DataObject) -> None:
        if not self.owners:
            return
        id = data.draw(st.sampled_from(list(self.owners)))
        scoped = self.store.within(scope)
        if self.owners[id] == scope:
            return
        for change in (EndMemory(id=id, at=NOON), PutMemory(replace(a_memory("stolen", user=scope.user), id=id))):
            if isinstance(change, PutMemory) and self.run(self._is_event(id)):
                continue
            with pytest.raises(NotFound):
                self.run(scoped.commit(writing(change)))

    async def _is_event(self, id: str) -> bool:
        return bool(await self.store.within(self.owners[id]).ask(SeenEvents([id])))

    @invariant()
    def everybody_sees_what_is_theirs_and_the_agents(self) -> None:
        ids = sorted(self.owners)
        for scope in SCOPES[:: 3 if len(ids) % 2 else 2]:
            assert self.run(self._seen(scope, ids)) == {id for id in ids if sees(scope, self.owners[id])}

    async def _seen(self, scope: Scope, ids: list[str]) -> set[str]:
        scoped, asked = self.store.within(scope), replace(question("canary"), filters=EVERYTHING)
        memories = (await scoped.memories.search(asked, 99, keywords=True, vectors=False, wait=True)).hits
        events = (await scoped.events.search(asked, 99, keywords=True, vectors=False, wait=True)).hits
        searched = {hit.thing.id for hit in memories} | {hit.thing.id for hit in events}
        fetched = {memory.id for memory in await scoped.ask(SeenMemories(ids))} | {
            event.id for event in await scoped.ask(SeenEvents(ids))
        }
        assert searched == fetched == await scoped.ask(AllowedIds(ids, NOON, EVERYTHING))
        return searched


@pytest.mark.requirement("SCOPE-1", "SCOPE-2", "SCOPE-3", "PACK-8")
class TestIsolation(Isolation.TestCase):  # type: ignore[valid-type,misc]
    settings = examples(12, stateful_step_count=15, suppress_health_check=list(HealthCheck))
