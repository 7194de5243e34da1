"""Help texts: readable names for the values of options, in the help of every command."""

from __future__ import annotations

from typing import Any

__all__ = ["with_readable_values"]

_NAMES = (("int", "N"), ("float", "NUMBER"), ("path", "PATH"), ("file", "PATH"))
"""Parts of the names of types, and the name of the value in the help."""


def with_readable_values(command: Any) -> Any:
    """Returns `command`, a click command, whose options show TEXT, N, NUMBER or PATH in place of a type such as `<int range>`;
    names that an option gives itself stay. The same for its commands, at any depth."""
    for parameter in command.params:
        if getattr(parameter, "param_type_name", "") == "argument":
            parameter.display_type_rich = _nothing
        elif not getattr(parameter, "is_flag", False) and parameter.metavar is None:
            parameter.metavar = _value_name(parameter)
    for inner in getattr(command, "commands", {}).values():
        with_readable_values(inner)
    return command


def _nothing(*_: object, **__: object) -> str:
    """An argument's name says what it is."""
    return ""


def _value_name(parameter: Any) -> str:
    descriptor = getattr(parameter, "type_descriptor", None)
    kind = f"{getattr(descriptor, 'annotation', '')} {getattr(getattr(parameter, 'type', None), 'name', '')}".lower()
    return next((name for part, name in _NAMES if part in kind), "TEXT")
