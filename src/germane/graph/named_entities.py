"""Named entities: the stored entities that a plan has read by their names, beside those that it is going to write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from germane.graph.aliases import Resolution, lookup_keys, name_key, resolve
from germane.graph.entity import Entity
from germane.graph.said import keys_of, whole_keys

__all__ = ["NamedEntities", "asked_keys"]


def asked_keys(type: str, names: Sequence[str]) -> tuple[str, ...]:
    """Returns the keys to look an entity up by that a text gives these names: all that the first one, its main name, may stand
    for, and the others as they are."""
    main, *others = names
    return tuple(dict.fromkeys((*lookup_keys(main, type), *(key for name in others if (key := name_key(name, type))))))


class NamedEntities:
    """Entities by their keys. Mutable; lives for one plan."""

    def __init__(self, stored: Mapping[str, Sequence[Entity]]) -> None:
        """`stored` is what `EntitiesNamed` found: entities by key."""
        self._entities = {entity.id: entity for found in stored.values() for entity in found}
        self._ids = {key: dict.fromkeys(entity.id for entity in found) for key, found in stored.items()}

    def put(self, entity: Entity) -> None:
        """Counts an entity as it is going to be written."""
        self._entities[entity.id] = entity
        for key in keys_of(entity):
            self._ids.setdefault(key, {})[entity.id] = None

    def stands_for(self, type: str, names: Sequence[str]) -> Resolution[Entity]:
        """Decides which of the entities these names of one thing are of. The first name counts before the others; an other one
        counts as it is, and not as a short form. `ambiguous` where they are of several."""
        main, *others = names
        decided = resolve(main, type, self._under(lookup_keys(main, type)))
        if decided.decision != "new":
            return decided
        having, own = dict[str, Entity](), dict[str, Entity]()
        for key, found in self._under([name_key(name, type) for name in others]).items():
            for entity in found:
                if entity.type == type and key in whole_keys(entity):
                    having[entity.id] = entity
                    if name_key(entity.name, type) == key:
                        own[entity.id] = entity
        match tuple((own or having).values()):
            case ():
                return decided
            case (only,):
                return Resolution(decision="merge", entity=only)
            case several:
                return Resolution(decision="ambiguous", candidates=several)

    def _under(self, keys: Sequence[str]) -> dict[str, list[Entity]]:
        return {key: [self._entities[id] for id in self._ids[key]] for key in keys if key in self._ids}
