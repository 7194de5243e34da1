"""Expressions: finds every regular expression of the source and the parts of it that can take more than linear time.

Three forms take more than linear time in a backtracking engine:

- *nested*: an unbounded repeat inside an unbounded repeat, neither of them possessive or atomic;
- *adjacent*: an unbounded repeat that can give characters back to another one right after it, or after an optional part;
- *restart*: a searched expression that runs through the same characters again from every start position.
"""

from __future__ import annotations

import ast
import importlib
import re
import re._constants as sre  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from types import BuiltinMethodType
from typing import Any

from support.source_tree import Module, modules

__all__ = ["Expression", "expressions", "faults"]

_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
_ANCHORED = frozenset({"match", "fullmatch", "pattern", "flags", "groups", "groupindex"})
_LONG = 4_096
"""A repeat with at most this maximum counts as bounded."""
_SAMPLE_RANGES = (
    *((0, 0x250), (0x2B0, 0x2C0), (0x300, 0x310), (0x37E, 0x3D0), (0x400, 0x460), (0x590, 0x5D0), (0x600, 0x660)),
    *((0x900, 0x970), (0xE00, 0xE50), (0x1100, 0x1110), (0x1160, 0x1168), (0x1680, 0x1681), (0x2000, 0x2070)),
    *((0x2190, 0x21A0), (0x2581, 0x2582), (0x3000, 0x3050), (0x4E00, 0x4E10), (0xAC00, 0xAC10), (0xD800, 0xD802)),
    *((0xFE00, 0xFE10), (0xFEFF, 0xFF70), (0xFF9E, 0xFFA1), (0x1D400, 0x1D410), (0x1F1E6, 0x1F1F0), (0x1F600, 0x1F610)),
)
_SAMPLE = frozenset(code for first, last in _SAMPLE_RANGES for code in range(first, last))
"""Code points that represent all others when two character sets are compared; the ends of an expression's own ranges are
added."""

Chars = frozenset[int]
Node = tuple[Any, Any]


@dataclass(frozen=True)
class Expression:
    """A regular expression of the source. `place` names its variable, such as `format.escape._LIKE`; `searched` is true where a
    match may start at any position of a text."""

    place: str
    pattern: str
    flags: int
    searched: bool


@dataclass(frozen=True)
class _Step:
    """One node of a path through an expression; `groups` are the optional groups around it."""

    op: Any
    value: Any
    groups: frozenset[int]


@dataclass(frozen=True)
class _Run:
    """An unbounded repeat at an edge of a node."""

    chars: Chars
    gives_back: bool


@dataclass
class _Shape:
    """What the check of neighbouring nodes must know of a node."""

    nullable: bool
    leads: list[_Run] = field(default_factory=list)
    trails: list[_Run] = field(default_factory=list)


def faults(pattern: str, flags: int = 0, *, searched: bool = True) -> list[str]:
    """The names of the forms that the expression has, each once; empty where it takes linear time."""
    tree = parser.parse(pattern, flags & ~re.DEBUG)
    if not _unbounded(tree):  # all three forms need such a repeat; a list of a hundred words has thousands of paths
        return []
    look = _Look(tree.state.flags, frozenset(_codes(tree)))
    look.shape(list(tree))
    if searched and any(look.restarts(path) for path in look.paths(list(tree))):
        look.found.add("restart")
    return sorted(look.found)


def _unbounded(part: Any) -> bool:
    """Whether a part of a parsed expression holds a repeat without a bound."""
    if isinstance(part, tuple) and part and isinstance(part[0], type(sre.MAX_REPEAT)) and part[0] in _REPEATS:
        return part[1][1] > _LONG or _unbounded(part[1][2])
    return isinstance(part, list | tuple | parser.SubPattern) and any(_unbounded(one) for one in part)


