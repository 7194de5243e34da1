"""Redact: replaces secrets by markers that say what stood there: `[redacted: AWS access key]`."""

from __future__ import annotations

from collections.abc import Iterable

from germane.text.secrets.found import FoundSecret

__all__ = ["MARKER", "marker", "redacted"]

MARKER = "[redacted: "
"""How every marker begins."""


def marker(kind: str) -> str:
    """Returns what stands in the place of a secret of this kind."""
    return f"{MARKER}{kind}]"


def redacted(text: str, found: Iterable[FoundSecret]) -> str:
    """Returns `text` with a marker in the place of each secret found in it."""
    pieces, begin = list[str](), 0
    for one in found:
        pieces += (text[begin : one.start], marker(one.kind))
        begin = one.end
    return "".join((*pieces, text[begin:])) if pieces else text
