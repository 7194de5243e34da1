"""`germane entity`: adds, lists, relates, walks and merges the entities of a scope."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from germane.cli.options import GlobalOptions, ask, options_of, run_async
from germane.cli.screen import ListColumn, console, plain, print_done, print_fields, print_json, print_listing, print_rows
from germane.errors import InvalidInput
from germane.types.codec import encode

if TYPE_CHECKING:
    from germane.api.agent import Agent
    from germane.kinds.graph.value import Entity, Neighbourhood, Relation, Step


app = typer.Typer(invoke_without_command=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
Named = Annotated[str, typer.Argument(metavar="ENTITY", help="An id, or a name that one entity has.")]
At = Annotated[str | None, typer.Option(metavar="TIME", help="Only what holds at this time, ISO 8601.")]


@app.callback()
def entity(context: typer.Context) -> None:
    """Keep people, places, files and other things, and how they relate."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command("add", short_help="Add an entity, or add to it.")
def add(
    context: typer.Context,
    type: Annotated[str, typer.Argument(metavar="TYPE", help="A word such as person, place, file or ticket.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name.")],
    alias: Annotated[list[str] | None, typer.Option(help="Another name. May be repeated.")] = None,
    set: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A property. May be repeated.")] = None,
) -> None:
    """Add an entity. Where one of this type has one of the names, what is new is added to it."""
    options = options_of(context)
    pairs = [one.partition("=") for one in set or ()]
    if any(not mark for _, mark, _ in pairs):
        raise InvalidInput("--set takes KEY=VALUE")
    given: dict[str, Any] = {"aliases": tuple(alias or ()), "properties": {key: value for key, _, value in pairs}}
    added = ask(options, lambda agent: agent.graph.add(type, name, **given), create=True)
    print_done(options.json, entity_shape(added), f"{added.type} {added.name} ({added.id})", whole=True)


@app.command("list", short_help="List the entities by name.")
def list_entities(
    context: typer.Context,
    prefix: Annotated[str, typer.Argument(metavar="[PREFIX]", help="The beginning of their names.")] = "",
    type: Annotated[str | None, typer.Option(help="Only entities of this type.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Print at most this many.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Continue where a listing ended.")] = None,
) -> None:
    """List the entities by name, with how often they are mentioned."""
    options = options_of(context)
    page = ask(options, lambda agent: agent.graph.list(type, prefix=prefix, limit=limit, cursor=cursor))
    document = {"entities": [entity_shape(one) for one in page.entities], "cursor": page.cursor}
    rows = [(one.id, plain(one.type), plain(one.name), str(one.mentions)) for one in page.entities]
    hints = () if rows else ("no entities here (germane entity add TYPE NAME adds one)",)
    print_listing(options.json, document, _ENTITIES, rows, cursor=page.cursor, hints=hints)


@app.command("show", short_help="Print an entity and its relations.")
def show(context: typer.Context, entity: Named, at: At = None) -> None:
    """Print everything of an entity, and its relations, the heaviest first."""
    options = options_of(context)
    print_entity(*run_async(_show(options, entity, at)), options)


