"""Declaration: each setting is declared once, as a field with its default, its parser and its description.

`setting` and `optional_setting` declare the fields of a dataclass. From them `in_table` reads a table of a TOML file,
`in_variables` reads the environment variables, and `parsed` makes the values. Tests compare the docs and `.env.example` with
them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Set
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from germane.errors import InvalidInput
from germane.types.checks import check_table

T = TypeVar("T")

GivenValues = Mapping[str, tuple[object, str]]
"""By setting: the value, and where it was given (a file and key, a variable or an option)."""


def setting(default: T, parse: Callable[[object, str], T], says: str, *, relative: bool = False) -> T:
    """Declares a field. `parse` takes the value and where it was given; `says` is the description in the docs and in
    `.env.example`. A path that is `relative` is relative to the file that it stands in."""
    metadata = {"parse": parse, "says": says, "relative": relative, "without": ""}
    field: T = dataclasses.field(default=default, metadata=MappingProxyType(metadata))
    return field


def optional_setting(
    parse: Callable[[object, str], T], says: str, *, default: T | None = None, without: str = "off", relative: bool = False
) -> T | None:
    """Declares a field that may be None: the word `without` and empty text stand for None, and so does TOML's `false` where the
    word is `off`."""

    def parse_or_none(value: object, where: str) -> T | None:
        if _is_none(value, without):
            return None
        try:
            return parse(value, where)
        except InvalidInput as error:
            advice = error.advice or f"{without!r} is allowed too"
            raise InvalidInput(error.problem, *error.shown, path=error.path, advice=advice) from error

    metadata = {"parse": parse_or_none, "says": says, "relative": relative, "without": without}
    field: T | None = dataclasses.field(default=default, metadata=MappingProxyType(metadata))
    return field


def declared(settings: type[Any]) -> dict[str, dataclasses.Field[Any]]:
    """The declared settings of a class, by name. Its other fields are read in other ways."""
    return {field.name: field for field in dataclasses.fields(settings) if "parse" in field.metadata}


def in_table(settings: type[Any], document: Mapping[str, Any], name: str, path: Path) -> GivenValues:
    """The settings that the table `name` of the file at `path` gives. Raises `InvalidInput` for an unknown one."""
    known = declared(settings)
    given = {}
    for key, value in known_table(document.get(name, {}), f"settings {path}: [{name}]", known.keys()).items():
        relative = known[key].metadata["relative"] and isinstance(value, str) and "\n" not in value
        moved = relative and not _is_none(value, known[key].metadata["without"])
        given[key] = (str(path.parent / value) if moved else value, f"settings {path}: {name}.{key}")
    return given


def in_variables(settings: type[Any], prefix: str, environ: Mapping[str, str]) -> GivenValues:
    """The settings that variables give. An empty variable gives nothing."""
    variables = {name: f"{prefix}{name.upper()}" for name in declared(settings)}
    return {name: (environ[variable], variable) for name, variable in variables.items() if environ.get(variable)}


def parsed(settings: type[Any], given: GivenValues) -> dict[str, Any]:
    """The values of the given settings. Raises `InvalidInput` that names where a value was given."""
    known = declared(settings)
    return {name: known[name].metadata["parse"](*given[name]) for name in given}


def written_default(field: dataclasses.Field[Any]) -> str:
    """A declared setting's default as an environment variable would hold it."""
    if field.default is None:
        return str(field.metadata["without"])
    if isinstance(field.default, bool):
        return str(field.default).lower()
    return f"{field.default:g}" if isinstance(field.default, float) else str(field.default)


def known_table(table: object, where: str, known: Set[str]) -> Mapping[str, Any]:
    """Returns the table. Raises `InvalidInput` for what isn't a table, and for names that aren't known."""
    found = check_table(where, table)
    if unknown := sorted(set(found) - known):
        raise InvalidInput(f"{where}: unknown {', '.join(unknown)}; known are {', '.join(sorted(known))}")
    return found


def _is_none(value: object, without: str) -> bool:
    return value in (without, "") or (value is False and without == "off")
