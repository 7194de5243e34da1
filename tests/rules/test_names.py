"""Names: the folder listing is the table of contents."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module

import pytest

from support.source_tree import Module, modules

VAGUE = {"manager", "helper", "util", "handler", "service", "processor", "base", "common", "core", "misc"}
"""Names that say nothing of what is inside; plurals and compounds too."""

PUBLIC = [module for module in modules() if not module.name.rpartition(".")[2].startswith("_") or module.name == "__init__"]


def full(module: Module) -> str:
    return "germane" if module.name == "__init__" else f"germane.{module.name}"


def exported(module: Module) -> list[str] | None:
    for node in module.tree.body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]:
            return list(ast.literal_eval(node.value))
    return None


def order(name: str) -> tuple[int, str]:
    """CONSTANTS, then Classes, then functions, each by the alphabet."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2, name)


def vague(name: str) -> bool:
    return any(word.removesuffix("s") in VAGUE for word in name.split("_")) or bool(re.search(r"_v\d+$", name))


def test_no_module_has_a_name_that_says_nothing() -> None:
    """One concept a module, named by the noun, verb or adjective said aloud."""
    assert [module.name for module in modules() if any(vague(part) for part in module.name.split("."))] == []


@pytest.mark.parametrize("name", ["utils", "helper", "store_manager", "engine_v2", "core", "base"])
def test_the_rule_finds_a_name_that_says_nothing(name: str) -> None:
    """Singular, plural and compound."""
    assert vague(name)


@pytest.mark.parametrize("name", ["database", "score", "record", "encore"])
def test_a_word_inside_another_is_no_offence(name: str) -> None:
    """Whole words count."""
    assert not vague(name)


def test_every_module_says_what_it_is() -> None:
    """The docstring is the first thing that a newcomer reads."""
    silent = [module.name for module in modules() if not (ast.get_docstring(module.tree) or "").strip()]
    assert not silent, " ".join(silent)


def test_every_public_module_lists_what_it_gives_in_order() -> None:
    """`__all__` is the API."""

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
    """A star import of any module works."""
    missing = {
        full(module): sorted(lost)
        for module in PUBLIC
        if (lost := {name for name in exported(module) or () if not hasattr(import_module(full(module)), name)})
    }
    assert missing == {}
