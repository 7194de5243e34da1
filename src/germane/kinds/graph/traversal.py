"""Traversal: walks relations as pure functions: breadth first, shortest paths and causal chains.

Depth and fan-out are bounded. Each walk is a generator that yields the entities whose relations it needs next, all of
one level at once, and is sent these relations: a store answers with one query for each level.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

T = TypeVar("T")
DECAY = 0.5
"""What a step leaves of a score."""
MAX_DEPTH = 10
MAX_READ = 200_000
"""Relations that a search for a path looks at before it gives up."""


class Edge(NamedTuple):
    """A relation as a walk sees it: the store's keys of the relation and of its entities; `strength` is weight × confidence."""

    key: int
    source: int
    target: int
    strength: float = 1.0

    def other(self, entity: int) -> int:
        """Returns the entity at the other end; the same one for a self-relation."""
        return self.target if self.source == entity else self.source


Walk = Generator[Sequence[int], Mapping[int, Sequence[Edge]], T]


@dataclass(slots=True)
class Walked:
    """`depths` of the entities in the order in which they were reached, and the relations likewise."""

    depths: dict[int, int] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    capped: bool = False


def decayed(strength: float, depth: int) -> float:
    """Returns the score of a relation or entity at a depth: `strength · 0.5^depth`."""
    return float(strength * DECAY ** max(0, depth))


def run_walk(walk: Walk[T], answer: Callable[[Sequence[int]], Mapping[int, Sequence[Edge]]]) -> T:
    """Runs a walk to its end; `answer` returns the relations of each entity asked for."""
    try:
        wanted = next(walk)
        while True:
            wanted = walk.send(answer(wanted))
    except StopIteration as end:
        found: T = end.value
        return found


def walk(starts: Iterable[int], *, depth: int, fan_out: int, limit: int) -> Walk[Walked]:
    """Walks in both directions: at most `depth` steps, at most `fan_out` relations of one entity (in the order in which they
    are answered), at most `limit` relations. Each entity and each relation counts once, so that cycles end."""
    found, seen = Walked(dict.fromkeys(starts, 0)), set[int]()
    frontier: list[int] = list(found.depths)
    for level in range(1, depth + 1):
        if not frontier or len(found.edges) >= limit:
            break
        answered, reached = (yield frontier), list[int]()
        for entity in frontier:
            edges = answered.get(entity, ())
            found.capped |= len(edges) > fan_out
            for edge in edges[:fan_out]:
                if edge.key in seen:
                    continue
                if len(found.edges) == limit:
                    found.capped = True
                    return found
                seen.add(edge.key)
                found.edges.append(edge)
                other = edge.other(entity)
                if other not in found.depths:
                    found.depths[other] = level
                    reached.append(other)
        frontier = reached
    return found


class _Side:
    """One end of a search for a path: how each entity was reached from there."""

    def __init__(self, start: int) -> None:
        self.reached: dict[int, tuple[Edge, int] | None] = {start: None}
        self.frontier = [start]

    def step(self, answered: Mapping[int, Sequence[Edge]]) -> None:
        reached = list[int]()
        for entity in self.frontier:
            for edge in answered.get(entity, ()):
                other = edge.other(entity)
                if other not in self.reached:
                    self.reached[other] = (edge, entity)
                    reached.append(other)
        self.frontier = reached

    def back(self, entity: int) -> list[tuple[Edge, int]]:
        """The steps from an entity back to the start: each relation, and the entity that it leads to."""
        steps = list[tuple[Edge, int]]()
        while (came := self.reached[entity]) is not None:
            steps.append(came)
            entity = came[1]
        return steps


def shortest_path(start: int, goal: int, *, depth: int = MAX_DEPTH) -> Walk[tuple[tuple[Edge, bool], ...] | None]:
    """Searches from both ends at once. Returns the relations of a shortest path in both directions, of at most `depth` steps,
    each with whether it is walked against its direction; () where both are one; None without a path, or where more than 200,000
    relations would have to be read."""
    if start == goal:
        return ()
    near, far, read = _Side(start), _Side(goal), 0
    for _ in range(depth):
        side, other = (near, far) if len(near.frontier) <= len(far.frontier) else (far, near)
        if not side.frontier or read > MAX_READ:
            return None
        answered = yield side.frontier
        read += sum(map(len, answered.values()))
        side.step(answered)
        met = [entity for entity in side.frontier if entity in other.reached]
        if met:
            meeting = min(met, key=lambda entity: len(other.back(entity)))
            return _joined(near, far, meeting)
    return None


def _joined(near: _Side, far: _Side, meeting: int) -> tuple[tuple[Edge, bool], ...]:
    there = [(edge, edge.source != came) for edge, came in reversed(near.back(meeting))]
    at, onward = meeting, list[tuple[Edge, bool]]()
    for edge, to in far.back(meeting):
        onward.append((edge, edge.source != at))
        at = to
    return (*there, *onward)


def chain(start: int, *, backwards: bool, limit: int, depth: int = 50) -> Walk[list[Edge]]:
    """Follows relations from their source to their target, or `backwards`: nearest first, each once. The answers hold relations
    of the wanted types only."""
    edges, seen, reached = list[Edge](), set[int](), {start}
    frontier = [start]
    for _ in range(depth):
        if not frontier or len(edges) >= limit:
            break
        answered, following = (yield frontier), list[int]()
        for entity in frontier:
            for edge in answered.get(entity, ()):
                begins, ends = (edge.target, edge.source) if backwards else (edge.source, edge.target)
                if begins != entity or edge.key in seen:
                    continue
                seen.add(edge.key)
                edges.append(edge)
                if ends not in reached:
                    reached.add(ends)
                    following.append(ends)
        frontier = following
    return edges[:limit]
