"""Key stores: a store of API keys in memory, and a wrapper that makes it fail after some calls."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from germane.kinds.keys.reads import AddKey, ChangeKey, KeyById
from germane.kinds.keys.value import Key, NewKey, StoredKey
from germane.types.plan import StorePlan, StoreRead, replay, run_plan
from germane_testing.faults import Fault, faulty
from germane_testing.injection_contract import issuing

T = TypeVar("T")


class MemoryKeyStore:
    """The part of a store that has keys, in memory. `looks` lists the ids of the keys that were asked for. `put` and
    `change` act as another process would."""

    def __init__(self) -> None:
        self.rows: dict[str, StoredKey] = {}
        self.looks: list[str] = []
        self.commits = 0

    async def ask(self, read: StoreRead[Any]) -> Any:
        assert isinstance(read, KeyById)
        self.looks.append(read.id)
        return self.rows.get(read.id)

    async def commit(self, plan: StorePlan[T]) -> T:
        self.commits += 1

        def answer(question: StoreRead[Any]) -> StoredKey | None:
            assert isinstance(question, KeyById)
            return self.rows.get(question.id)

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
    """A wrapper around `chest` whose `ask` meets `fault` after the first `after` calls, until `well` is set."""

    def __init__(self, chest: MemoryKeyStore, fault: Fault, *, after: int = 1) -> None:
        self._chest, self._faulty, self._left = chest, faulty(chest, fault, "ask"), after
        self.well = False
        self.looks = 0

    async def ask(self, read: StoreRead[Any]) -> Any:
        self.looks += 1
        self._left -= 1
        return await (self._chest if self.well or self._left >= 0 else self._faulty).ask(read)

    async def commit(self, plan: StorePlan[T]) -> T:
        return await self._chest.commit(plan)
