"""Names: each module, package and public class has a name that says what it is, and no two classes share one."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from importlib import import_module

import pytest

from support.ownership import first_sentence
from support.source_tree import ROOT, SOURCE, Module, modules, project_files

VAGUE = {"manager", "helper", "util", "handler", "processor", "base", "common", "core", "misc"}
"""Words that don't tell what a module contains; their plurals and compounds count too."""

TWINS = ("sync", "grpc.blocking", "api.blocking", "grpc.client.blocking_", "api.remote.blocking_http")
"""How the names of the modules begin whose classes are the blocking twins of others, under the same names."""

OTHER_TESTS = ("bench", "evaluate", "rules", "support", "testing", "tool_rules")
"""Folders of tests that aren't named after a folder of the package: of benchmarks, of the other distributions, of the layout,
and of `rules`, whose name the layout's tests have."""
MAX_ROOT_ENTRIES = 26
MAX_PURPOSE = 128
"""Characters of the first sentence of a package."""


def full(module: Module) -> str:
    return "germane" if module.name == "__init__" else f"germane.{module.name}"


def exported(module: Module) -> list[str] | None:
    for node in module.tree.body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]:
            return list(ast.literal_eval(node.value))
    return None


def order(name: str) -> tuple[int, str]:
    """The sort key of `__all__`: CONSTANTS, then Classes, then functions, each in alphabetical order."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2, name)


def vague(name: str) -> bool:
    return any(word.removesuffix("s") in VAGUE for word in name.split("_")) or bool(re.search(r"_v\d+$", name))


def public_classes() -> dict[str, list[str]]:
    """The modules that define each public class of the package, by the name of the class."""
    found: dict[str, list[str]] = defaultdict(list)
    for module in modules():
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(module.name)
    return found


def collisions(classes: Mapping[str, Sequence[str]], twins: tuple[str, ...]) -> list[str]:
    """One line for each class name that several modules define; one blocking twin of a class is none."""
    found = []
    for name, places in sorted(classes.items()):
        blocking = [place for place in places if place.startswith(twins)]
        if len(blocking) > 1 or len(places) - len(blocking) > 1:
            found.append(f"{name} is defined in {', '.join(sorted(places))}")
    return found


def test_a_public_class_name_occurs_once() -> None:
    """A reader who meets a name knows which class it is."""
    found = collisions(public_classes(), TWINS)
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("places", "found"),
    [
        (["one", "two"], ["Turn is defined in one, two"]),
        (["one", "one"], ["Turn is defined in one, one"]),
        (["one"], []),
        (["one", "sync"], []),
        (["one", "two", "sync"], ["Turn is defined in one, sync, two"]),
        (["sync", "sync.b"], ["Turn is defined in sync, sync.b"]),
    ],
)
def test_the_rule_finds_a_shared_name(places: list[str], found: list[str]) -> None:
    """The rule on made-up classes; `sync` has the blocking twins."""
    assert collisions({"Turn": places}, ("sync",)) == found


def test_no_module_has_a_name_that_says_nothing() -> None:
    """A module holds one concept, and its name is the word for it."""
    assert [module.name for module in modules() if any(vague(part) for part in module.name.split("."))] == []


@pytest.mark.parametrize("name", ["utils", "helper", "store_manager", "engine_v2", "core", "base"])
def test_the_rule_finds_a_name_that_says_nothing(name: str) -> None:
    """The rule finds singular, plural and compound names."""
    assert vague(name)


@pytest.mark.parametrize("name", ["database", "score", "record", "encore"])
def test_a_word_inside_another_is_no_offence(name: str) -> None:
    """The rule compares whole words."""
    assert not vague(name)


def purpose_missing(sentence: str) -> bool:
    """Whether a package's first sentence isn't `Name: what it is for.` on one line."""
    name, colon, purpose = sentence.partition(": ")
    complete = bool(name and colon) and len(purpose.split()) >= 3 and purpose.endswith(".")
    return not complete or len(sentence) > MAX_PURPOSE


def test_every_package_says_what_it_is_for_in_its_first_sentence() -> None:
    """The sentence becomes the package's heading in docs/modules.md."""
    packages = {module.name: first_sentence(module) for module in modules() if module.path.name == "__init__.py"}
    assert len(packages) > 20
    assert {name: sentence for name, sentence in packages.items() if purpose_missing(sentence)} == {}


@pytest.mark.parametrize("sentence", ["", "Search.", "Search: finds.", "Search: finds the units", f"Search: {'finds ' * 30}."])
def test_the_rule_finds_a_package_without_a_purpose(sentence: str) -> None:
    """A missing, a short, an unfinished and a long sentence."""
    assert purpose_missing(sentence)


def root_entries() -> set[str]:
    return {path.relative_to(SOURCE).parts[0] for path in project_files() if path.is_relative_to(SOURCE)}


def test_the_root_of_the_package_fits_one_screen() -> None:
    """More than 26 entries are no table of contents."""
    assert {"api", "types", "sync.py"} <= root_entries()
    assert len(root_entries()) <= MAX_ROOT_ENTRIES, sorted(root_entries())


def test_the_folders_of_tests_mirror_the_source_tree() -> None:
    """A folder of tests has the place and the name of a folder, or of a module with many tests."""
    tests = ROOT / "tests"
    folders = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")}
    own = [one for one in folders if one.parts and one.parts[0] not in OTHER_TESTS]
    assert [str(one) for one in own if not ((SOURCE / one).is_dir() or (SOURCE / f"{one}.py").is_file())] == []


def test_every_module_says_what_it_is() -> None:
    """The docstring is what a newcomer reads first."""
    silent = [module.name for module in modules() if not (ast.get_docstring(module.tree) or "").strip()]
    assert not silent, " ".join(silent)


def test_every_package_that_offers_names_lists_them_in_order() -> None:
    """`__all__` is what a package offers, in a fixed order. In other modules an underscore says what isn't offered."""
    faults = [
        f"{module.name} isn't sorted: {sorted(set(names), key=order)}"
        for module in modules()
        if (names := exported(module)) is not None and names != sorted(set(names), key=order)
    ]
    assert faults == []
    listing = {module.name for module in modules() if exported(module) is not None and module.path.name != "__init__.py"}
    assert listing == {"sync"}


def test_every_name_that_a_package_lists_exists() -> None:
    """A star import of any package succeeds."""
    missing = {
        full(module): sorted(lost)
        for module in modules()
        if (lost := {name for name in exported(module) or () if not hasattr(import_module(full(module)), name)})
    }
    assert missing == {}
