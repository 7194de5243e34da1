"""Pending: what a plan has decided to store of the graph already, so that its later reads find it beside what is stored."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any, TypeVar

from germane.graph.entity import Entity
from germane.graph.operations import EndRelation, EntitiesNamed, OpenRelations, PutEntity, PutRelation
from germane.graph.relation import Relation
from germane.graph.said import keys_of
from germane.types.plan import Change, Read

__all__ = ["PendingGraph"]

T = TypeVar("T")


class PendingGraph:
    """The entities and relations that one plan is going to write. Mutable; lives for one plan."""

    def __init__(self) -> None:
        self._entities: dict[str, Entity] = {}
        self._by_key: dict[str, dict[str, None]] = {}
        self._relations: dict[str, Relation] = {}

    def add(self, changes: Iterable[Change]) -> None:
        """Counts these changes as made."""
        for change in changes:
            match change:
                case PutEntity(entity=entity):
                    self._entities[entity.id] = entity
                    for key in keys_of(entity):
                        self._by_key.setdefault(key, {})[entity.id] = None
                case PutRelation(relation=relation):
                    self._relations[relation.id] = relation
                case EndRelation(id=id):
                    self._relations.pop(id, None)

    def seen_by(self, steps: Generator[Read[Any], Any, T]) -> Generator[Read[Any], Any, T]:
        """Runs the steps of a plan; what they read is as if the changes so far were stored."""
        try:
            question = next(steps)
            while True:
                answer = yield question
                question = steps.send(self._amended(question, answer))
        except StopIteration as stop:
            result: T = stop.value
            return result

    def _amended(self, question: Read[Any], answer: Any) -> Any:
        if isinstance(question, EntitiesNamed):
            found = dict(answer)
            for key in question.keys:
                more = [self._entities[id] for id in self._by_key.get(key, ())]
                stored = [self._entities.get(entity.id, entity) for entity in found.get(key, ())]
                if more:
                    found[key] = tuple({entity.id: entity for entity in (*stored, *more)}.values())
                elif stored:
                    found[key] = tuple(stored)
            return found
        if isinstance(question, OpenRelations):
            known = {relation.id: self._relations.get(relation.id, relation) for relation in answer}
            pairs = set(question.pairs)
            for relation in self._relations.values():
                if (relation.source, relation.type) in pairs and (relation.valid_to is None or question.with_ended):
                    known[relation.id] = relation
            return tuple(sorted(known.values(), key=lambda relation: relation.valid_from))
        return answer