class _Look:
    def __init__(self, flags: int, named: Set[int]) -> None:
        self._flags = flags
        self._sample = _SAMPLE | named
        self.found: set[str] = set()

    def shape(self, nodes: Sequence[Node]) -> _Shape:
        """Walks consecutive nodes and notes nested and adjacent repeats."""
        shapes = [self._of(node) for node in nodes]
        for at, one in enumerate(shapes):
            for other in shapes[at + 1 :]:
                if any(a.gives_back and a.chars & b.chars for a in one.trails for b in other.leads):
                    self.found.add("adjacent")
                if not other.nullable:
                    break
        return _Shape(
            all(shape.nullable for shape in shapes),
            [run for shape in _until_full(shapes) for run in shape.leads],
            [run for shape in _until_full(shapes[::-1]) for run in shape.trails],
        )

    def _of(self, node: Node) -> _Shape:
        op, value = node
        if op in _REPEATS:
            return self._repeat(op, *value)
        if op is sre.SUBPATTERN:
            return self.shape(list(value[-1]))
        if op is sre.ATOMIC_GROUP:
            inner = self.shape(list(value))
            return _Shape(inner.nullable, inner.leads, [_Run(run.chars, False) for run in inner.trails])
        if op is sre.BRANCH:
            inner_shapes = [self.shape(list(one)) for one in value[1]]
            return _Shape(
                any(one.nullable for one in inner_shapes),
                [run for one in inner_shapes for run in one.leads],
                [run for one in inner_shapes for run in one.trails],
            )
        if op in (sre.ASSERT, sre.ASSERT_NOT):
            self.shape(list(value[1]))
            return _Shape(True)
        if op is sre.GROUPREF_EXISTS:
            return _Shape(True)
        return _Shape(op in (sre.AT, sre.GROUPREF))

    def _repeat(self, op: Any, minimum: int, maximum: int, body: Any) -> _Shape:
        inner = self.shape(list(body))
        gives_back = op is not sre.POSSESSIVE_REPEAT
        if maximum <= _LONG:
            if gives_back:
                return _Shape(minimum == 0 or inner.nullable, inner.leads, inner.trails)
            return _Shape(minimum == 0 or inner.nullable, inner.leads, [_Run(run.chars, False) for run in inner.trails])
        if gives_back and self._holds_run(list(body)):
            self.found.add("nested")
        own = _Run(self.chars(list(body)), gives_back)
        return _Shape(minimum == 0 or inner.nullable, [own], [own])

    def _holds_run(self, nodes: Sequence[Node]) -> bool:
        """Whether these nodes contain an unbounded repeat that can give characters back, at any depth."""
        for op, value in nodes:
            if op in (sre.MAX_REPEAT, sre.MIN_REPEAT) and (value[1] > _LONG or self._holds_run(list(value[2]))):
                return True
            if op is sre.SUBPATTERN and self._holds_run(list(value[-1])):
                return True
            if op is sre.BRANCH and any(self._holds_run(list(one)) for one in value[1]):
                return True
        return False

    def paths(self, nodes: Sequence[Node], within: frozenset[int] = frozenset()) -> Iterator[list[_Step]]:
        """Every path through groups and branches as a flat list. A repeat stays one node; an optional part is in a group."""
        if not nodes:
            yield []
            return
        (op, value), rest = nodes[0], nodes[1:]
        if op is sre.SUBPATTERN:
            heads = self.paths(list(value[-1]), within)
        elif op is sre.ATOMIC_GROUP:
            heads = self.paths(list(value), within)
        elif op is sre.BRANCH:
            heads = (path for one in value[1] for path in self.paths(list(one), within))
        elif op in _REPEATS and value[1] == 1:
            inner = within if value[0] else within | {id(value)}
            heads = iter([*self.paths(list(value[2]), inner), *([] if value[0] else [[]])])
        else:
            heads = iter([[_Step(op, value, within)]])
        tails = list(self.paths(rest, within))
        for head in heads:
            for tail in tails:
                yield [*head, *tail]

    def restarts(self, path: Sequence[_Step]) -> bool:
        """Whether a match can start again inside the run of one of the repeats, while the part after the repeat can fail."""
        for at, step in enumerate(path):
            if step.op not in _REPEATS or step.value[1] <= _LONG:
                continue
            run = self.chars(list(step.value[2]))
            if not any(later.groups <= step.groups and not _empty(later) for later in path[at + 1 :]):
                continue
            if not self._guarded(path[: at + 1], run) and all(self._inside(before, run) for before in path[:at]):
                return True
        return False

    def _inside(self, step: _Step, run: Chars) -> bool:
        """Whether the part before the repeat can match inside the run."""
        if _empty(step) or step.op in (sre.AT, sre.ASSERT, sre.ASSERT_NOT, sre.GROUPREF, sre.GROUPREF_EXISTS):
            return True
        return bool(self.chars([(step.op, step.value)]) & run)

    def _guarded(self, before: Sequence[_Step], run: Chars) -> bool:
        """Whether an anchor or a look-behind at the beginning prevents a match from starting inside the run."""
        for step in before:
            op, value = step.op, step.value
            if op is sre.AT:
                if value in (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING):
                    return not (self._flags & re.MULTILINE and value is sre.AT_BEGINNING and 10 in run)
                if value is sre.AT_BOUNDARY and (run <= self._words() or not run & self._words()):
                    return True
            elif op is sre.ASSERT_NOT and value[0] < 0:
                behind = list(value[1])
                if len(behind) == 1 and run <= self.chars(behind):
                    return True
            elif op is sre.ASSERT and value[0] < 0:
                behind = list(value[1])
                if behind and not self.chars(behind[-1:]) & run:
                    return True
            elif op is sre.ASSERT or op is sre.ASSERT_NOT:
                continue
            else:
                return False
        return False

    def chars(self, nodes: Sequence[Node]) -> Chars:
        """Every sampled character that these nodes can match at any position."""
        found: set[int] = set()
        for op, value in nodes:
            if op in (sre.LITERAL, sre.NOT_LITERAL, sre.ANY, sre.IN):
                found |= self._single(op, value)
            elif op in _REPEATS:
                found |= self.chars(list(value[2]))
            elif op is sre.SUBPATTERN:
                found |= self.chars(list(value[-1]))
            elif op is sre.ATOMIC_GROUP:
                found |= self.chars(list(value))
            elif op is sre.BRANCH:
                for one in value[1]:
                    found |= self.chars(list(one))
        return frozenset(found)

    def _single(self, op: Any, value: Any) -> Chars:
        if op is sre.ANY:
            return self._sample - (frozenset() if self._flags & re.DOTALL else {10})
        if op is sre.LITERAL:
            return self._cased({value})
        if op is sre.NOT_LITERAL:
            return self._sample - self._cased({value})
        found: set[int] = set()
        negated = False
        for kind, what in value:
            if kind is sre.NEGATE:
                negated = True
            elif kind is sre.LITERAL:
                found |= self._cased({what})
            elif kind is sre.RANGE:
                found |= self._cased({code for code in self._sample if what[0] <= code <= what[1]})
            elif kind is sre.CATEGORY:
                found |= _category(what, self._flags, self._sample)
        return frozenset(self._sample - found if negated else found)

    def _cased(self, codes: Set[int]) -> Chars:
        if not self._flags & re.IGNORECASE:
            return frozenset(codes)
        both = {chr(code) for code in codes}
        return frozenset(ord(form) for char in both for form in (char, char.lower(), char.upper()) if len(form) == 1)

    def _words(self) -> Chars:
        return frozenset(_category(sre.CATEGORY_WORD, self._flags, self._sample))


