"""Errors: the texts of errors that a service passes on hold no values."""

from __future__ import annotations

import ast

import pytest

from support.source_tree import modules

TOLD = {"InvalidInput", "UnknownName", "Conflict", "Stale", "NotFound", "NotPermitted", "ConsentNeeded"}
"""Errors whose texts a service passes on."""
APART = ("cli.", "settings.", "service.", "integrations.", "models.", "grpc.client.")
"""Where nothing is raised that a service passes on."""
RULES = ("must be a whole number", "must be true or false", "must be one of", "must be some of")
"""Rules that a check of `types/checks.py` has words for."""
SHAPES = ("dialects.", "kinds.blocks.field", "kinds.blocks.mutation", "kinds.blocks.schema", "tool_rules.value", "types.")
"""Modules that read what a caller gives: each error is one argument's."""
WITHOUT_PATH = {
    "dialects.registry:parse",  # the message as a whole: `parse_all` says which
}


def written_rules(tree: ast.AST) -> list[int]:
    """The lines in which the text of an error words a rule that a check has words for."""
    found = []
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in TOLD and call.args:
            texts = [one.value for one in ast.walk(call.args[0]) if isinstance(one, ast.Constant)]
            found += [call.lineno for text in texts if isinstance(text, str) and any(rule in text.lower() for rule in RULES)]
    return found


def without_path(tree: ast.AST) -> list[tuple[str, int]]:
    """The functions and lines in which an error of an argument has no path."""
    return [
        (function.name, call.lineno)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in ("InvalidInput", "UnknownName")
        if not any(keyword.arg == "path" for keyword in call.keywords)
    ]


def wordy_paths(tree: ast.AST) -> list[int]:
    """The lines in which a check is given words in place of a path."""
    found = []
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id.startswith("check_") and call.args:
            texts = [one.value for one in ast.walk(call.args[0]) if isinstance(one, ast.Constant)]
            found += [call.lineno for text in texts if isinstance(text, str) and set(text) & set(" :'")]
    return found


def written_values(tree: ast.AST) -> list[int]:
    """The lines in which a value is written into the text of an error: by `!r` or `quoted`, outside a `Phrase`."""
    found = []
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in TOLD:
            texts = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg in ("path", "advice"))]
            found += [one.lineno for text in texts for one in ast.walk(text) if isinstance(one, ast.expr) and _writes(one)]
    return found


def written_errors(tree: ast.AST) -> list[int]:
    """The lines in which an error of these is written into the text of another, values included, in place of `under` or
    `within`."""
    found = []
    for handler in ast.walk(tree):
        if isinstance(handler, ast.ExceptHandler) and isinstance(handler.type, ast.Name) and handler.type.id in TOLD:
            for call in (one for part in handler.body for one in ast.walk(part)):
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in TOLD:
                    texts = [one for text in call.args[:1] for one in ast.walk(text) if isinstance(one, ast.FormattedValue)]
                    found += [one.lineno for one in texts if isinstance(one.value, ast.Name) and one.value.id == handler.name]
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
        for line in (*written_values(module.tree), *written_errors(module.tree))
    ]
    assert found == []


def test_the_rule_finds_a_value_in_a_text() -> None:
    """Written by `!r` or by `quoted`, in the problem, the path or the advice."""
    for wrong in ('InvalidInput(f"no {x!r}")', 'NotFound(f"no {quoted(x)} here")', 'Stale("x", advice=f"give {x!r}")'):
        assert written_values(ast.parse(wrong)) == [1]
    assert written_values(ast.parse('InvalidInput("no {}", Phrase(f"{x!r}"), path=name)')) == []


def test_the_rule_finds_an_error_in_the_text_of_another() -> None:
    """Its values would stand in the text."""
    caught = "try:\n    read()\nexcept InvalidInput as error:\n    raise "
    assert written_errors(ast.parse(caught + 'InvalidInput(f"{name}: {error}") from None')) == [4]
    assert written_errors(ast.parse(caught + "error.under(name) from None")) == []


def test_a_rule_is_worded_by_its_check_alone() -> None:
    """One wording of each rule: `types/checks.py` has it."""
    found = [
        f"{module.name}:{line}" for module in modules() if module.name != "types.checks" for line in written_rules(module.tree)
    ]
    assert found == []


def test_the_rule_finds_a_check_by_hand() -> None:
    """In a plain text and in one with values."""
    for wrong in ('InvalidInput("must be True or False, not {}", x, path=name)', 'InvalidInput(f"{x} must be one of {y}")'):
        assert written_rules(ast.parse(wrong)) == [1]
    assert written_rules(ast.parse('InvalidInput("must be a tool rule", path=name)')) == []


@pytest.mark.requirement("RPC-4")
def test_an_error_of_an_argument_has_its_path() -> None:
    """So that a surface can name the argument in its own words."""
    found = [
        f"{module.name}:{function}:{line}"
        for module in modules()
        if module.name.startswith(SHAPES)
        for function, line in without_path(module.tree)
        if f"{module.name}:{function}" not in WITHOUT_PATH
    ]
    assert found == []


def test_the_rule_finds_an_error_without_a_path() -> None:
    """In a function or a method."""
    assert without_path(ast.parse('def read(x):\n    raise InvalidInput("is no {}", x)')) == [("read", 2)]
    assert without_path(ast.parse('def read(x):\n    raise InvalidInput("is no {}", x, path="x")')) == []


def test_a_check_is_given_a_path_and_no_words() -> None:
    """But for what is in a file, which no argument names."""
    found = [
        f"{module.name}:{line}"
        for module in modules()
        if not module.name.startswith((*APART, "api.verbs.ingest"))
        for line in wordy_paths(module.tree)
    ]
    assert found == []


def test_the_rule_finds_words_in_place_of_a_path() -> None:
    """Also in a text with values."""
    assert wordy_paths(ast.parse('check_text(f"the title of {where}", title, LIMIT)')) == [1]
    assert wordy_paths(ast.parse('check_text(f"{where}.title", title, LIMIT)')) == []
