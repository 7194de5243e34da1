"""Traverse: walks over any graph end, stay within their bounds, and find what a plain search finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from germane.kinds.graph.traversal import Edge, chain, decayed, run_walk, shortest_path, walk
from support.examples import examples

NODES = st.integers(0, 7)
GRAPHS = st.lists(st.tuples(NODES, NODES, st.floats(0, 1)), max_size=24).map(
    lambda links: [Edge(key, source, target, strength) for key, (source, target, strength) in enumerate(links)]
)


class Graph:
    """Answers walks, and counts how often it is asked."""

    def __init__(self, edges: Sequence[Edge], *, directed: bool | None = None) -> None:
        self.edges, self.directed, self.asked = edges, directed, 0

    def __call__(self, entities: Sequence[int]) -> Mapping[int, Sequence[Edge]]:
        self.asked += 1
        ordered = sorted(self.edges, key=lambda edge: (-edge.strength, edge.key))
        return {entity: [edge for edge in ordered if entity in (edge.source, edge.target)] for entity in entities}


def distances(edges: Sequence[Edge], start: int) -> dict[int, int]:
    found, level = {start: 0}, [start]
    while level:
        beside = {edge.other(one) for one in level for edge in edges if one in (edge.source, edge.target)}
        level = sorted(beside - found.keys())
        found |= dict.fromkeys(level, max(found.values()) + 1)
    return found


@examples(200)
@given(GRAPHS, NODES, st.integers(0, 10), st.integers(1, 24), st.integers(0, 30))
def test_a_walk_stays_within_its_bounds(edges: list[Edge], start: int, depth: int, fan_out: int, limit: int) -> None:
    """One query for each level; each entity and each relation once; depths are those of the shortest way."""
    graph = Graph(edges)
    found = run_walk(walk([start], depth=depth, fan_out=fan_out, limit=limit), graph)
    assert graph.asked <= depth
    assert len(found.edges) == len({edge.key for edge in found.edges}) <= limit
    assert max(found.depths.values()) <= depth
    true = distances(edges, start)
    assert all(true[entity] <= steps for entity, steps in found.depths.items())
    if fan_out >= 24 and limit >= 24:
        assert found.depths == {entity: steps for entity, steps in true.items() if steps <= depth}
        assert not found.capped


@examples(200)
@given(GRAPHS, NODES, NODES)
def test_a_path_is_a_shortest_one(edges: list[Edge], start: int, goal: int) -> None:
    """Each relation leads on from the one before, and no path is shorter."""
    found = run_walk(shortest_path(start, goal), Graph(edges))
    true = distances(edges, start)
    if goal not in true:
        assert found is None
        return
    assert found is not None
    assert len(found) == true[goal]
    at = start
    for edge, backwards in found:
        assert at == (edge.target if backwards else edge.source)
        at = edge.source if backwards else edge.target
    assert at == goal


@examples(200)
@given(GRAPHS, NODES, st.booleans(), st.integers(1, 30))
def test_a_chain_follows_one_direction_and_ends(edges: list[Edge], start: int, backwards: bool, limit: int) -> None:
    """Also in cycles; each relation once."""
    found = run_walk(chain(start, backwards=backwards, limit=limit), Graph(edges))
    assert len(found) == len(set(found)) <= limit
    reached = {start}
    for edge in found:
        begins, ends = (edge.target, edge.source) if backwards else (edge.source, edge.target)
        assert begins in reached
        reached.add(ends)


def test_scores_halve_with_each_step() -> None:
    """At depth 0 nothing is taken away."""
    assert [decayed(0.8, depth) for depth in (0, 1, 3)] == [0.8, 0.4, 0.1]
