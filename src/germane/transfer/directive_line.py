"""Directive line: writes a directive as a JSON object, and reads it back with a check of every field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from germane.memories.checks import words
from germane.transfer.line_fields import LineFields
from germane.transfer.stored import StoredDirective
from germane.types.limits import DIRECTIVE, ID

__all__ = ["directive_line", "parsed_directive"]


def directive_line(directive: StoredDirective) -> dict[str, Any]:
    """Returns the fields of a directive's line, without its type and owner."""
    return {"text": directive.text, **({"id": directive.id} if directive.id else {})}


def parsed_directive(line: Mapping[str, Any]) -> StoredDirective:
    """Returns the directive in a line, which isn't blank. Raises `InvalidInput`."""
    given = LineFields(line, "a directive")
    text = words("text", given.text("text", DIRECTIVE))
    id = given.maybe_text("id", ID) or ""
    given.end()
    return StoredDirective(text, id)
