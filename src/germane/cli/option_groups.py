"""Option groups: several commands share the same options by taking a dataclass as a parameter.

Typer reads the options of a command from the signature of its function. `expand_groups` puts the fields of a dataclass
parameter into that signature, one option for each field, and builds the dataclass again when the command runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter
from typing import Any, get_type_hints

__all__ = ["expand_groups"]


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Decorator: replaces each parameter of `command` that is a dataclass by the dataclass's fields.

    A field is annotated as typer expects a parameter, `Annotated[type, typer.Option(…)]`, and has a default. A field that is a
    dataclass itself is replaced in the same way."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if is_dataclass(hint)}

    @wraps(command)
    def with_groups(**options: Any) -> None:
        command(**{name: _build(group, options) for name, group in groups.items()}, **options)

    parameters: list[Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            parameters += _parameters(groups[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY))
    with_groups.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_groups.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return with_groups


def _parameters(group: Any) -> Iterator[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        if is_dataclass(hint := hints[field.name]):
            yield from _parameters(hint)
        else:
            default = Parameter.empty if field.default is MISSING else field.default
            yield Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _build(group: Any, options: dict[str, Any]) -> Any:
    """An instance of `group`. Removes the group's fields from `options`."""
    hints = get_type_hints(group)
    return group(
        **{
            field.name: _build(hint, options) if is_dataclass(hint := hints[field.name]) else options.pop(field.name)
            for field in fields(group)
        }
    )
