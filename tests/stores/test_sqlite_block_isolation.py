"""Block isolation: random blocks, entries and shares of many scopes against a model that says who may see and change what."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from germane.clock import Clock
from germane.errors import InvalidInput, NotFound
from germane.kinds.blocks.permission import PERMISSIONS, Permission, effective_permission
from germane.kinds.blocks.reads import DropShare, FirstNamed, ListBlocks, PutBlock, PutEntry, PutShare, SeenEntries
from germane.kinds.memories.reads import Forget, ForgetOwner
from germane.stores.sqlite import SqliteStore
from germane.types.scope import Scope
from germane_testing.builders import NOON, Hashed, a_block, an_entry, editing, question, writing
from support.examples import examples

T = TypeVar("T")
SCOPES = [Scope(org=org, agent=agent, user=user) for org in ("a", "b") for agent in ("x", "y") for user in (None, "x", "u")]
scopes = st.sampled_from(SCOPES)


class BlockIsolation(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.store = self.run(self.opened())
        self.made = 0
        self.blocks: dict[str, tuple[Scope, Permission]] = {}
        self.entries: dict[str, Scope] = {}
        self.shares: dict[tuple[str, str], Permission] = {}

    async def opened(self) -> SqliteStore:
        return SqliteStore.open(":memory:", embedder=Hashed(dimension=4), clock=Clock(), readers=1)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def teardown(self) -> None:
        self.run(self.store.close())
        self.runner.close()

    def commit(self, scope: Scope, *changes: Any, name: str = "") -> None:
        plan = editing(name, *changes) if name else writing(*changes)
        self.run(self.store.within(scope).commit(plan))

    @rule(scope=scopes, permission=st.sampled_from(PERMISSIONS))
    def create(self, scope: Scope, permission: Permission) -> None:
        self.made += 1  # a label stands once, also after others were forgotten
        label = f"canary {self.made}"
        block = a_block(label, "canary", type="archival", user=scope.user, agent=scope.agent, permission=permission)
        self.commit(scope, PutBlock(block))
        self.blocks[block.id] = (scope, permission)

    @rule(scope=scopes)
    def archive(self, scope: Scope) -> None:
        entry = an_entry("canary", user=scope.user)
        self.commit(scope, PutEntry(entry))
        self.entries[entry.id] = scope

    @rule(data=st.data(), granted=st.sampled_from(PERMISSIONS), ends=st.booleans())
    def share(self, data: st.DataObject, granted: Permission, ends: bool) -> None:
        if not self.blocks:
            return
        id = data.draw(st.sampled_from(list(self.blocks)))
        scope = self.blocks[id][0]
        agent = "y" if scope.agent == "x" else "x"
        if ends:
            self.commit(scope, DropShare(id=id, agent=agent), name=id)
            self.shares.pop((id, agent), None)
        else:
            self.commit(scope, PutShare(id=id, agent=agent, permission=granted, at=NOON), name=id)
            self.shares[id, agent] = granted

    @rule(scope=scopes, data=st.data())
    def forget(self, scope: Scope, data: st.DataObject) -> None:
        known = [*self.blocks, *self.entries]
        ids = tuple(data.draw(st.lists(st.sampled_from(known), max_size=3))) if known else ()
        self.commit(scope, Forget(block_ids=ids, at=NOON))
        for id in ids:
            if self.entries.get(id) == scope:
                del self.entries[id]
            if id in self.blocks and self.blocks[id][0] == scope:
                self._drop(id)

    @rule(scope=scopes)
    def forget_all(self, scope: Scope) -> None:
        self.commit(scope, ForgetOwner(at=NOON))
        self.entries = {id: owner for id, owner in self.entries.items() if owner != scope}
        for id in [id for id, (owner, _) in self.blocks.items() if owner == scope]:
            self._drop(id)
        self.shares = {
            (id, agent): granted
            for (id, agent), granted in self.shares.items()
            if (self.blocks[id][0].org, agent, self.blocks[id][0].user) != (scope.org, scope.agent, scope.user)
        }

    def _drop(self, id: str) -> None:
        del self.blocks[id]
        self.shares = {key: granted for key, granted in self.shares.items() if key[0] != id}

    @rule(scope=scopes, data=st.data())
    def change_what_may_be_anothers(self, scope: Scope, data: st.DataObject) -> None:
        if not self.blocks:
            return
        id = data.draw(st.sampled_from(list(self.blocks)))
        if self.granted(scope, id) not in (None, "read_only") or self.blocks[id][0] == scope:
            return
        if self.blocks[id][0].user == scope.user and self.granted(scope, id) is not None:
            return  # read-only through a share: the plan refuses that, not the store
        stolen = a_block("stolen", id=id, user=scope.user, version=9)
        for change in (PutBlock(stolen), DropShare(id=id, agent="x"), PutShare(id=id, agent="z", permission="admin", at=NOON)):
            with pytest.raises((NotFound, InvalidInput)):
                self.commit(scope, change, name=id)

    def granted(self, scope: Scope, id: str) -> Permission | None:
        """What the scope may do by the model; None where it doesn't see the block."""
        owner, permission = self.blocks[id]
        if scope.org != owner.org or owner.user not in (None, scope.user):
            return None
        if scope.agent != owner.agent:
            if (id, scope.agent) not in self.shares:
                return None
            permission = effective_permission(self.shares[id, scope.agent], permission)
        return permission if owner.user == scope.user else "read_only"

    @invariant()
    def everybody_sees_what_the_model_says(self) -> None:
        for scope in SCOPES[:: 3 if len(self.blocks) % 2 else 2]:
            seen = {id: self.granted(scope, id) for id in self.blocks}
            blocks, found = self.run(self._seen(scope))
            assert blocks == {id: granted for id, granted in seen.items() if granted is not None}
            near = (scope.org, scope.agent)
            own = {id for id, (owner, _) in self.blocks.items() if (owner.org, owner.agent) == near}
            own |= {id for id, owner in self.entries.items() if (owner.org, owner.agent) == near}
            users = {id: owner.user for id, owner in self.entries.items()} | {id: at[0].user for id, at in self.blocks.items()}
            assert found == {id for id in own if users[id] in (None, scope.user)}

    async def _seen(self, scope: Scope) -> tuple[dict[str, str], set[str]]:
        scoped = self.store.within(scope)
        listed = await scoped.ask(ListBlocks())
        named = await scoped.ask(FirstNamed(sorted(self.blocks)))
        assert {block.id: block for block in named} == {block.id: block for block in listed}
        for block in listed:
            assert (block.shared_from is None) == (block.agent == scope.agent)
        asked = question("canary", kinds=("entry", "archival"))
        found = await scoped.blocks.search(asked, 99, keywords=True, vectors=False, wait=True)
        entries = {entry.id for entry in await scoped.ask(SeenEntries(sorted(self.entries)))}
        ids = {hit.thing.id for hit in found.hits}
        assert entries == ids & set(self.entries)
        return {block.id: block.granted for block in listed}, ids


@pytest.mark.requirement("BLK-6", "BLK-7", "SCOPE-2", "SCOPE-3")
class TestBlockIsolation(BlockIsolation.TestCase):  # type: ignore[valid-type,misc]
    settings = examples(12, stateful_step_count=15, suppress_health_check=list(HealthCheck))
