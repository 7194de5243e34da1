"""Floors: the import rule: the packages stand on floors, and each imports only from floors below."""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

import pytest

from support.source_tree import Module, modules, room

FLOORS = {
    "nouns": "types clock errors",
    "ports": "ports catalog text",
    "dialects": "dialects",
    "search": "search",
    "domains": "kinds extraction tool_rules compaction transfer stores.contract",
    "stages": "stages stages.compact stages.measure stages.read stages.gather stages.score stages.pack stages.gate stages.write"
    " stages.inject",
    "engine": "engine",
    "front": "api handles integrations settings sync __init__",
    "surfaces": "cli grpc service",
}
"""The floors from the ground up. A floor may import from itself and from those before it. `handles` are the modules
`kinds.*.handle`: what a user calls stands with its kind, and calls the engine."""

ADAPTERS = ["stores", "models"]
"""Packages beside the floors. They import from `ADAPTERS_REACH`, and only the modules of `WIRING_REACHES` import them."""

DRIVERS = {"apsw", "psycopg", "asyncpg", "sqlite3"}
"""Packages that connect to a database. Only the package of a store imports one."""

APART = FLOORS["stages"].split()
"""Rooms of one floor that never import each other."""

EXCEPTIONS: dict[tuple[str, str], str] = {
    ("stages.gate", "stages.pack.pack"): "it takes out of a `Packing` what the store no longer allows"
}
"""(importer, imported) → the reason for the exception."""

ADAPTERS_REACH = [*FLOORS["nouns"].split(), "ports", "text", "search", *FLOORS["domains"].split()]
SURFACES_REACH = ["nouns", "domains", "front", "surfaces"]
SURFACES_ALSO = ["text", "dialects"]  # pure functions of strings, and of what a proxy relays
WIRING_REACHES = {
    "api.wiring": ADAPTERS,
    "integrations.compactor": ["models"],  # a compaction without a store opens neither a store nor an embedder
}
"""The modules that open adapters, with the packages that each opens."""

COMMAND_LINE = "cli"

ORDER = list(FLOORS)
ROOMS = {room: floor for floor, rooms in FLOORS.items() for room in rooms.split()}


def wrong(importer: Module, imported: str) -> str | None:
    """Why `importer` may not import `imported`, or None when it may."""
    here, there = importer.room, room(imported)
    if here == there or (importer.name, imported) in EXCEPTIONS:
        return None
    if there in ADAPTERS:
        return None if there in WIRING_REACHES.get(importer.name, ()) else "is an adapter, which wiring alone imports"
    if there == COMMAND_LINE:
        return "is the command line, which starts the rest and is imported by none of it"
    floor = ROOMS[there]
    if here in ADAPTERS:
        return None if there in ADAPTERS_REACH else "an adapter doesn't reach"
    if ROOMS[here] == "surfaces":
        return None if floor in SURFACES_REACH or there in SURFACES_ALSO else f"is in {floor}: a surface calls the front"
    if here in APART and there in APART:
        return "is another stage"
    return None if ORDER.index(floor) <= ORDER.index(ROOMS[here]) else f"is above: in {floor}, from {ROOMS[here]}"


def offences() -> Iterator[str]:
    for module in modules():
        for imported in sorted(module.imports):
            if reason := wrong(module, imported):
                yield f"{module.name} imports {imported}, which {reason}"


def test_every_room_stands_on_one_floor() -> None:
    """A new package or root module must be placed on a floor, and a deleted one removed from it."""
    assert {module.room for module in modules()} == {*ROOMS, *ADAPTERS}


def test_imports_only_go_down() -> None:
    """Imports go down; stages don't import each other, only wiring imports adapters, and surfaces call the front."""
    assert list(offences()) == []


def test_no_imports_go_round() -> None:
    """Modules don't import each other in a circle, not even within one floor."""
    sorter = TopologicalSorter({module.name: module.imports - {module.name} for module in modules()})
    try:
        sorter.prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


def test_every_exception_is_still_needed() -> None:
    """An exception without its import must be removed."""
    made = {(module.name, imported) for module in modules() for imported in module.imports}
    assert EXCEPTIONS.keys() <= made


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("types.candidate", "engine.engine"),
        ("types.candidate", "ports.models"),
        ("stages.gather.merge", "stages.score.score"),
        ("stages.inject", "engine.assembly"),
        ("engine.engine", "stores.sqlite.store"),
        ("stores.sqlite.store", "settings.settings"),
        ("models.tokenizers", "catalog.profiles"),
        ("cli.commands.search", "engine.engine"),
        ("kinds.memories.plans", "stages.gather.merge"),
        ("kinds.memories.plans", "kinds.memories.handle"),
        ("search.unit", "kinds.memories.value"),
        ("service.worker", "cli.screen"),
        ("integrations.compactor", "stores.sqlite.store"),
    ],
)
def test_the_rule_finds_an_import_that_goes_up(importer: str, imported: str) -> None:
    """The rule refuses each of these imports."""
    module = next(module for module in modules() if module.name == importer)
    assert wrong(module, imported)


def test_the_sql_knows_no_store() -> None:
    """`stores.sql` is what SQL stores share: its modules import neither a driver nor the package of a store."""
    sql = [module for module in modules() if module.name.startswith("stores.sql.")]
    foreign = {(module.name, one) for module in sql for one in module.foreign & DRIVERS}
    stores = {(module.name, one) for module in sql for one in module.imports if one.startswith("stores.sqlite")}
    assert sql
    assert foreign | stores == set()
