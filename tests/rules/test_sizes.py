"""Sizes: a module is read in one go."""

from __future__ import annotations

from pathlib import Path

from support.source_tree import ROOT, modules, project_files

LOOK_TWICE = 250
MOST = 400
MOST_IN_TESTS = 500

SUITES = {"testing.store_contract"}
"""Modules of the source that hold tests, for stores of others: they are measured as tests are."""


def lines(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def test_no_module_is_over_400_lines() -> None:
    """150 is the aim, 250 worth a second look, 400 the end."""
    sizes = {module.name: module.lines for module in modules()}
    over = {name: size for name, size in sizes.items() if size > (MOST_IN_TESTS if name in SUITES else MOST)}
    large = {name: size for name, size in sizes.items() if size > LOOK_TWICE}
    assert over == {}, f"worth a second look: {large}"


def test_no_module_of_tests_or_benchmarks_is_over_500_lines() -> None:
    """A long one hides what isn't tested."""
    beside = [path for path in project_files() if path.suffix == ".py" and path.relative_to(ROOT).parts[0] != "src"]
    sizes = {path.relative_to(ROOT).as_posix(): lines(path) for path in beside}
    assert beside
    assert {name: size for name, size in sizes.items() if size > MOST_IN_TESTS} == {}


def test_every_suite_is_there() -> None:
    """An exception without its module is struck off."""
    assert {module.name for module in modules()} >= SUITES
