"""Name key: the form of a name under which an entity is stored and looked up."""

from __future__ import annotations

from germane.text.normal import fold

__all__ = ["MAX_NAME", "name_key"]

MAX_NAME = 256
"""Characters of a name."""


def name_key(name: str) -> str:
    """Returns the name without case, accents and repeated blanks: equal for spellings of one name. Takes linear time; of a
    name of more than 1,024 characters the first 1,024 count. Returns '' for a name of blanks."""
    return " ".join(fold(name[: 4 * MAX_NAME]).split())[:MAX_NAME]
