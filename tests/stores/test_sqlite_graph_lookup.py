"""Graph look-up: what a look-up of entities costs doesn't grow with the number of entities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import apsw
import pytest

from germane.clock import Clock
from germane.kinds.graph.traversal import Edge, run_walk, walk
from germane.kinds.graph.value import Entity
from germane.stores.sql.graph.lookup import entities_named, heaviest_edges, salient_entities
from germane.stores.sql.listing import VisiblePartition
from germane.stores.sqlite.database import SqliteDatabase
from germane.types.query import Filters
from germane_testing.builders import NOON

_VISIBLE = (VisiblePartition(1, None, 1),)
_ROW = (
    "INSERT INTO entities (id, partition, type, name, name_key, aliases, properties, salience, salient_at, rank, mentions,"
    " sensitivity, created_at, updated_at) VALUES (?1, 1, ?2, ?1, ?1, '[]', '{}', ?3, 0, ?3, 1, 1, 0, 0)"
)

_RELATION = (
    "INSERT INTO relations (id, partition, source, type, target, weight, confidence, strength, properties, valid_from,"
    " sensitivity, created_at, updated_at) VALUES (?1, 1, ?2, 'knows', ?3, 1, 1, ?4, '{}', 0, 1, 0, 0)"
)


def _filled(count: int) -> apsw.Connection:
    connection, _ = SqliteDatabase.at(":memory:").open(Clock())
    assert connection is not None
    connection.execute("INSERT INTO partitions (id, org, agent, user) VALUES (1, 'o', 'a', '')")
    names = [(f"name {number}", ("person", "place")[number % 2], number / 10_000) for number in range(count)]
    connection.executemany(_ROW, names)
    connection.execute("INSERT INTO entity_names SELECT partition, name_key, key FROM entities")
    return connection


def _steps(connection: apsw.Connection, work: Callable[[], tuple[Entity, ...]]) -> tuple[tuple[str, ...], int]:
    """The names found, and how often SQLite took 10 steps."""
    count = [0]

    def counted() -> bool:
        count[0] += 1
        return False

    connection.set_progress_handler(counted, 10)
    return tuple(entity.name for entity in work()), count[0]


@pytest.fixture
def few_and_many() -> Iterator[tuple[apsw.Connection, apsw.Connection]]:
    few, many = _filled(100), _filled(5_000)
    yield few, many
    few.close()
    many.close()


@pytest.mark.requirement("GRAPH-2")
@pytest.mark.parametrize("types", [None, ("person",), ("file", "symbol")])
def test_a_look_up_by_names_takes_as_many_steps_in_a_large_graph(
    few_and_many: tuple[apsw.Connection, apsw.Connection], types: tuple[str, ...] | None
) -> None:
    """Entities that aren't named aren't visited, whatever the types asked for."""
    keys = [*(f"nobody {number}" for number in range(90)), "name 4", "name 2", "name \ud800"]
    filters = Filters(entity_types=types)
    small, large = (_steps(one, lambda one=one: entities_named(one, _VISIBLE, keys, filters, 50)) for one in few_and_many)  # type: ignore[misc]
    assert small[0] == large[0] == (("name 4", "name 2") if types != ("file", "symbol") else ())
    assert large[1] <= small[1] * 1.2 + 2


@pytest.mark.requirement("GRAPH-2")
@pytest.mark.parametrize("types", [("person",), ("file", "symbol")])
def test_a_short_form_that_thousands_share_costs_no_more_than_one_that_some_share(types: tuple[str, ...]) -> None:
    """Where no entity of the short form passes the filters, not all of them are visited."""
    few, many = _filled(1_200), _filled(6_000)
    filters, steps = Filters(entity_types=types), list[int]()
    for one in (few, many):
        one.execute("INSERT INTO entity_names SELECT partition, '~name', key FROM entities")
        found, count = _steps(one, lambda one=one: entities_named(one, _VISIBLE, ["~name"], filters, 50))  # type: ignore[misc]
        assert len(found) == (50 if types == ("person",) else 0)
        steps.append(count)
        one.close()
    assert steps[1] <= steps[0] * 1.2 + 2


@pytest.mark.requirement("GRAPH-6")
@pytest.mark.parametrize("types", [None, ("person",), ("file", "symbol")])
def test_the_most_salient_are_read_in_as_many_steps_in_a_large_graph(
    few_and_many: tuple[apsw.Connection, apsw.Connection], types: tuple[str, ...] | None
) -> None:
    """A type that no entity has isn't looked for among all others."""
    filters = Filters(entity_types=types)
    small, large = (_steps(one, lambda one=one: salient_entities(one, _VISIBLE, 3, NOON, filters)) for one in few_and_many)  # type: ignore[misc]
    best: dict[tuple[str, ...] | None, tuple[int, ...]] = {
        None: (4999, 4998, 4997),
        ("person",): (4998, 4996, 4994),
        ("file", "symbol"): (),
    }
    assert large[0] == tuple(f"name {number}" for number in best[types])
    assert large[1] <= small[1] * 1.2 + 2


@pytest.mark.requirement("GRAPH-2")
def test_a_walk_reads_no_more_of_a_large_level_than_it_follows() -> None:
    """Of a level of many entities, those behind the limit of the walk aren't looked at, and the result is the same."""
    connection = _filled(1_000)
    links = [(1, other, 1.0) for other in range(2, 202)] + [(other, other + 300, 0.5) for other in range(2, 202)]
    for key, (source, target, strength) in enumerate(links, 1):
        row = (str(key).zfill(4), source, target, strength)
        connection.execute(_RELATION, row)
    asked = list[int]()
    answer = heaviest_edges(connection, _VISIBLE, at=None, filters=Filters(), limit=201)

    def counted(entities: Sequence[int]) -> Mapping[int, Sequence[Edge]]:
        asked.append(len(entities))
        return answer(entities)

    whole = run_walk(walk([1], depth=2, fan_out=200, limit=1_000), counted)
    assert (asked, len(whole.edges)) == ([1, 200], 400)
    _, few = _steps(connection, lambda: _walked(connection, 210))
    _, many = _steps(connection, lambda: _walked(connection, 1_000))
    assert few * 2 < many
    cut = run_walk(walk([1], depth=2, fan_out=200, limit=210), answer)
    assert (cut.edges, cut.capped) == (whole.edges[:210], True)
    connection.close()


def _walked(connection: apsw.Connection, limit: int) -> tuple[Entity, ...]:
    answer = heaviest_edges(connection, _VISIBLE, at=None, filters=Filters(), limit=201)
    run_walk(walk([1], depth=2, fan_out=200, limit=limit), answer)
    return ()
