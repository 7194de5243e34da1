"""Linear time: every function that sees text is measured, and what isn't linear is seen."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from bench.linear import CHARACTERS, SHAPES, list_cases, run, text_case, text_cases, timing
from bench.list_readers import LIST_SHAPES, LISTS, LISTS_UNREAD
from bench.readers import READERS
from bench.unread import UNREAD

from bench import linear
from germane.errors import GermaneError
from support.mixed_texts import mixed_texts
from support.source_tree import Module, modules
from support.steps import growth

PACKAGES = (
    *("stages.write", "stages.read", "stages.gather", "stages.inject", "text", "catalog", "compaction", "dialects"),
    *("tool_rules", "search", "models.tokenizers", "extraction", "kinds.conversations", "kinds.documents", "kinds.events"),
    *("kinds.graph", "kinds.memories", "kinds.messages"),
)
"""Where texts are read. What a surface does with one is done by these."""


LIST_PACKAGES = (
    *(
        "dialects",
        "compaction",
        "integrations",
        "tool_rules",
        "catalog",
        "stages.inject",
        "kinds.conversations",
        "kinds.blocks",
    ),
    *("kinds.documents", "kinds.events", "kinds.messages", "extraction.messages"),
)
"""Where lists of a caller's are read."""
_ITEMS = "Message|Raw|OutgoingMessage|Mutation|Tool|Line|ToolCall|ToolResult|Part|Piece|NewEvent|Event|Mapping"
_LIST = re.compile(rf"\b(?:Sequence|Iterable|list|Collection|tuple|Iterator)\[(?:{_ITEMS})\b")


def functions(module: Module, takes: Callable[[ast.FunctionDef | ast.AsyncFunctionDef], bool]) -> set[str]:
    """Its public functions and methods that take what `takes` says, by module and name."""
    found = set()
    for node in module.tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name[0] != "_" and takes(node):
            found.add(f"{module.name}.{node.name}")
        if isinstance(node, ast.ClassDef) and node.name[0] != "_":
            methods = (one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
            found |= {f"{module.name}.{node.name}.{one.name}" for one in methods if not one.name.startswith("_") and takes(one)}
    return found


def within(module: Module, packages: Sequence[str]) -> bool:
    """Whether a module is in one of the packages; handles, which call the rest, are not."""
    return f"{module.name}.".startswith(tuple(f"{package}." for package in packages)) and not module.name.endswith(".handle")


def takes_text(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    given = node.args
    arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, *([given.vararg] if given.vararg else [])]
    return any(one.annotation is not None and "str" in ast.unparse(one.annotation).split(" | ") for one in arguments)


def takes_list(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    given = node.args
    arguments = [one.annotation for one in (*given.posonlyargs, *given.args, *given.kwonlyargs) if one.annotation is not None]
    several = given.vararg is not None and given.vararg.annotation is not None
    return any(_LIST.search(ast.unparse(one)) for one in arguments) or (
        several and re.fullmatch(_ITEMS, ast.unparse(given.vararg.annotation)) is not None  # type: ignore[union-attr, arg-type]
    )


def test_every_public_function_that_takes_a_list_of_the_callers_is_measured_or_said_why_not() -> None:
    """A new one has to be put into bench/list_readers.py."""
    wanted = set[str]()
    for module in modules():
        if within(module, LIST_PACKAGES):
            wanted |= functions(module, takes_list)
    measured = {name.split(" ")[0] for name in LISTS}
    assert wanted - measured - set(LISTS_UNREAD) == set()
    assert set(LISTS_UNREAD) <= wanted, "an exception without its function is struck off"
    assert len(wanted) > 60


def _read(name: str, made: Callable[..., list[Any]], one: object, other: object, n: int) -> object:
    return LISTS[name].read(made(one, other, n))


@pytest.mark.parametrize("name", sorted(LISTS))
def test_a_list_of_the_callers_takes_linear_time(name: str) -> None:
    """In lines of Python, for some kinds of lists; `bench linear` measures all by time. Some work begins at a length."""
    items, shapes = list(LISTS[name].items.values()), list(LIST_SHAPES.values())
    for at, one in enumerate(items[::3]):
        made, other = shapes[at % len(shapes)], items[(2 * at + 3) % len(items)]
        assert growth(partial(_read, name, made, one, other), 120 if name.startswith("kinds.documents") else 40) < 8


def test_every_public_function_that_takes_text_is_measured_or_said_why_not() -> None:
    """A new one has to be put into bench/readers.py."""
    wanted = set[str]()
    for module in modules():
        if within(module, PACKAGES):
            wanted |= functions(module, takes_text)
    measured = {name.split(" ")[0] for name in READERS}
    assert wanted - measured - set(UNREAD) == set()
    assert set(UNREAD) <= wanted, "an exception without its function is struck off"
    assert not set(UNREAD) & measured
    assert len(wanted) > 80


@pytest.mark.parametrize("name", sorted(READERS))
def test_every_reader_reads_every_character(name: str) -> None:
    """None raises, whatever it meets."""
    for at, char in enumerate(CHARACTERS.values()):
        READERS[name](list(SHAPES.values())[at % len(SHAPES)](char, "[", 40))


@pytest.mark.parametrize("name", sorted(READERS))
def test_every_reader_reads_every_mixture(name: str) -> None:
    """None raises but what says that the text can't be taken."""
    for text in mixed_texts(60):
        with suppress(GermaneError):
            READERS[name](text)


@pytest.mark.parametrize(
    ("seconds", "ratio"), [(lambda n: n * 1e-7, 4), (lambda n: n**2 * 1e-9, 16), (lambda n: 1e-4 + n**1.5 * 1e-9, 8)]
)
def test_the_ratio_is_the_largest_over_any_step(
    monkeypatch: pytest.MonkeyPatch, seconds: Callable[[int], float], ratio: float
) -> None:
    """About 4 for a linear function, 16 for a quadratic one, also where that shows for long texts only."""
    assert _ratio_of(seconds, monkeypatch) == pytest.approx(ratio, rel=0.05)


@pytest.mark.parametrize(("times", "linear_enough"), [(2, True), (5, True), (8, False)])
def test_a_step_that_comes_once_is_not_taken_for_quadratic(
    monkeypatch: pytest.MonkeyPatch, times: int, linear_enough: bool
) -> None:
    """Some times the work from a length on is linear, unless it is more than six times."""
    ratio = _ratio_of(lambda n: n * 1e-7 * (times if n > 20_000 else 1), monkeypatch)
    assert (ratio < 6) is linear_enough


def _ratio_of(seconds: Callable[[int], float], monkeypatch: pytest.MonkeyPatch) -> float:
    monkeypatch.setattr(linear, "_spent", lambda reader, text: seconds(len(text)))
    return timing(text_case("made up", str.lower, "run of a", "ASCII a", "ASCII a", 1_000_000, longest=60.0)).ratio


def test_each_function_is_measured_before_any_is_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is ended by its time has measured them all alike: the texts of all functions, and the lists of all."""
    for cases, functions in ((text_cases(800, 1_000, 1), READERS), (list_cases(100, 256, 1), LISTS)):
        assert {case.reader for case in cases[: len(functions)]} == set(functions)
        assert len(cases) >= 2 * len(functions)
    monkeypatch.setattr(linear, "_spent", lambda reader, text: len(text) * 1e-7)
    assert len(run(list_cases(100, 256, 1), seconds=0)) == 1
