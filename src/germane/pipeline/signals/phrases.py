"""Phrases: what stands in quotes, of whatever shape, verbatim."""

from __future__ import annotations

import re

__all__ = ["phrases"]

_MOST = 8
_QUOTED = re.compile(
    r'"([^"\n]{2,200})"|“([^“”\n]{2,200})”|„([^„“”\n]{2,200})[“”]|«([^«»\n]{2,200})»|»([^«»\n]{2,200})«'
    r"|「([^「」\n]{1,200})」|『([^『』\n]{1,200})』|《([^《》\n]{1,200})》|‘((?:[^‘’\n]|’(?=\w)){2,200})’"
    r"|`([^`\n]{2,200})`|(?<!\w)'(?=\S)((?:[^'\n]|'(?=\w)){2,200})(?<=\S)'(?!\w)"
)


def phrases(text: str) -> tuple[str, ...]:
    """Distinct quoted phrases in their order, at most eight of at most 200 characters."""
    found: dict[str, None] = {}
    for match in _QUOTED.finditer(text):
        phrase = match[match.lastindex or 0].strip()
        if phrase and len(found) < _MOST:
            found.setdefault(phrase)
    return tuple(found)
