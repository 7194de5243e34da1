"""The import rule: each floor imports only from floors below."""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

import pytest

from support.source_tree import Module, modules, room

FLOORS = {
    "nouns": "types clock errors",
    "ports": "ports catalog text",
    "dialects": "dialects",
    "domains": "memories events search access store",
    "stages": "pipeline.signals pipeline.gather pipeline.score pipeline.pack pipeline.format pipeline.inject",
    "engine": "pipeline",
    "front": "api settings sync __init__",
    "evaluation": "evaluate",
    "surfaces": "cli grpc http observe serve",
}
"""From the ground up: a floor imports from itself and those before it."""

ADAPTERS = ["stores", "embedders", "tokenizers"]
"""They stand beside the floors and reach the nouns, the ports and the domains; `wiring` alone reaches them."""

BESIDE_THE_FRONT = ["testing"]
"""Reaches everything below the front and is reached by nobody: it is for tests."""

APART = FLOORS["stages"].split()
"""Packages of one floor that never import one another."""

EXCEPTIONS: dict[tuple[str, str], str] = {}
"""(importer, imported): the reason."""

ADAPTERS_REACH = [*FLOORS["nouns"].split(), "ports", "text", *FLOORS["domains"].split()]
SURFACES_REACH = ["nouns", "domains", "front", "evaluation", "surfaces"]
WIRING_REACHES_ADAPTERS = "api.wiring"

COMMAND_LINE = "cli"

ORDER = list(FLOORS)
ROOMS = {room: floor for floor, rooms in FLOORS.items() for room in rooms.split()}


def wrong(importer: Module, imported: str) -> str | None:
    """Why `importer` may not import `imported`, or None when it may."""
    here, there = importer.room, room(imported)
    if here == there or (importer.name, imported) in EXCEPTIONS:
        return None
    if there in BESIDE_THE_FRONT:
        return "is for tests"
    if there in ADAPTERS:
        return None if importer.name == WIRING_REACHES_ADAPTERS else "is an adapter, which wiring alone imports"
    if there == COMMAND_LINE:
        return "is the command line, which starts the rest and is imported by none of it"
    floor = ROOMS[there]
    if here in ADAPTERS:
        return None if there in ADAPTERS_REACH else "an adapter doesn't reach"
    if here in BESIDE_THE_FRONT:
        return None if ORDER.index(floor) < ORDER.index("front") else f"is in {floor}"
    if ROOMS[here] == "surfaces":
        return None if floor in SURFACES_REACH else f"is in {floor}: a surface calls the front"
    if here in APART and there in APART:
        return "is another stage"
    return None if ORDER.index(floor) <= ORDER.index(ROOMS[here]) else f"is above: in {floor}, from {ROOMS[here]}"


def offences() -> Iterator[str]:
    for module in modules():
        for imported in sorted(module.imports):
            if reason := wrong(module, imported):
                yield f"{module.name} imports {imported}, which {reason}"


def test_every_room_stands_on_one_floor() -> None:
    """A new package or top-level module gets its place here first; one that is gone leaves it."""
    assert {module.room for module in modules()} == {*ROOMS, *ADAPTERS, *BESIDE_THE_FRONT}


def test_imports_only_go_down() -> None:
    """Floors, stages apart, adapters behind wiring, surfaces over the front."""
    assert list(offences()) == []


def test_no_imports_go_round() -> None:
    """Not within a floor either."""
    sorter = TopologicalSorter({module.name: module.imports - {module.name} for module in modules()})
    try:
        sorter.prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


def test_every_exception_is_still_needed() -> None:
    """One that has been mended is struck off."""
    made = {(module.name, imported) for module in modules() for imported in module.imports}
    assert EXCEPTIONS.keys() <= made


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("types.candidate", "pipeline.engine"),
        ("types.candidate", "ports.embedder"),
        ("pipeline.gather.merge", "pipeline.score.score"),
        ("pipeline.engine", "stores.sqlite.store"),
        ("stores.sqlite.store", "settings.settings"),
        ("tokenizers.named", "catalog.catalog"),
        ("api.germane", "testing.clocks"),
        ("cli.search", "pipeline.engine"),
        ("memories.remember", "pipeline.gather.merge"),
        ("serve.worker_entry", "cli.exits"),
    ],
)
def test_the_rule_finds_an_import_that_goes_up(importer: str, imported: str) -> None:
    """The walk itself is held to what it is for."""
    module = next(module for module in modules() if module.name == importer)
    assert wrong(module, imported)
