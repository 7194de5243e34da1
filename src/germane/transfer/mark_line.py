"""Mark line: writes a mark of a line of a profile as a JSON object, and reads it back with a check of every field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from germane.profile.marking import Mark, MarkedLine
from germane.transfer.line_fields import LineFields
from germane.types.limits import ID

__all__ = ["parsed_profile_mark", "profile_mark_line"]


def profile_mark_line(marked: MarkedLine) -> dict[str, Any]:
    """Returns the fields of a mark's line, without its type and owner."""
    return {"line": marked.line, "mark": marked.mark, "at": marked.at.isoformat()}


def parsed_profile_mark(line: Mapping[str, Any]) -> MarkedLine:
    """Returns the mark in a line. Raises `InvalidInput`."""
    given = LineFields(line, "a mark of a profile")
    marked = MarkedLine(given.text("line", ID), given.one_of("mark", get_args(Mark)), given.time("at"))
    given.end()
    return marked
