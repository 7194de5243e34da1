"""Sizes: a module is one concept of 150 to 350 lines; none has more than 700, and none is a scrap of its only neighbour."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from support.source_tree import ROOT, Module, beside, modules, project_files

LOOK_TWICE = 500
MAX_LINES = 700
MAX_LINES_IN_TESTS = 500
MIN_LINES = 60
"""A shorter module that a single module of its folder imports belongs into that one."""
MADE = frozenset({"grpc.client.handles", "grpc.client.blocking_handles"})
"""Modules that are made from others, which nobody reads as a whole; a test compares each with what it is made from."""


def lines(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def scraps(found: Sequence[Module]) -> Iterator[str]:
    """The modules that are too short to stand beside their only user."""
    users = defaultdict[str, set[str]](set)
    for module in found:
        for name in module.imports - {module.name}:
            users[name].add(module.name)
    for module in found:
        folder = module.name.rpartition(".")[0]
        only = users[module.name].pop() if len(users[module.name]) == 1 else ""
        if module.lines < MIN_LINES and only and only.rpartition(".")[0] == folder and module.path.name != "__init__.py":
            yield f"{module.name} has {module.lines} lines, and only {only} imports it"


def test_no_module_is_over_700_lines() -> None:
    """The aim is 150 to 350 lines; 500 are worth a second look, and 700 are the limit."""
    sizes = {module.name: module.lines for module in (*modules(), *beside()) if not module.made}
    large = {name: size for name, size in sizes.items() if size > LOOK_TWICE}
    assert {name: size for name, size in sizes.items() if size > MAX_LINES} == {}, f"worth a second look: {large}"


def test_no_module_is_a_scrap_of_its_only_neighbour() -> None:
    """What a single module uses stands in that module, until it has a size of its own."""
    assert list(scraps(modules())) == []


def test_the_rule_finds_a_scrap(tmp_path: Path) -> None:
    """A short module with one user in its folder is found; one with two users isn't, nor one that is long enough."""
    texts = {
        "a.user": "from germane.types.plan import Plan\nimport germane.a.short, germane.a.long, germane.a.shared",
        "a.other": "import germane.a.shared",
        "a.short": "",
        "a.shared": "",
        "a.long": "\n" * MIN_LINES,
    }
    found = []
    for name, text in texts.items():
        path = tmp_path / f"{name}.py"
        path.write_text(text, "utf-8")
        found.append(Module(name, path))
    assert list(scraps(found)) == ["a.short has 0 lines, and only a.user imports it"]


def test_no_module_of_tests_or_benchmarks_is_over_500_lines() -> None:
    """A long module hides what isn't tested."""
    tests = [path for path in project_files() if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in ("tests", "bench")]
    sizes = {path.relative_to(ROOT).as_posix(): lines(path) for path in tests}
    assert tests
    assert {name: size for name, size in sizes.items() if size > MAX_LINES_IN_TESTS} == {}
