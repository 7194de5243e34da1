"""Memory operations: a store over dicts that answers the reads of plans about memories and applies their changes.

It has one owner and no scopes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from germane.kinds.memories.directive import SetDirective
from germane.kinds.memories.reads import (
    CountFeedback,
    CountRetrievals,
    EndMemory,
    FactsOnKey,
    Forget,
    MemoriesByHash,
    MemoriesById,
    PutConflict,
    PutMemory,
    Select,
    Selection,
)
from germane.kinds.memories.value import Fact, Memory
from germane.types.plan import Change, Plan, Read, run_plan

T = TypeVar("T")


class MemoryOperations:
    def __init__(self) -> None:
        self.memories: dict[str, Memory] = {}
        self.directive = ""
        self.conflicts: list[PutConflict] = []
        self.written: list[Change] = []

    def commit(self, plan: Plan[T]) -> T:
        decision = run_plan(plan, self._answer)
        for change in decision.changes:
            self._apply(change)
        return decision.outcome

    def _answer(self, read: Read[Any]) -> Any:
        everything = tuple(self.memories.values())
        match read:
            case MemoriesById(ids):
                return {id: self.memories[id] for id in ids if id in self.memories}
            case MemoriesByHash(content_hash, at):
                return tuple(memory for memory in _not_ended(everything, at) if memory.content_hash == content_hash)
            case FactsOnKey(key, at):
                facts = [one for one in _not_ended(everything, at) if isinstance(one.content, Fact) and one.content.key == key]
                return tuple(sorted(facts, key=lambda fact: fact.valid_from))
            case Select():
                return Selection(memory_ids=tuple(memory.id for memory in everything if _selected(memory, read)))
        raise AssertionError(read)

    def _apply(self, change: Change) -> None:
        self.written.append(change)
        match change:
            case PutConflict():
                self.conflicts.append(change)
            case PutMemory(memory):
                self.memories[memory.id] = memory
            case EndMemory():
                ended = self.memories[change.id]
                self.memories[change.id] = replace(ended, valid_to=change.at, superseded_by=change.superseded_by)
            case Forget():
                for id in change.memory_ids:
                    del self.memories[id]
            case CountFeedback(ids, helpful):
                for id in ids:
                    memory = self.memories[id]
                    harmful = memory.harmful + (not helpful)
                    self.memories[id] = replace(memory, helpful=memory.helpful + helpful, harmful=harmful)
            case CountRetrievals(ids):
                for id in ids:
                    self.memories[id] = replace(self.memories[id], retrieval_count=self.memories[id].retrieval_count + 1)
            case SetDirective(text):
                self.directive = text
            case _:
                raise AssertionError(change)


def _not_ended(memories: Iterable[Memory], at: datetime) -> list[Memory]:
    return [memory for memory in memories if memory.valid_to is None or memory.valid_to > at]


def _selected(memory: Memory, select: Select) -> bool:
    key = memory.content.key if isinstance(memory.content, Fact) else None
    return (
        (select.ids is None or memory.id in select.ids)
        and (select.key is None or select.key == key)
        and (select.tag is None or select.tag in memory.tags)
        and (select.session is None or select.session == memory.provenance.session)
    )
