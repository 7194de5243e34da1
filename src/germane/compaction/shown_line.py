"""Shown line: how an assembly names a line of an outline that it shows: the id of its first message, with a sign.

The name stays when the line is made anew; its hash doesn't, so that a text which holds the earlier line isn't shown again.
"""

from __future__ import annotations

from germane.text.normal import content_hash

__all__ = ["OUTLINE", "line_hash", "shown_line", "stored_line"]

OUTLINE = "outline"
"""The category of a line."""
_SIGN = f"@{OUTLINE}"


def shown_line(first_id: str) -> str:
    """Returns `<id of the first message>@outline`."""
    return f"{first_id}{_SIGN}"


def stored_line(name: str) -> str | None:
    """Returns the id of the first message that such a name holds; None for another text."""
    return name.removesuffix(_SIGN) if name.endswith(_SIGN) else None


def line_hash(first_id: str, text: str) -> int:
    """Returns a hash of what is shown of a line."""
    return content_hash(OUTLINE, f"{first_id} {text}")
