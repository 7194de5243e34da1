"""Errors: the texts of errors that a service passes on hold no values."""

from __future__ import annotations

import ast

import pytest

from support.source_tree import modules

TOLD = {"InvalidInput", "UnknownName", "Conflict", "Stale", "NotFound", "NotPermitted", "ConsentNeeded"}
"""Errors whose texts a service passes on."""
APART = ("cli.", "settings.", "service.", "integrations.", "models.", "grpc.client.")
"""Where nothing is raised that a service passes on."""


def written_values(tree: ast.AST) -> list[int]:
    """The lines in which a value is written into the text of an error: by `!r` or `quoted`, outside a `Phrase`."""
    found = []
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in TOLD:
            texts = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg in ("path", "advice"))]
            found += [one.lineno for text in texts for one in ast.walk(text) if isinstance(one, ast.expr) and _writes(one)]
    return found


def _writes(one: ast.expr) -> bool:
    if isinstance(one, ast.FormattedValue):
        return one.conversion == ord("r")
    return isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id in ("quoted", "repr")


@pytest.mark.requirement("RPC-4")
def test_no_error_has_a_value_in_its_text() -> None:
    """Values stand beside the text, so that a service can leave them out."""
    found = [
        f"{module.name}:{line}"
        for module in modules()
        if not module.name.startswith(APART)
        for line in written_values(module.tree)
    ]
    assert found == []


def test_the_rule_finds_a_value_in_a_text() -> None:
    """Written by `!r` or by `quoted`, in the problem, the path or the advice."""
    for wrong in ('InvalidInput(f"no {x!r}")', 'NotFound(f"no {quoted(x)} here")', 'Stale("x", advice=f"give {x!r}")'):
        assert written_values(ast.parse(wrong)) == [1]
    assert written_values(ast.parse('InvalidInput("no {}", Phrase(f"{x!r}"), path=name)')) == []
