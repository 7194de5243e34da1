"""Block options: the options that the commands about blocks share, and the reading of their values."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from germane.errors import InvalidInput

__all__ = ["Attribution", "BlockLabel", "BlockText", "json_object", "json_or_text", "schema_of"]

BlockLabel = Annotated[str, typer.Argument(metavar="LABEL", help="The block's label or id.")]
BlockText = Annotated[str | None, typer.Argument(metavar="TEXT", help="The text; - reads it from standard input.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """Who changes a block and why, for its history."""

    by: Annotated[str, typer.Option(help="Who does it, for the history.")] = "command line"
    reason: Annotated[str, typer.Option(help="Why, for the history.")] = ""
    system: Annotated[
        bool, typer.Option("--system", help="As the owner's application, not as the agent: no permission is asked for.")
    ] = False

    def given(self) -> dict[str, Any]:
        """The arguments of the library's calls."""
        return {"by": self.by, "reason": self.reason, "system": self.system}


def json_or_text(value: str) -> Any:
    """Returns the JSON value that a text is, or the text."""
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def json_object(value: str, option: str) -> dict[str, Any]:
    """Returns the JSON object that an option has. Raises `InvalidInput`, naming the option."""
    found = json_or_text(value)
    if not isinstance(found, dict):
        raise InvalidInput(f'{option} must be a JSON object such as {{"name": "value"}}')
    return found


def schema_of(value: str | None) -> Any:
    """Returns a schema from --schema: the name of a shape, or JSON. Raises `InvalidInput`."""
    from germane.blocks.schema import parse_schema

    return None if value is None else parse_schema(json_or_text(value), "--schema")
