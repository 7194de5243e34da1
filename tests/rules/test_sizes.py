"""Sizes: no module is longer than 400 lines, no test module or benchmark longer than 500."""

from __future__ import annotations

from pathlib import Path

from support.source_tree import ROOT, modules, project_files

LOOK_TWICE = 250
MAX_LINES = 400
MAX_LINES_IN_TESTS = 500

SUITES = {"testing.store_contract"}
"""Modules of the source that contain tests for other people's stores. They have the limit of test modules."""


def lines(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def test_no_module_is_over_400_lines() -> None:
    """The aim is 150 lines; 250 are worth a second look, and 400 are the limit."""
    sizes = {module.name: module.lines for module in modules()}
    over = {name: size for name, size in sizes.items() if size > (MAX_LINES_IN_TESTS if name in SUITES else MAX_LINES)}
    large = {name: size for name, size in sizes.items() if size > LOOK_TWICE}
    assert over == {}, f"worth a second look: {large}"


def test_no_module_of_tests_or_benchmarks_is_over_500_lines() -> None:
    """A long module hides what isn't tested."""
    beside = [path for path in project_files() if path.suffix == ".py" and path.relative_to(ROOT).parts[0] != "src"]
    sizes = {path.relative_to(ROOT).as_posix(): lines(path) for path in beside}
    assert beside
    assert {name: size for name, size in sizes.items() if size > MAX_LINES_IN_TESTS} == {}


def test_every_suite_is_there() -> None:
    """An exception without its module must be removed."""
    assert {module.name for module in modules()} >= SUITES
