"""Key stores: a store of API keys in memory, and a wrapper that makes it fail after some calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

from germane.kinds.keys.plans import AddKey, ChangeKey, KeyById
from germane.kinds.keys.value import Key, NewKey, StoredKey
from germane.types.plan import Plan, Read, replay, run_plan
from germane_testing.faults import Fault, faulty
from germane_testing.injection_contract import issuing

T = TypeVar("T")


class MemoryKeyStore:
    """A key store in memory. `looks` lists the ids passed to `find`. `put` and `change` act as another process would."""

    def __init__(self) -> None:
        self.rows: dict[str, StoredKey] = {}
        self.looks: list[str] = []
        self.commits = 0

    async def find(self, id: str) -> StoredKey | None:
        self.looks.append(id)
        return self.rows.get(id)

    async def list(self, org: str | None = None) -> tuple[Key, ...]:
        return tuple(stored.key for stored in self.rows.values() if org in (None, stored.key.org))

    async def commit(self, plan: Plan[T]) -> T:
        self.commits += 1

        def answer(question: Read[Any]) -> Key | None:
            assert isinstance(question, KeyById)
            stored = self.rows.get(question.id)
            return stored.key if stored else None

        decision = run_plan(plan, answer)
        for change in decision.changes:
            if isinstance(change, ChangeKey):
                self.change(change.key.id, key=change.key)
            elif isinstance(change, AddKey):
                self.rows[change.stored.key.id] = change.stored
        return decision.outcome

    def put(self, number: int = 1, **fields: Any) -> NewKey:
        """Stores a key created at noon, a different one for each `number`, with these `fields`, and returns it with its
        token."""
        decision = replay(issuing(number), {})
        (added,) = decision.changes
        assert isinstance(added, AddKey)
        key = replace(added.stored.key, **fields)
        self.rows[key.id] = replace(added.stored, key=key)
        return NewKey(key=key, token=decision.outcome.token)

    def change(self, id: str, key: Key | None = None, **fields: Any) -> None:
        self.rows[id] = replace(self.rows[id], key=replace(key or self.rows[id].key, **fields))


class FailingKeyStore:
    """A wrapper around `chest` whose `find` meets `fault` after the first `after` calls, until `well` is set."""

    def __init__(self, chest: MemoryKeyStore, fault: Fault, *, after: int = 1) -> None:
        self._chest, self._faulty, self._left = chest, faulty(chest, fault, "find"), after
        self.list: Callable[[str | None], Awaitable[tuple[Key, ...]]] = chest.list
        self.well = False
        self.looks = 0

    async def find(self, id: str) -> StoredKey | None:
        self.looks += 1
        self._left -= 1
        return await (self._chest if self.well or self._left >= 0 else self._faulty).find(id)

    async def commit(self, plan: Plan[T]) -> T:
        return await self._chest.commit(plan)
