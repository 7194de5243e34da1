"""Names: each module, package and public class has a name that says what it is, and no two classes share one."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module

import pytest

from support.ownership import first_sentence
from support.source_tree import SOURCE, Module, modules, project_files

VAGUE = {"manager", "helper", "util", "handler", "service", "processor", "base", "common", "core", "misc"}
"""Words that don't tell what a module contains; their plurals and compounds count too."""

TWINS: Mapping[str, frozenset[str]] = {
    "Agent": frozenset({"api.agent", "api.blocking_agent"}),
    "AgentHistory": frozenset({"api.agent_history", "api.blocking_history"}),
    "Builder": frozenset({"api.builder.builder", "api.blocking_agent"}),
    "Client": frozenset({"grpc.blocking", "grpc.client"}),
    "ClientBlocks": frozenset({"grpc.blocking_blocks", "grpc.client_blocks"}),
    "ClientDelegations": frozenset({"grpc.blocking_parts", "grpc.client_parts"}),
    "ClientDocuments": frozenset({"grpc.blocking_parts", "grpc.client_parts"}),
    "ClientEvents": frozenset({"grpc.blocking_parts", "grpc.client_parts"}),
    "ClientGraph": frozenset({"grpc.blocking_parts", "grpc.client_parts"}),
    "ClientHistory": frozenset({"grpc.blocking_parts", "grpc.client_parts"}),
    "ClientPatterns": frozenset({"grpc.blocking_parts", "grpc.client_parts"}),
    "ClientTasks": frozenset({"grpc.blocking_parts", "grpc.client_parts"}),
    "Documents": frozenset({"api.agent_documents", "api.blocking_documents"}),
    "EventLog": frozenset({"api.agent_events", "api.blocking_events"}),
    "Delegation": frozenset({"api.blocking_tasks", "api.delegation"}),
    "Delegations": frozenset({"api.agent_delegations", "api.blocking_tasks"}),
    "Germane": frozenset({"api.germane", "sync"}),
    "KnownGraph": frozenset({"api.agent_graph", "api.blocking_graph"}),
    "Keyring": frozenset({"access.keyring", "api.blocking_keyring"}),
    "MemoryBlocks": frozenset({"api.agent_blocks", "api.blocking_blocks"}),
    "Patterns": frozenset({"api.agent_graph", "api.blocking_graph"}),
    "Recollections": frozenset({"api.agent_memories", "api.blocking_agent"}),
    "TaskStack": frozenset({"api.agent_tasks", "api.blocking_tasks"}),
}
"""Classes that exist twice on purpose, once to await and once blocking, with the modules that define them."""

MAX_ROOT_ENTRIES = 41
MAX_PURPOSE = 128
"""Characters of the first sentence of a package."""

PUBLIC = [module for module in modules() if not module.name.rpartition(".")[2].startswith("_") or module.name == "__init__"]


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


def collisions(classes: Mapping[str, Sequence[str]], twins: Mapping[str, frozenset[str]]) -> list[str]:
    """One line for each class name with several modules, declared twins aside, and one for each pair of twins that is gone."""
    shared = [
        f"{name} is defined in {', '.join(sorted(places))}"
        for name, places in sorted(classes.items())
        if len(places) > 1 and (len(places) > 2 or frozenset(places) != twins.get(name))
    ]
    gone = [
        f"{name} isn't defined in {' and '.join(sorted(places))}"
        for name, places in twins.items()
        if not places <= set(classes.get(name, ()))
    ]
    return shared + gone


def test_a_public_class_name_occurs_once() -> None:
    """A reader who meets a name knows which class it is."""
    found = collisions(public_classes(), TWINS)
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("classes", "found"),
    [
        ({"Turn": ["one", "two"]}, ["Turn is defined in one, two"]),
        ({"Turn": ["one", "one"]}, ["Turn is defined in one, one"]),
        ({"Twin": ["a", "b"], "Turn": ["one"]}, []),
        ({"Twin": ["a", "c"]}, ["Twin is defined in a, c", "Twin isn't defined in a and b"]),
        ({"Twin": ["a", "b", "c"]}, ["Twin is defined in a, b, c"]),
        ({"Twin": ["a"]}, ["Twin isn't defined in a and b"]),
    ],
)
def test_the_rule_finds_a_shared_name_and_twins_that_are_gone(classes: dict[str, list[str]], found: list[str]) -> None:
    """The rule on made-up classes, of which `Twin` is declared for the modules a and b."""
    twins = {"Twin": frozenset("ab")} if "Twin" in classes else {}
    assert collisions(classes, twins) == found


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
    """The sentence becomes the package's heading in ARCHITECTURE.md."""
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
    """More than some thirty entries are no table of contents."""
    assert {"api", "types", "sync.py"} <= root_entries()
    assert len(root_entries()) <= MAX_ROOT_ENTRIES, sorted(root_entries())


def test_every_module_says_what_it_is() -> None:
    """The docstring is what a newcomer reads first."""
    silent = [module.name for module in modules() if not (ast.get_docstring(module.tree) or "").strip()]
    assert not silent, " ".join(silent)


def test_every_public_module_lists_what_it_gives_in_order() -> None:
    """`__all__` is the API of a module, in a fixed order."""

    def faults() -> Iterator[str]:
        for module in PUBLIC:
            names = exported(module)
            if names is None:
                if module.path.name != "__init__.py":
                    yield f"{module.name} has no __all__"
            elif names != sorted(set(names), key=order):
                yield f"{module.name} isn't sorted: {sorted(set(names), key=order)}"

    assert list(faults()) == []


def test_every_name_that_a_module_lists_exists() -> None:
    """A star import of any module succeeds."""
    missing = {
        full(module): sorted(lost)
        for module in PUBLIC
        if (lost := {name for name in exported(module) or () if not hasattr(import_module(full(module)), name)})
    }
    assert missing == {}