@app.command("relate", short_help="Say how one entity stands to another.")
def relate(
    context: typer.Context,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="An id, or a name that one entity has.")],
    type: Annotated[str, typer.Argument(metavar="TYPE", help="A word such as works_at.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="An id, or a name that one entity has.")],
    since: Annotated[str | None, typer.Option(metavar="TIME", help="Since when; default: now.")] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Until when.")] = None,
    exclusive: Annotated[bool, typer.Option("--exclusive", help="End what held before: one target at a time.")] = False,
) -> None:
    """Store a relation between two entities, from now on or from --since."""
    options = options_of(context)
    print_relation(*run_async(_relate(options, source, type, target, since, until, exclusive)), options)


@app.command("unrelate", short_help="End a relation.")
def unrelate(
    context: typer.Context, id: Annotated[str, typer.Argument(metavar="ID", help="The id of the relation.")], at: At = None
) -> None:
    """End a relation now, or at a time."""
    options = options_of(context)
    print_relation(*run_async(_unrelate(options, id, at)), options)


@app.command("traverse", short_help="Print what is within some steps.")
def traverse(
    context: typer.Context,
    entity: Named,
    depth: Annotated[int, typer.Option(min=0, max=10, help="Steps.")] = 2,
    fan_out: Annotated[int, typer.Option("--fan-out", min=1, max=200, help="Relations of one entity.")] = 20,
    at: At = None,
) -> None:
    """Walk relations in both directions, the heaviest first."""
    options = options_of(context)
    print_walk(ask(options, lambda agent: agent.graph.traverse(entity, depth=depth, fan_out=fan_out, at=at)), options)


@app.command("path", short_help="Print a shortest path between two entities.")
def path(
    context: typer.Context,
    start: Annotated[str, typer.Argument(metavar="START", help="An id, or a name that one entity has.")],
    goal: Annotated[str, typer.Argument(metavar="GOAL", help="An id, or a name that one entity has.")],
    at: At = None,
) -> None:
    """Print the relations of a shortest path between two entities, in either direction."""
    options = options_of(context)
    print_path(*run_async(_path(options, start, goal, at)), options)


@app.command("merge", short_help="Make one entity of two.")
def merge(
    context: typer.Context,
    kept: Annotated[str, typer.Argument(metavar="KEPT", help="The entity that stays.")],
    gone: Annotated[str, typer.Argument(metavar="GONE", help="The entity that becomes part of it.")],
) -> None:
    """Move names, mentions and relations of one entity to another."""
    options = options_of(context)
    merged = ask(options, lambda agent: agent.graph.merge(kept, gone))
    line = f"{merged.type} {merged.name}, also {', '.join(merged.aliases)} ({merged.id})"
    print_done(options.json, entity_shape(merged), line, whole=True)


@app.command("forget", short_help="Erase entities for good.")
def forget(
    context: typer.Context,
    ids: Annotated[list[str], typer.Argument(metavar="ID…", help="Ids of entities, relations and patterns.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be erased.")] = False,
    by: Annotated[str, typer.Option(help="Who asked. Stays in the tombstone.")] = "",
    reason: Annotated[str, typer.Option(help="Why. Stays in the tombstone.")] = "",
) -> None:
    """Erase entities with their relations, relations, and patterns. The messages that mention them stay."""
    options = options_of(context)
    receipt = ask(options, lambda agent: agent.graph.forget(ids, dry_run=dry_run, by=by, reason=reason))
    print_done(options.json, encode(receipt), f"{'would forget' if dry_run else 'forgot'} {len(receipt.graph_ids)}")


async def _show(options: GlobalOptions, name: str, at: str | None) -> tuple[Entity, tuple[Relation, ...], dict[str, str]]:
    async with options.open_store() as (_, agent):
        found = (await agent.graph.traverse(name, depth=0)).entities[0]
        relations = await agent.graph.relations(found.id, at=at)
        return found, relations, await _names(agent, relations)


async def _relate(
    options: GlobalOptions, source: str, type: str, target: str, since: str | None, until: str | None, exclusive: bool
) -> tuple[Relation, dict[str, str]]:
    async with options.open_store() as (_, agent):
        made = await agent.graph.relate(source, type, target, valid_from=since, valid_to=until, exclusive=exclusive)
        return made, await _names(agent, [made])


async def _unrelate(options: GlobalOptions, id: str, at: str | None) -> tuple[Relation, dict[str, str]]:
    async with options.open_store() as (_, agent):
        ended = await agent.graph.unrelate(id, at)
        return ended, await _names(agent, [ended])


async def _path(
    options: GlobalOptions, start: str, goal: str, at: str | None
) -> tuple[tuple[Step, ...] | None, dict[str, str]]:
    async with options.open_store() as (_, agent):
        found = await agent.graph.path(start, goal, at=at)
        return found, await _names(agent, [step.relation for step in found or ()])


async def _names(agent: Agent, relations: Iterable[Relation]) -> dict[str, str]:
    ids = dict.fromkeys(id for relation in relations for id in (relation.source, relation.target))
    return {id: (await agent.graph.get(id)).name for id in ids}


# Prints entities, relations and what a walk found; and their JSON.


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
    """Prints the relations of a path, one per line."""
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