def _empty(step: _Step) -> bool:
    """Whether the node can match the empty text."""
    return step.op in _REPEATS and step.value[0] == 0


def _until_full(shapes: Sequence[_Shape]) -> Iterator[_Shape]:
    for shape in shapes:
        yield shape
        if not shape.nullable:
            return


def _category(name: Any, flags: int, sample: Set[int]) -> Set[int]:
    """The characters of the sample that are of a class such as digits."""
    fits = _of_class(name, flags & re.ASCII)
    return _sampled(name, flags & re.ASCII) | {code for code in sample - _SAMPLE if fits(chr(code))}


@cache
def _sampled(name: Any, flags: int) -> Chars:
    fits = _of_class(name, flags)
    return frozenset(code for code in _SAMPLE if fits(chr(code)))


@cache
def _of_class(name: Any, flags: int) -> Callable[[str], object]:
    sign = {sre.CATEGORY_DIGIT: r"\d", sre.CATEGORY_SPACE: r"\s", sre.CATEGORY_WORD: r"\w"}
    opposite = {sre.CATEGORY_NOT_DIGIT: r"\D", sre.CATEGORY_NOT_SPACE: r"\S", sre.CATEGORY_NOT_WORD: r"\W"}
    return re.compile((sign | opposite)[name], flags).fullmatch


