"""Entity screen: prints entities, relations and what a walk found; and their JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from germane.cli.codec import encode
from germane.cli.global_options import GlobalOptions
from germane.cli.listing import ListColumn, print_fields, print_rows
from germane.cli.screen import console, plain, print_json

if TYPE_CHECKING:
    from germane.graph.entity import Entity, EntityPage
    from germane.graph.relation import Neighbourhood, Relation, Step

__all__ = ["entity_shape", "print_entity", "print_page", "print_path", "print_relation", "print_walk", "relation_shape"]

_ENTITIES = (ListColumn("id", id=True), *map(ListColumn, ("type", "name")), ListColumn("mentions", number=True))
_WALK = (ListColumn("steps", number=True), *map(ListColumn, ("type", "name")), ListColumn("id", id=True))


def entity_shape(entity: Entity) -> dict[str, Any]:
    """The JSON of an entity."""
    return {"type": "entity", **{name: value for name, value in encode(entity).items() if name != "type"}} | {
        "entity_type": entity.type
    }


def relation_shape(relation: Relation) -> dict[str, Any]:
    """The JSON of a relation."""
    return {"type": "relation", **{name: value for name, value in encode(relation).items() if name != "type"}} | {
        "relation_type": relation.type
    }


def print_entity(entity: Entity, relations: Sequence[Relation], names: Mapping[str, str], options: GlobalOptions) -> None:
    """Prints everything of an entity, its relations last."""
    if options.json:
        print_json({**entity_shape(entity), "relations": [relation_shape(one) for one in relations]})
        return
    screen = console()
    fields = [
        ("id", entity.id),
        ("type", entity.type),
        ("name", entity.name),
        ("also", ", ".join(entity.aliases)),
        ("of", "all users" if entity.user is None else f"user {entity.user}"),
        ("mentions", f"{entity.mentions:,}"),
        ("salience", f"{entity.salience:.2f} on {entity.salient_at:%Y-%m-%d}"),
        ("sensitivity", entity.sensitivity),
        *((name, plain(value if isinstance(value, str) else json.dumps(value))) for name, value in entity.properties.items()),
    ]
    print_fields(screen, [(plain(name), plain(value)) for name, value in fields])
    for relation in relations:
        screen.print(_line(relation, names), soft_wrap=True)


def print_relation(relation: Relation, names: Mapping[str, str], options: GlobalOptions) -> None:
    """Prints one line about a relation, or its JSON."""
    if options.json:
        print_json(relation_shape(relation))
    else:
        console().print(_line(relation, names), soft_wrap=True)


def print_page(page: EntityPage, options: GlobalOptions) -> None:
    """Prints a page of entities as rows."""
    if options.json:
        print_json({"entities": [entity_shape(one) for one in page.entities], "cursor": page.cursor})
        return
    screen = console()
    print_rows(screen, _ENTITIES, [(one.id, plain(one.type), plain(one.name), str(one.mentions)) for one in page.entities])
    if page.cursor:
        screen.print(f"… and more: add --cursor {page.cursor}", soft_wrap=True)


def print_walk(found: Neighbourhood, options: GlobalOptions) -> None:
    """Prints the entities that a walk reached, the nearest first, and the relations between them."""
    if options.json:
        entities = [entity_shape(one) | {"depth": found.depths[one.id]} for one in found.entities]
        relations = [relation_shape(one) for one in found.relations]
        print_json({"entities": entities, "relations": relations, "capped": found.capped})
        return
    screen = console()
    rows = [(str(found.depths[one.id]), plain(one.type), plain(one.name), one.id) for one in found.entities]
    print_rows(screen, _WALK, rows)
    names = {one.id: one.name for one in found.entities}
    for relation in found.relations:
        screen.print(_line(relation, names), soft_wrap=True)
    if found.capped:
        screen.print("some entities have more relations: raise --fan-out")


def print_path(path: Sequence[Step] | None, names: Mapping[str, str], options: GlobalOptions) -> None:
    """Prints the relations of a path, one a line."""
    if options.json:
        steps = None if path is None else [relation_shape(step.relation) | {"backwards": step.backwards} for step in path]
        print_json({"path": steps})
    elif path is None:
        console().print("no path of at most 10 relations")
    else:
        for step in path:
            console().print(_line(step.relation, names), soft_wrap=True)


def _line(relation: Relation, names: Mapping[str, str]) -> str:
    source, target = (names.get(id, id) for id in (relation.source, relation.target))
    ended = "" if relation.valid_to is None else f" until {relation.valid_to:%Y-%m-%d}"
    return plain(f"{source} --[{relation.type}]--> {target} since {relation.valid_from:%Y-%m-%d}{ended} ({relation.id})")