def _codes(tree: Any) -> Iterator[int]:
    """Every code point that the expression names, and its two neighbours."""
    for op, value in tree:
        if op in (sre.LITERAL, sre.NOT_LITERAL):
            yield value
        elif op is sre.RANGE:
            yield from (code for code in (*value, value[1] + 1) if code < 0x110000)
        elif op is sre.IN:
            yield from _codes(value)
        elif op is sre.BRANCH:
            for one in value[1]:
                yield from _codes(one)
        elif op is sre.ATOMIC_GROUP:
            yield from _codes(value)
        elif op in (sre.SUBPATTERN, *_REPEATS, sre.ASSERT, sre.ASSERT_NOT):
            yield from _codes(value[-1])


@cache
def expressions() -> tuple[Expression, ...]:
    """Every expression of the source: compiled ones in module variables, at any depth, and literal ones in calls of `re`."""
    uses = _uses()
    found: dict[tuple[str, str, int], Expression] = {}
    for module in modules():
        for place, pattern in _held(module):
            name = place.rpartition("[" if place.endswith("]") else ".")[2].rstrip("]")
            searched = not uses.get(name) or not uses[name] <= _ANCHORED
            one = Expression(place, pattern.pattern, pattern.flags, searched)
            found[place, one.pattern, one.flags] = one
        for place, text, searched in _written(module):
            found[place, text, 0] = Expression(place, text, 0, searched)
    return tuple(found.values())


def _held(module: Module) -> Iterator[tuple[str, re.Pattern[str]]]:
    if module.path.name == "__main__.py":  # importing it runs it
        return
    loaded = importlib.import_module("germane" if module.name == "__init__" else f"germane.{module.name}")
    seen: set[int] = set()

    def within(place: str, value: object, depth: int) -> Iterator[tuple[str, re.Pattern[str]]]:
        value = getattr(value, "__self__", value) if isinstance(value, BuiltinMethodType) else value  # a pattern's own method
        if isinstance(value, re.Pattern):
            yield place, value
        elif depth < 5 and id(value) not in seen and (inner := _inside(value)) is not None:
            seen.add(id(value))
            for at, one in inner:
                yield from within(f"{place}[{at}]", one, depth + 1)

    for name, value in vars(loaded).items():
        yield from within(f"{module.name}.{name}", value, 0)
        if isinstance(value, type) and value.__module__ == loaded.__name__:
            for inner, held in vars(value).items():
                yield from within(f"{module.name}.{name}.{inner}", held, 0)


def _inside(value: object) -> list[tuple[object, object]] | None:
    """The entries of a container or a dataclass, each with its place; None for any other value."""
    if isinstance(value, Mapping):
        return [(key, one) for key, held in value.items() for one in (key, held)]
    if isinstance(value, tuple | list | Set):
        return list(enumerate(value))
    if is_dataclass(value) and not isinstance(value, type):
        return [(each.name, getattr(value, each.name)) for each in fields(value)]
    return None


def _written(module: Module) -> Iterator[tuple[str, str, bool]]:
    """Expressions written in calls of `re`'s functions; `"…"` stands for one that is only known at run time."""
    for node in module.nodes:
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "re"):
            continue
        if node.func.attr not in ("compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"):
            continue
        if node.func.attr == "compile" and not _in_function(module, node):
            continue  # the module holds it
        given = node.args[0]
        text = given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else "…"
        yield f"{module.name}:re.{node.func.attr}", text, node.func.attr not in _ANCHORED


def _in_function(module: Module, node: ast.expr) -> bool:
    functions = (one for one in module.nodes if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
    return any(one.lineno <= node.lineno <= (one.end_lineno or 0) for one in functions)


@cache
def _uses() -> dict[str, set[str]]:
    """The attributes that the source uses of each variable or field, by its name."""
    found: dict[str, set[str]] = {}
    for module in modules():
        for node in module.nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
                name = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
                found.setdefault(name, set()).add(node.attr)
    return found
